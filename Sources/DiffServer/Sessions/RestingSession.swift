import SnapshotKit

/// A session in memory, awake or resting.
protocol SessionInMemory: AnyObject, Sendable {
    var revision: Revision { get }
    /// Visible rows of the head.
    var rows: Int { get }
    var settings: Session.Settings { get }
    var replays: ReplayWindow { get }
    var version: UInt64 { get }
}

extension Session: SessionInMemory {
    var revision: Revision { head.revision }
    var rows: Int { head.snapshot.rowCount }
}

/// A session that has not been used recently, packed into as little memory as possible. It has to be woken before use.
final class RestingSession: SessionInMemory {
    private let head: Session.Head.Origin
    private let snapshot: PackedSnapshot
    private let history: History
    let settings: Session.Settings
    let replays: ReplayWindow
    private let startedOverAt: UInt64
    let version: UInt64
    let rows: Int
    private let log: SessionLog

    var revision: Revision { head.revision }

    /// Packs a session. O(items).
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
