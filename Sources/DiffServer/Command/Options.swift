import HTTPCore
import SnapshotKit

/// How the service is set up. `OptionTable` says how each is named on the command line and in the environment.
struct Options: Sendable {
    static let maxTimeToLive = 7 * 24 * 3600

    // MARK: Where and who

    var listen: [ListenAddress] = []
    var keys: [KeyRing.Key] = []
    var keyFile: String?
    /// Whether no authentication is wanted.
    var isOpen = false
    /// The first one signs, all verify; empty: one is made at the start.
    var tokenSecrets: [[UInt8]] = []
    var tokenSecretFile: String?
    /// Nil: one that the store has, else a new one.
    var digestKey: String?
    var store = StoreAddress.memory
    var storePasswordFile: String?
    /// Whether a store on this machine waits for the disk before a write is answered.
    var isDurable = true
    /// A file with the authority of the store's certificate.
    var storeAuthority: String?
    var origins: Set<String> = []
    var requiresIfMatch = false
    var listsPath: String?
    /// What that file says.
    var lists: ListsFile?
    /// Requests a second of one key or token; nil for no limit.
    var rate: Int?
    /// Requests a second of one peer; nil for no limit.
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
    /// After which a stream ends and its reader comes back, perhaps to another node; nil for never.
    var streamLife: Duration?
    var messageLimits = MessageLimits()
    var connectionLimits = ConnectionLimits()
    var maxConnections = 20_000
    /// Connections at once of one peer; nil for no limit.
    var peerConnections: Int?
    var loops: Int?
    var drain = Duration.seconds(10)
    /// How long a loop may take for one turn before the process ends itself; nil for ever.
    var watchdog: Duration? = .seconds(10)

    // MARK: Observing

    var logFormat = LogFormat.text
    var logsRequests = false
    /// What whoever starts the server should know, though it can start.
    var warnings: [String] = []

    /// For sessions that say nothing else.
    var defaultSettings: Session.Settings { Session.Settings(timeToLive: timeToLive, ignored: []) }

    var serverOptions: ServerOptions {
        var options = ServerOptions(listen: listen)
        if let loops { options.loops = loops }
        options.messageLimits = messageLimits
        options.connectionLimits = connectionLimits
        options.maxConnections = maxConnections
        options.maxPeerConnections = peerConnections
        // Each loop may have a connection to the store, and its successor; the rest is for files.
        options.reservedDescriptors = 16 + 2 * options.loops
        if let certificate, let certificateKey {
            options.tls = TLSOptions(
                certificateFile: certificate, keyFile: certificateKey, clientAuthorityFile: clientAuthority)
        }
        return options
    }
}
