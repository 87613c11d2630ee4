import DiffSessions
import DiffStores
import HTTPCore

/// The source of sessions that fetch themselves (CONTRACT §11).
package protocol SessionSource: AnyObject, Sendable {
    /// Whether a session fetches itself.
    func hasSource(_ name: String) -> Bool
    /// The session that is fetched from a URL; nil if none is, or only by a pattern of names.
    func name(ofSource url: String) -> String?
    /// What a reader of a session must wait for; nil for nothing.
    ///
    /// - Parameter patience: the longest that the reader waits if there is a session already.
    func readiness(of name: String, sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>?
    /// Asks a session's source now.
    func fetch(_ name: String) -> Progress<Void, SourceFailure>
    /// Why the last fetch of a session failed, for callers who may know.
    func failureDetail(of name: String) -> String
    /// The seconds since a session's source last answered, if that is too long ago.
    func staleness(of name: String) -> Int?
    /// The consent of a list's owner that the edits of a request need; nil if nobody has to agree.
    ///
    /// - Parameter key: the key of a request that may be repeated.
    func consent(for call: Call, key: ReplayWindow.Key?, body: [UInt8]) -> (any Consent)?
    /// Notes that the number of a slot's readers has changed.
    func watch(_ slot: SessionSlot)
    /// Forgets lists that nobody reads. Called each second.
    func sweep()
    func write(into text: inout MetricsText)
}
