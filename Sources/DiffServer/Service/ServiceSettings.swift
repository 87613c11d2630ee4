import DiffSessions
import SnapshotKit

/// What an operator decides about requests and their sessions.
package struct ServiceSettings: Sendable {
    /// The longest body of a request, in bytes.
    package var maxBodyBytes = 16 << 20 {
        didSet { stateLimits.maxContentBytes = maxBodyBytes }
    }
    package var stateLimits = StateLimits()
    /// The default for sessions that do not set it.
    package var timeToLive = Duration.seconds(3600)
    package var requiresIfMatch = false
    /// A stream ends after this time, so that its reader reconnects, perhaps to another node; nil for never.
    package var streamLife: Duration?
    /// Requests per second of one key or token; nil for no limit.
    package var rate: Int?
    /// Requests per second of one peer; nil for no limit.
    package var peerRate: Int?
    /// Reads the operator's own HTML for `/page`; nil for the built-in page of a list.
    package var ownPage: (@Sendable () throws(Problem) -> [UInt8])?

    package init() {}

    /// The defaults for sessions that do not set them.
    package var defaultSettings: Session.Settings { Session.Settings(timeToLive: timeToLive, ignored: []) }
}
