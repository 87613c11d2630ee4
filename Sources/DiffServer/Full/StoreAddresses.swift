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
        try SQLiteStore.check(path, digestKey: options.digestKey)
    }

    func archive(_ options: Options, isSource: Bool) throws(StoreError) -> any SessionArchive {
        try SQLiteArchive(
            path: path, digestKey: options.digestKey, newKey: Digests.randomKey(), isSource: isSource)
    }
}

extension RedisAddress: StoreAddress {
    package var isShared: Bool { true }
    package var takesPassword: Bool { credentials?.password.isEmpty ?? true }

    package func open(
        _ options: Options, _ table: SessionTable, _ health: StoreHealth, _ workers: Workers
    ) throws(StoreError) -> OpenStore {
        let (redis, key) = try dialer(options, health)
        let store = try RedisStore(redis, hash: .digests(key), table: table, workers: workers, polling: options.polling)
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
        return try RedisArchive(redis, digestKey: key, for: purpose, polling: options.polling)
    }

    private func dialer(_ options: Options, _ health: StoreHealth) throws(StoreError) -> (RedisDialer, key: String) {
        var redis = RedisDialer(self)
        (redis.health, redis.replicas) = (health, options.storeReplicas)
        if let prefix = options.storePrefix { redis.keys = RedisKeys(prefix: prefix) }
        if let path = options.storePasswordFile, let password = options.storePassword {
            let file = PasswordFile(path, password, health)
            redis.password = { file.read() }
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
    private let path: String
    private let health: StoreHealth
    /// The last password, and why there is no later one.
    private let last: Locked<(password: String, complaint: String?)>

    init(_ path: String, _ password: String, _ health: StoreHealth) {
        (self.path, self.health, last) = (path, health, Locked((password, nil)))
    }

    /// The file's current password. While it has no usable one, the last one, which the log mentions once.
    func read() -> String {
        var (found, complaint): (String?, String?)
        do throws(UsageError) {
            var warnings: [String] = []
            found = try Options.storePassword(in: path, warnings: &warnings)
        } catch { complaint = error.message }
        let (password, isNews) = last.withLock { last in
            let isNews = complaint != last.complaint
            last = (found ?? last.password, complaint)
            return (last.password, isNews)
        }
        if isNews, let complaint { health.warn("\(complaint); the last password stays in use") }
        return password
    }
}
