import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The source of sessions that fetch themselves (CONTRACT §11).
package protocol SessionSource: AnyObject, Sendable {
    /// The session, if the file of lists names it. It is searched for; a write asks once, a read without a key twice.
    func list(of name: String) -> (any ListedSession)?
    /// The session that is fetched from a URL; nil if none is, or only by a pattern of names.
    func name(ofSource url: String) -> String?
    /// The seconds since a session's source last answered, if that is too long ago.
    func staleness(of name: String) -> Int?
    /// Notes that the number of a slot's readers has changed.
    func watch(_ slot: SessionSlot)
    /// Forgets lists that nobody reads. Called each second.
    func sweep()
    func write(into text: inout MetricsText)
}

/// A session that the file of lists names.
package protocol ListedSession: AnyObject, Sendable {
    /// Whether it fetches itself.
    var hasSource: Bool { get }
    /// The settings that the file gives its sessions.
    var settings: Session.SettingsChange { get }
    /// Whether its owner is asked about edits.
    var hasHook: Bool { get }
    /// Whether streams hold a change back for a moment, since several sources may bring theirs at once.
    var holdsChanges: Bool { get }
    /// The shapes of sections that have their own, which edits follow.
    var sectionShapes: SectionShapes { get }
    /// What a reader must wait for, no longer than its patience if there is a session already; nil for nothing.
    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>?
    /// Asks the source, which there must be, for a request with this `traceparent`. Returns what its answer left out.
    func fetch(tracedBy trace: String?) -> Progress<[StateWarning], SourceFailure>
    /// Why the last fetch failed, for callers who may know.
    var failureDetail: String? { get }
    /// The consent that the edits of a request need, by its Idempotency-Key; nil if nobody has to agree.
    func consent(for call: Call, key: ReplayWindow.Key?, body: [UInt8]) -> (any Consent)?
}
