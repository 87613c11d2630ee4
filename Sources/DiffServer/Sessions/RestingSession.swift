import SnapshotKit

/// A session that nobody has used of late: all that is known of it, in as little memory as that takes. To use it is to
/// wake it first.
final class RestingSession: Sendable {
    /// The session, but for the records of its newest state.
    private let head: Session.Head.Origin
    private let snapshot: PackedSnapshot
    private let history: History
    let settings: Session.Settings
    let replays: ReplayWindow
    private let startedOverAt: UInt64
    let version: UInt64
    /// Visible rows of the head.
    let rows: Int
    private let log: SessionLog

    var revision: Revision { head.revision }

    /// Lays a session to rest. O(items).
    init(_ session: Session) {
        head = session.head.origin
        rows = session.head.snapshot.rowCount
        snapshot = PackedSnapshot(session.head.snapshot, session.head.fingerprints)
        (history, settings, replays) = (session.history, session.settings, session.replays)
        (startedOverAt, version, log) = (session.startedOverAt, session.version, session.log)
    }

    /// The session as it was. O(items).
    func woken() -> Session {
        let (snapshot, fingerprints) = snapshot.opened()
        return Session(
            head: Session.Head(head, snapshot: snapshot, fingerprints: fingerprints), history: history,
            settings: settings, replays: replays, startedOverAt: startedOverAt, version: version, log: log)
    }

    /// Memory held, in bytes.
    var footprint: Int {
        snapshot.footprint + head.marks.footprint + Session.footprint(of: history, settings, replays, log)
    }
}
