import DiffRedis
import DiffSQLite
import DiffService
import DiffStores
import HTTPCore
import SnapshotKit

/// Where sessions live, as `--store` names it.
enum StoreAddress: Sendable, Equatable {
    case memory
    /// A database in this file.
    case sqlite(path: String)
    /// A Redis that other processes use too.
    case redis(RedisAddress)

    init?(_ text: String) {
        if text == "memory" {
            self = .memory
        } else if text.hasPrefix("sqlite:") {
            // A database in memory would be lost with the process, and each connection would see another one.
            guard text.count > 7, !text.dropFirst(7).hasPrefix(":memory:") else { return nil }
            self = .sqlite(path: String(text.dropFirst(7)))
        } else if let address = RedisAddress(text) {
            self = .redis(address)
        } else {
            return nil
        }
    }

    private var redis: RedisAddress? { if case .redis(let address) = self { address } else { nil } }

    /// Whether it is reached over TLS.
    var usesTLS: Bool { redis?.usesTLS ?? false }

    /// Whether several processes share its sessions.
    var isShared: Bool { redis != nil }

    /// Whether it is a file of this machine.
    var isFile: Bool { if case .sqlite = self { true } else { false } }

    /// Whether a password can be given separately: it takes one, and has none.
    var takesPassword: Bool { redis.map { $0.credentials?.password.isEmpty ?? true } ?? false }

    /// Opens the store.
    ///
    /// - Parameter workers: do long work.
    /// - Throws: what is wrong, in words for whoever started the process.
    func open(
        options: Options, journal: Journal, workers: Workers
    ) throws(StoreError) -> OpenStore {
        let health = StoreHealth { journal.log($0, level: $1) }
        let bounds = options.tableBounds
        let freed = EvictedMemory(worth: bounds.bytes / 16)
        let table = SessionTable(
            bounds: bounds, maxBody: options.service.maxBodyBytes, connection: options.connectionBytes,
            hash: self == .memory ? .digests(options.digestKey ?? Digests.randomKey()) : nil,
            onEviction: { freed.add($0) })
        switch self {
        case .memory: return (table, [])
        case .sqlite(let path):
            let store = try SQLiteStore(
                path: path, isDurable: options.isDurable, maxBytes: options.storeMaxSize, digestKey: options.digestKey,
                newKey: Digests.randomKey(), table: table, health: health)
            return (store, [])
        case .redis(let address):
            let (redis, hash) = try Self.dialer(to: address, options, health)
            let store = try RedisStore(redis, hash: hash, table: table, workers: workers, polling: options.polling)
            return (store, [store.loop])
        }
    }

    /// Finds out whether the store could be opened and written to now, without making or changing sessions.
    ///
    /// - Throws: what is wrong.
    func check(_ options: Options) throws(StoreError) -> String? {
        switch self {
        case .memory: return nil
        case .sqlite(let path): return try SQLiteStore.check(path, digestKey: options.digestKey)
        case .redis(let address):
            let (redis, hash) = try Self.dialer(to: address, options, StoreHealth())
            try RedisStore.check(redis, hash: hash, polling: options.polling)
            return nil
        }
    }

    private static func dialer(
        to address: RedisAddress, _ options: Options, _ health: StoreHealth
    ) throws(StoreError) -> (RedisDialer, KeyedHash) {
        var redis = RedisDialer(address)
        (redis.health, redis.replicas) = (health, options.storeReplicas)
        redis.keys = RedisKeys(prefix: options.storePrefix)
        if let path = options.storePasswordFile, let password = options.storePassword {
            let file = PasswordFile(path, password, health)
            redis.password = { file.read() }
        }
        if address.usesTLS {
            do throws(ListenError) { redis.tls = try OutgoingTLS(authorityFile: options.storeAuthority) } catch {
                throw StoreError("--store-ca: \(error)")
            }
        }
        guard let key = options.digestKey else { throw StoreError("--digest-key is missing") }
        return (redis, .digests(key))
    }

    /// A store, and its own loops.
    typealias OpenStore = (store: any SessionStore, loops: [EventLoop])
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
