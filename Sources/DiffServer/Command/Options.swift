import HTTPCore
import SnapshotKit

/// The configuration of the service. `OptionTable` names each option on the command line and in the environment.
struct Options: Sendable {
    static let maxTimeToLive = 7 * 24 * 3600

    // MARK: Addresses and access

    var listen: [ListenAddress] = []
    var keys: [KeyRing.Key] = []
    var keyFile: String?
    /// Whether authentication is off.
    var isOpen = false
    /// The first one signs, all verify. If empty, one is made at the start.
    var tokenSecrets: [[UInt8]] = []
    var tokenSecretFile: String?
    /// Nil for the store's, or else a new one.
    var digestKey: String?
    var store = StoreAddress.memory
    var storePasswordFile: String?
    /// Whether SQLite waits for the disk before a write is answered.
    var isDurable = true
    /// A file with the CA of the store's certificate.
    var storeAuthority: String?
    var origins: [String] = []
    var requiresIfMatch = false
    var listsPath: String?
    /// The contents of that file.
    var lists: ListsFile?
    /// Requests per second of one key or token; nil for no limit.
    var rate: Int?
    /// Requests per second of one peer; nil for no limit.
    var peerRate: Int?

    // MARK: Encryption

    var certificate: String?
    var certificateKey: String?
    var clientAuthority: String?

    // MARK: Limits

    var maxBodyBytes = 16 << 20
    var stateLimits = StateLimits()
    var tableBounds = SessionTable.Bounds()
    var timeToLive = Duration.seconds(3600)
    /// After this a stream ends, so that its reader reconnects, perhaps to another node; nil for never.
    var streamLife: Duration?
    var messageLimits = MessageLimits()
    var connectionLimits = ConnectionLimits()
    var maxConnections = 20_000
    /// Concurrent connections of one peer; nil for no limit.
    var peerConnections: Int?
    var loops: Int?
    var drain = Duration.seconds(10)
    /// How long a turn of a loop may take before the process ends itself; nil for no limit.
    var watchdog: Duration? = .seconds(10)

    // MARK: Observing

    var logFormat = LogFormat.text
    var logsRequests = false
    /// For the log at the start.
    var warnings: [String] = []

    /// For sessions that do not set them.
    var defaultSettings: Session.Settings { Session.Settings(timeToLive: timeToLive, ignored: []) }

    var serverOptions: ServerOptions {
        var options = ServerOptions(listen: listen)
        if let loops { options.loops = loops }
        options.messageLimits = messageLimits
        options.connectionLimits = connectionLimits
        // Sessions keep a quarter of the memory, see `SessionTable.room`.
        options.maxConnections = min(maxConnections, max(1024, tableBounds.bytes / 4 * 3 / MessageMemory.connection))
        options.maxPeerConnections = peerConnections
        // Each loop may have two connections to the store, an old and a new one; the rest is for files.
        options.reservedDescriptors = 16 + 2 * options.loops
        options.keptMemory = min(options.keptMemory, max(1 << 20, tableBounds.bytes / 32))
        if let certificate, let certificateKey {
            options.tls = TLSOptions(
                certificateFile: certificate, keyFile: certificateKey, clientAuthorityFile: clientAuthority)
        }
        return options
    }
}
