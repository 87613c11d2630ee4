import DiffSessions
import SnapshotKit

/// What an operator decides about requests and their sessions.
package struct ServiceSettings: Sendable {
    /// Of a request, in bytes.
    package var maxBodyBytes = 16 << 20
    package var stateLimits = StateLimits()
    /// For sessions that do not set it.
    package var timeToLive = Duration.seconds(3600)
    package var requiresIfMatch = false
    /// After this a stream ends, so that its reader reconnects, perhaps to another node; nil for never.
    package var streamLife: Duration?
    /// Requests per second of one key or token; nil for no limit.
    package var rate: Int?
    /// Requests per second of one peer; nil for no limit.
    package var peerRate: Int?

    package init() {}

    /// For sessions that do not set them.
    package var defaultSettings: Session.Settings { Session.Settings(timeToLive: timeToLive, ignored: []) }
}
