import DiffCommand
import DiffRedis
import DiffSQLite
import DiffService
import DiffStores
import HTTPCore
import SnapshotKit

/// A database in a file: `sqlite:PATH`.
struct SQLiteAddress: StoreAddress {
    private let path: String

    init?(_ text: String) {
        guard text.hasPrefix("sqlite:") else { return nil }
        path = String(text.dropFirst(7))
        // A database in memory would be lost with the process, and each connection would see another one.
        if path.isEmpty || path.hasPrefix(":memory:") { return nil }
    }

    var usesTLS: Bool { false }
    var isShared: Bool { false }
    var takesPassword: Bool { false }

    func open(
        _ options: Options, _ table: SessionTable, _ health: StoreHealth, _ workers: Workers
    ) throws(StoreError) -> OpenStore {
        let store = try SQLiteStore(
            path: path, isDurable: options.isDurable, maxBytes: options.storeMaxSize, digestKey: options.digestKey,
            newKey: Digests.randomKey(), table: table, health: health)
        return (store, [])
    }

    func check(_ options: Options) throws(StoreError) -> String? {
        try SQLiteFile.check(path, digestKey: options.digestKey)
    }

    func archive(_ options: Options, isSource: Bool) throws(StoreError) -> any SessionArchive {
        try SQLiteArchive(path: path, digestKey: options.digestKey, newKey: Digests.randomKey(), isSource: isSource)
    }
}

extension RedisAddress: StoreAddress {
    package var isShared: Bool { true }
    package var takesPassword: Bool { credentials?.password.isEmpty ?? true }

    package func open(
        _ options: Options, _ table: SessionTable, _ health: StoreHealth, _ workers: Workers
    ) throws(StoreError) -> OpenStore {
        let (redis, key) = try dialer(options, health)
        let store = try RedisStore(
            redis, hash: .digests(key), table: table, workers: workers, polling: options.server.polling)
        return (store, [store.loop])
    }

    package func check(_ options: Options) throws(StoreError) -> String? {
        try archive(options, for: .check).close()
        return nil
    }

    package func archive(_ options: Options, isSource: Bool) throws(StoreError) -> any SessionArchive {
        try archive(options, for: isSource ? .source : .target)
    }

    private func archive(_ options: Options, for purpose: RedisArchive.Purpose) throws(StoreError) -> RedisArchive {
        let (redis, key) = try dialer(options, StoreHealth())
        return try RedisArchive(redis, digestKey: key, for: purpose, polling: options.server.polling)
    }

    private func dialer(_ options: Options, _ health: StoreHealth) throws(StoreError) -> (RedisDialer, key: String) {
        var redis = RedisDialer(self)
        (redis.health, redis.replicas) = (health, options.storeReplicas)
        if let prefix = options.storePrefix { redis.keys = RedisKeys(prefix: prefix) }
        if let path = options.storePasswordFile, let password = options.storePassword {
            let file = PasswordFile(path, password, health)
            (redis.passwords, redis.admitted) = ({ file.passwords() }, { file.admitted($0) })
        }
        if usesTLS {
            do throws(ListenError) { redis.tls = try OutgoingTLS(authorityFile: options.storeAuthority) } catch {
                throw StoreError("--store-ca: \(error)")
            }
        }
        guard let key = options.digestKey else { throw StoreError("--digest-key is missing") }
        return (redis, key)
    }
}

/// The file with a store's password, which may change while the process runs.
private final class PasswordFile: Sendable {
    private struct Known {
        /// The last password that was accepted, or the first one.
        var accepted: String
        /// The one in the file; nil if it has no usable one.
        var current: String?
        /// What the log was told.
        var complaint: String?
    }

    private let path: String
    private let health: StoreHealth
    private let known: Locked<Known>

    init(_ path: String, _ password: String, _ health: StoreHealth) {
        (self.path, self.health, known) = (path, health, Locked(Known(accepted: password)))
    }

    /// The file's password, and the last one that was accepted: the file may be half written.
    func passwords() -> [String] {
        var warnings: [String] = []
        var found: String?
        do throws(UsageError) { found = try Options.storePassword(in: path, warnings: &warnings) } catch {
            complain(error.message)
        }
        return known.withLock { known in
            known.current = found
            return [found, found == known.accepted ? nil : known.accepted].compactMap(\.self)
        }
    }

    func admitted(_ password: String) {
        let isRefused = known.withLock { known in
            known.accepted = password
            if known.current == password { known.complaint = nil }
            return known.current.map { $0 != password } ?? false
        }
        if isRefused { complain("the store refuses the password of --store-password-file") }
    }

    /// Tells the log of a fault, once.
    private func complain(_ fault: String) {
        let isNews = known.withLock { known in
            defer { known.complaint = fault }
            return known.complaint != fault
        }
        if isNews { health.warn("\(fault); the last password stays in use") }
    }
}
