import SnapshotKit
import Testing

@testable import DiffSessions

/// The contents of a store with one session, after its commits.
struct KeptSession {
    /// The result of the last commit.
    private(set) var session: Session
    private(set) var record: SessionRecord
    /// The last entry that the record holds.
    private(set) var covered: UInt64 = 1
    var entries: [(id: UInt64, bytes: [UInt8])]
    private(set) var checkpoints = 1
    let revisions: Int

    /// - Parameter revisions: how many the writer's history has room for.
    init(_ first: Session, revisions: Int = 64, by hash: KeyedHash) throws {
        let commit = LogCommit(first, after: nil, id: 1, revisions: revisions, by: hash)
        record = try #require(commit.checkpoint(by: hash))
        (session, entries, self.revisions) = (commit.session, [(1, commit.entry)], revisions)
    }

    mutating func commit(_ next: Session, by hash: KeyedHash) {
        let commit = LogCommit(
            next, after: session, id: session.log.last + 1, revisions: revisions, by: hash)
        session = commit.session
        entries.append((commit.id, commit.entry))
        entries.removeAll { commit.removed.contains($0.id) }
        if let checkpoint = commit.checkpoint(by: hash) {
            (record, covered, checkpoints) = (checkpoint, commit.id, checkpoints + 1)
        }
    }

    /// The session as read by a node that does not hold it yet.
    func found(by transition: SessionTransition) throws -> Session {
        let found = entries.map { FoundEntry($0.id, $0.bytes, by: transition.hash) }
        return try Session.found(
            record, covered: found.filter { $0.id <= covered }, behind: found.filter { $0.id > covered },
            version: session.version, by: transition)
    }

    /// The entries after an earlier session; nil if the log does not continue from there.
    func entries(behind before: Session, by hash: KeyedHash) -> [FoundEntry]? {
        guard let place = entries.firstIndex(where: { $0.id == before.log.last }),
            entries[place].bytes.starts(with: LogEntry.digits(before.version))
        else { return nil }
        return entries[(place + 1)...].map { FoundEntry($0.id, $0.bytes, by: hash) }
    }

    /// The session reached by following the log.
    func followed(from before: Session, _ entries: [FoundEntry], by transition: SessionTransition) throws -> Session {
        try before.following(entries, from: self.entries[0].id, covered: covered, by: transition)
    }
}

/// Requires that two sessions are equal, including their history.
func requireSame(_ found: Session, _ session: Session) throws {
    #expect(found.head.revision == session.head.revision && found.version == session.version)
    #expect(found.head.snapshot.documentJSON() == session.head.snapshot.documentJSON())
    #expect(found.head.parent == session.head.parent && found.head.marks == session.head.marks)
    #expect(found.head.maker == session.head.maker && found.log.last == session.log.last)
    #expect(found.settings == session.settings && found.startedOverAt == session.startedOverAt)
    #expect(found.log.entries.map(\.id) == session.log.entries.map(\.id) && found.log.covered == session.log.covered)
    #expect(found.replays.entries.map(\.key) == session.replays.entries.map(\.key))
    try #require(found.history.entries.map(\.revision) == session.history.entries.map(\.revision))
    for (place, entry) in session.history.entries.enumerated() {
        let (one, other) = (try #require(found.state(at: place)), try #require(session.state(at: place)))
        #expect(one.snapshot.documentJSON() == other.snapshot.documentJSON())
        let sequence = entry.revision.sequence
        #expect(found.history.marks(after: sequence) == session.history.marks(after: sequence))
    }
}
