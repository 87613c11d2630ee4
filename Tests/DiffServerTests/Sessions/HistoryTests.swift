import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

@Suite struct HistoryTests {
    private let start = Instant.now
    private let hash = KeyedHash.digests("tests")

    /// A revision of this many items, and a delta that leads back to it.
    private func past(_ sequence: UInt64, items: Int = 1) throws -> (revision: Revision, back: SnapshotDelta) {
        let snapshot = try Snapshot(
            json: "[" + (0..<items).map { "\(sequence * 1000 + UInt64($0))" }.joined(separator: ",") + "]")
        let digest = Fingerprints(of: snapshot, by: hash).digest(salt: "")
        return (Revision(sequence: sequence, digest: digest), SnapshotDelta(whole: snapshot))
    }

    private func retire(
        _ past: (revision: Revision, back: SnapshotDelta), in history: inout History, at now: Instant? = nil,
        bounds: History.Bounds = .init(), marks: Marks = .none
    ) {
        history.retire(past.revision, marks: marks, back: past.back, at: now ?? start, bounds: bounds)
    }

    @Test(arguments: [0, 1, 3])
    func `so many revisions are kept, the newest`(_ count: Int) throws {
        let bounds = History.Bounds(revisions: count)
        var history = History()
        for sequence in 1...5 { retire(try past(UInt64(sequence)), in: &history, bounds: bounds) }
        #expect(history.entries.map(\.revision.sequence) == (1...5).suffix(count).map { UInt64($0) })
    }

    @Test(arguments: [(0, true), (3600, true), (3601, false)])
    func `a revision is found until it is too old`(_ seconds: Int, _ isThere: Bool) throws {
        let bounds = History.Bounds()
        var history = History()
        let past = try past(1)
        retire(past, in: &history, bounds: bounds)
        let now = start + .seconds(seconds)
        #expect((history.index(of: past.revision, at: now, bounds: bounds) != nil) == isThere)
        #expect((history.oldest(at: now, bounds: bounds) != nil) == isThere)
        history.trim(at: now, bounds: bounds)
        #expect(history.entries.isEmpty == !isThere)
    }

    @Test func `what is too old goes with the next commit`() throws {
        var history = History()
        retire(try past(1), in: &history)
        retire(try past(2), in: &history, at: start + .seconds(3601))
        #expect(history.entries.map(\.revision.sequence) == [2])
        #expect(history.footprint == history.entries[0].bytes)
    }

    @Test func `their bytes are bound, and counted exactly`() throws {
        var one = History()
        retire(try past(1, items: 50), in: &one)
        let bounds = History.Bounds(bytes: one.footprint * 3 + one.footprint / 2)
        var history = History()
        for sequence in 1...9 {
            retire(try past(UInt64(sequence), items: 50), in: &history, bounds: bounds)
            #expect(history.footprint <= bounds.bytes)
            #expect(history.footprint == history.entries.reduce(0) { $0 + $1.bytes })
        }
        #expect(history.entries.count == 3)
    }

    @Test(arguments: [100, 300])
    func `each of 64 commits of three changed rows and one moved takes less than 2 KiB`(_ count: Int) throws {
        let text = String(repeating: "word ", count: 20)
        var rows = (0..<count).map { #"{"id":"row-\#($0)","content":{"text":"\#(text)","n":\#($0)}}"# }
        let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
        let transition = SessionTransition(name: "s", bounds: .init(), hash: hash, now: start)
        var session = transition.firstSession(
            try Snapshot(json: "[\(rows.joined(separator: ","))]"), settings: settings, after: nil, maker: nil)
        var documents: [Revision: [UInt8]] = [:]
        for commit in 1...64 {
            if commit % 8 == 1 { documents[session.head.revision] = session.head.snapshot.documentJSON() }
            for place in 0..<3 {
                let row = (commit * 37 + place * 29) % count
                rows[row] = rows[row].replacing(/"n":[0-9]+/, with: "\"n\":\(commit)")
            }
            rows.insert(rows.remove(at: commit * 13 % count), at: commit * 31 % count)
            let state = try Snapshot(json: "[\(rows.joined(separator: ","))]")
            session = transition.session(after: session, state, maker: nil).0
        }
        #expect(session.history.entries.count == 64)
        #expect(session.history.footprint < 64 * 2048)
        for (place, entry) in session.history.entries.enumerated() {
            guard let document = documents[entry.revision] else { continue }
            #expect(session.state(at: place)!.snapshot.documentJSON() == document)
        }
    }

    @Test func `one that is larger than all may be is kept until the next, at most five seconds`() throws {
        let bounds = History.Bounds(bytes: 100)
        var history = History()
        let large = try past(1, items: 500)
        retire(large, in: &history, bounds: bounds)
        #expect(history.isOversize(bounds))
        for (seconds, isThere) in [(0, true), (5, true), (6, false)] {
            let now = start + .seconds(seconds)
            #expect((history.index(of: large.revision, at: now, bounds: bounds) != nil) == isThere)
            #expect((history.oldest(at: now, bounds: bounds) != nil) == isThere)
        }
        var (later, next) = (history, history)
        later.trim(at: start + .seconds(6), bounds: bounds)
        #expect(later.entries.isEmpty && later.heldBytes == 0)
        retire(try past(2, items: 500), in: &next, at: start + .seconds(1), bounds: bounds)
        #expect(next.entries.map(\.revision.sequence) == [2])
        var none = History()
        retire(large, in: &none, bounds: History.Bounds(revisions: 0, bytes: 100))
        #expect(none.entries.isEmpty)
    }

    @Test func `marks take room`() throws {
        let json = #"{"marks":{"items":{"an id":"reload"},"sections":{}}}"#
        let slice = try #require(JSONSlice.members(of: Array(json.utf8))?["marks"])
        let marks = try #require(Marks(slice))
        var (plain, marked) = (History(), History())
        retire(try past(1), in: &plain)
        retire(try past(1), in: &marked, marks: marks)
        #expect(marked.footprint > plain.footprint)
    }

    @Test func `marks of ids that are only canonically equivalent are two`() throws {
        let json = #"{"marks":{"items":{"\u00e9":"reload","e\u0301":"reconfigure"},"sections":{}}}"#
        let slice = try #require(JSONSlice.members(of: Array(json.utf8))?["marks"])
        #expect(Marks(slice)?.count == 2)
    }

    @Test func `a digest is found at its own sequence first, else the newest`() throws {
        var history = History()
        let past = try past(1)
        for sequence in [1, 3, 5] as [UInt64] {
            retire((Revision(sequence: sequence, digest: past.revision.digest), past.back), in: &history)
        }
        for (asked, found) in [(1, 1), (3, 3), (5, 5), (4, 5), (99, 5)] as [(UInt64, UInt64)] {
            let revision = Revision(sequence: asked, digest: past.revision.digest)
            let index = try #require(history.index(of: revision, at: start, bounds: .init()))
            #expect(history.entries[index].revision.sequence == found)
        }
    }
}
