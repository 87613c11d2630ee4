import Foundation
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

/// Sessions as a whole: two nodes take turns at one session in a shared store, and learn of each other's commits from
/// its log.
@Suite struct RandomSessionTests {
    @Test(arguments: 0..<32)
    func `what is remembered, written down and followed is what GET wrote`(_ seed: Int) throws {
        var life = try RandomLife(seed: UInt64(seed))
        for _ in 0..<50 { try life.turn() }
        // History is kept, unless it has no room at all.
        #expect(life.bounds.revisions > 0 ? life.mostRemembered > 0 : life.mostRemembered == 0)
    }
}

/// The life of a session, determined by a seed.
private struct RandomLife {
    let bounds: History.Bounds
    /// The most revisions that were ever remembered.
    private(set) var mostRemembered = 0
    private var random: SplitMix64
    private let hash = KeyedHash.digests("tests")
    private let settings: Session.Settings
    private var now = Instant(nanoseconds: Instant.now.nanoseconds - 100_000 * 1_000_000_000)
    private var kept: KeptSession
    /// The session as each node holds it.
    private var nodes: [Session]
    /// The documents of GET, by sequence, since the session was last started over.
    private var documents: [UInt64: [UInt8]] = [:]
    /// The last sequence at which everything was to be redrawn.
    private var lastReload: UInt64 = 0
    private var count = 0

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        bounds = History.Bounds(
            revisions: [0, 1, 3, 8, 64][random.below(5)], age: .milliseconds([30_500, 3_600_000][random.below(2)]),
            bytes: [600, 4000, 1 << 20, 1 << 20][random.below(4)])
        let ignored = random.once(in: 3) ? [JSONPointer("/views")!] : []
        settings = Session.Settings(timeToLive: .seconds(60), ignored: ignored)
        let state = try Snapshot(json: RandomList(&random).json)
        let transition = SessionTransition(name: "s", bounds: bounds, hash: hash, now: now, isLogged: true)
        let first = transition.firstSession(state, settings: settings, after: nil, maker: nil)
        kept = try KeptSession(first, revisions: bounds.revisions, by: hash)
        nodes = [kept.session, kept.session]
        noteHead()
    }

    private var transition: SessionTransition {
        SessionTransition(name: "s", bounds: bounds, hash: hash, now: now, isLogged: true)
    }

    private mutating func noteHead() {
        documents[kept.session.head.revision.sequence] = kept.session.head.snapshot.documentJSON()
    }

    /// One node writes; now and then another reads.
    mutating func turn() throws {
        now = now + .seconds(random.below(8))
        let node = random.below(nodes.count)
        try follow(node)
        guard let next = try decided(nodes[node]) else { return }
        if next.startedOverAt != nodes[node].startedOverAt { documents = [:] }
        kept.commit(next, by: hash)
        nodes[node] = kept.session
        noteHead()
        try check(trimmed(kept.session))
        if random.once(in: 3) { try follow(random.below(nodes.count)) }
    }

    // MARK: Reading

    /// Brings a node up to date as stores do: with the entries it lacks, or with the whole session.
    private mutating func follow(_ node: Int) throws {
        switch random.below(8) {
        // The session was evicted, or only packed.
        case 0: nodes[node] = try kept.found(by: transition)
        case 1: nodes[node] = CompactSession(nodes[node]).woken()
        default: break
        }
        if let entries = kept.entries(behind: nodes[node], by: hash) {
            // A change as large as the state is only in the checkpoint.
            let isRestated = entries.contains { $0.change.map { $0.step == nil } ?? false }
            if isRestated {
                #expect(throws: SessionRecord.Failure.damaged) { try nodes[node].advanced(by: entries, by: transition) }
                nodes[node] = try kept.found(by: transition)
            } else {
                nodes[node] = try kept.followed(from: nodes[node], entries, by: transition)
            }
        } else {
            nodes[node] = try kept.found(by: transition)
        }
        let (found, written) = (trimmed(nodes[node]), trimmed(kept.session))
        try check(found)
        // A session that was read may take less memory than the one written, so it may have room for one more revision.
        let counts = [found, written].map { $0.history.entries.count }
        #expect(counts[0] == counts[1] || bounds.bytes < 1 << 20)
        try requireSame(trimmed(found, to: counts.min()!), trimmed(written, to: counts.min()!))
    }

    /// The session without the revisions that are out of bounds by now.
    private func trimmed(_ session: Session, to revisions: Int? = nil) -> Session {
        var (history, bounds) = (session.history, bounds)
        bounds.revisions = revisions ?? bounds.revisions
        history.trim(at: now, bounds: bounds)
        return session.with(history: history)
    }

    /// Checks that every remembered state is one that GET had.
    private mutating func check(_ session: Session) throws {
        let head = session.head.revision.sequence
        #expect(session.head.snapshot.documentJSON() == documents[head])
        let entries = session.history.entries
        #expect(entries.map(\.revision.sequence) == Array((head - UInt64(entries.count))..<head))
        #expect(entries.count <= bounds.revisions)
        #expect(session.history.footprint <= bounds.bytes || session.history.isOversize(bounds))
        if bounds.bytes == 1 << 20, bounds.age > .seconds(60) {
            #expect(entries.count == min(bounds.revisions, documents.count - 1))
        }
        mostRemembered = max(mostRemembered, entries.count)
        for (place, entry) in entries.enumerated() {
            let state = try #require(session.state(at: place)).snapshot
            #expect(state.documentJSON() == documents[entry.revision.sequence], "\(entry.revision.text)")
            switch session.resumePoint(entry.revision, at: now, bounds: bounds) {
            case .past(let found, _): #expect(found == place)
            case .head: #expect(entry.revision.digest == session.head.revision.digest)
            case .none(.reloaded): #expect(entry.revision.sequence < lastReload)
            case .none(let reason): Issue.record("\(entry.revision.text) is \(reason)")
            }
        }
    }

    // MARK: Writing

    /// The result of a random operation on the session; nil if there is none.
    private mutating func decided(_ session: Session) throws -> Session? {
        count += 1
        do {
            switch random.below(18) {
            case 0:
                let state = try Snapshot(json: RandomList(&random).json)
                return next(
                    try ReplaceSession(state: state, settings: settings, condition: .init())
                        .decide(session, by: transition))
            case 16, 17: return next(try settle().decide(session, by: transition))
            case 1..<8:
                let edits = RandomList.edits(&random, count).joined(separator: ",")
                return try changed(session, by: "{\"edits\":[\(edits)]}")
            default:
                var list = try RandomList(session.head.snapshot.documentJSON())
                if random.once(in: 12) { list = RandomList(&random) }
                // Now and then it is posted again unchanged.
                if !random.once(in: 8) { list.change(&random, count) }
                return try changed(session, by: String(decoding: list.json, as: UTF8.self))
            }
        } catch SessionError.edits {
            return nil
        }
    }

    /// Changes some settings. Places begin and cease to be ignored.
    private mutating func settle() -> ReplaceSession {
        let named = Session.SettingsChange(
            timeToLive: random.once(in: 2) ? .seconds(1 + random.below(1000)) : nil,
            ignored: random.once(in: 2) ? random.once(in: 2) ? [JSONPointer("/views")!] : [] : nil,
            keepsExpanded: random.once(in: 2) ? random.once(in: 2) : nil,
            isPublic: random.once(in: 2) ? random.once(in: 2) : nil)
        return ReplaceSession(state: nil, settings: settings, named: named, condition: .init())
    }

    private mutating func changed(_ session: Session, by json: String) throws -> Session? {
        let key = random.once(in: 4) ? ReplayWindow.Key(writer: "w", key: "k\(count)") : nil
        let isReload = random.once(in: 20)
        let operation = ChangeSession(
            PostedBody(json: json, settings), isReload: isReload, condition: .init(), key: key,
            fingerprint: key == nil ? nil : RequestFingerprint(value: random.next()))
        let next = next(try operation.decide(session, by: transition))
        if isReload, let next { lastReload = next.head.revision.sequence }
        return next
    }

    private func next<Outcome>(_ decision: Decision<Outcome>) -> Session? {
        if case .swap(let next, _) = decision { next } else { nil }
    }
}
