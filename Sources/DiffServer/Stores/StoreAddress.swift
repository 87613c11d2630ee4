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

    /// Whether its sessions are divided among several servers. Nodes cannot agree on a key of the digests there, since
    /// a commit cannot compare a key on another server.
    var isCluster: Bool { redis?.isCluster ?? false }

    /// The address with a password; nil if it takes none, or has one.
    func with(password: String) -> StoreAddress? {
        guard var address = redis, address.credentials?.password.isEmpty ?? true else { return nil }
        address.credentials = RedisAddress.Credentials(user: address.credentials?.user, password: password)
        return .redis(address)
    }

    /// Opens the store.
    ///
    /// - Parameter workers: do long work.
    /// - Throws: what is wrong, in words for whoever started the process.
    func open(
        options: Options, messages: MessageMemory, journal: Journal, workers: Workers
    ) throws(StoreError) -> any SessionStore {
        let health = StoreHealth { journal.log($0, level: $1) }
        let hash = self == .memory ? KeyedHash.digests(options.digestKey ?? Self.newDigestKey()) : nil
        let table = SessionTable(bounds: options.tableBounds, messages: messages, hash: hash)
        switch self {
        case .memory: return table
        case .sqlite(let path):
            return try SQLiteStore(
                path: path, isDurable: options.isDurable, digestKey: options.digestKey, table: table, health: health)
        case .redis(let address):
            var redis = RedisDialer(address)
            redis.health = health
            if address.usesTLS {
                do throws(ListenError) { redis.tls = try OutgoingTLS(authorityFile: options.storeAuthority) } catch {
                    throw StoreError("--store-ca: \(error)")
                }
            }
            return try RedisStore(redis, digestKey: options.digestKey, table: table, workers: workers)
        }
    }

    /// A random key for digests.
    static func newDigestKey() -> String { Hex.encode(Digests.random(32)) }
}

/// Why a store cannot be used at all.
struct StoreError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
