import HTTPCore
import SnapshotKit
import Testing

@testable import diffserver

@Suite struct HistoryTests {
    private let start = Instant.now
    private let hash = KeyedHash.digests("tests")

    /// A head of so many items, at a sequence.
    private func head(_ sequence: UInt64, items: Int = 1, marks: Marks = .none) throws -> Session.Head {
        let snapshot = try Snapshot(
            json: "[" + (0..<items).map { "\(sequence * 1000 + UInt64($0))" }.joined(separator: ",") + "]")
        let fingerprints = Fingerprints(of: snapshot, by: hash, ignoring: [])
        let digest = fingerprints.digest(salt: "")
        return Session.Head(
            revision: Revision(sequence: sequence, digest: digest), snapshot: snapshot, fingerprints: fingerprints,
            marks: marks, made: start)
    }

    @Test(arguments: [0, 1, 3])
    func `so many revisions are kept, the newest`(_ count: Int) throws {
        let bounds = History.Bounds(revisions: count)
        var history = History()
        for sequence in 1...5 { history.retire(try head(UInt64(sequence)), at: start, bounds: bounds) }
        #expect(history.entries.map(\.revision.sequence) == (1...5).suffix(count).map { UInt64($0) })
    }

    @Test(arguments: [(0, true), (3600, true), (3601, false)])
    func `a revision is found until it is too old`(_ seconds: Int, _ isThere: Bool) throws {
        let bounds = History.Bounds()
        var history = History()
        let head = try head(1)
        history.retire(head, at: start, bounds: bounds)
        let now = start + .seconds(seconds)
        #expect((history.entry(head.revision, at: now, bounds: bounds) != nil) == isThere)
        #expect((history.oldest(at: now, bounds: bounds) != nil) == isThere)
        history.trim(at: now, bounds: bounds)
        #expect(history.entries.isEmpty == !isThere)
    }

    @Test func `what is too old goes with the next commit`() throws {
        var history = History()
        history.retire(try head(1), at: start, bounds: .init())
        history.retire(try head(2), at: start + .seconds(3601), bounds: .init())
        #expect(history.entries.map(\.revision.sequence) == [2])
        #expect(history.footprint == history.entries[0].bytes)
    }

    @Test func `their bytes are bound, and counted exactly`() throws {
        let size = Skeleton(of: try head(1, items: 50).snapshot, fingerprints: try head(1, items: 50).fingerprints)
            .footprint
        let bounds = History.Bounds(bytes: size * 3 + size / 2)
        var history = History()
        for sequence in 1...9 {
            history.retire(try head(UInt64(sequence), items: 50), at: start, bounds: bounds)
            #expect(history.footprint <= bounds.bytes)
            #expect(history.footprint == history.entries.reduce(0) { $0 + $1.bytes })
        }
        #expect(history.entries.count == 3)
    }

    @Test func `ids that stay the same are kept, and counted, once`() throws {
        let members = Envelope.Members(states: ["state"], allowsBareState: true)
        let rows = (0..<60).map { "{\"id\":\"item-\($0)\",\"content\":0}" }
        var known: Snapshot?
        let heads = try (1...9).map { sequence in
            var rows = rows
            rows[sequence] = "{\"id\":\"item-\(sequence)\",\"content\":1}"
            if sequence > 6 { rows.removeLast() }
            let json = Array("[\(rows.joined(separator: ","))]".utf8)
            let snapshot = try #require(try Envelope(json: json, members: members, known: known).states["state"])
            known = snapshot
            let fingerprints = Fingerprints(of: snapshot, by: hash)
            return Session.Head(
                revision: Revision(sequence: UInt64(sequence), digest: fingerprints.digest(salt: "")),
                snapshot: snapshot,
                fingerprints: fingerprints, marks: .none, made: start)
        }
        var history = History()
        for head in heads.prefix(6) { history.retire(head, at: start, bounds: .init()) }
        let shared = history.entries[0].sharedBytes(with: history.entries[5])
        #expect(shared > history.entries[0].bytes / 2)
        for head in heads.suffix(3) { history.retire(head, at: start, bounds: .init()) }
        let others = history.entries[7].sharedBytes(with: history.entries[8])
        // The oldest go first; what they share stays for as long as one of them does.
        for (count, twice) in [
            (9, 5 * shared + 2 * others), (7, 3 * shared + 2 * others), (4, 2 * others), (3, 2 * others), (1, 0),
        ] {
            history.trim(at: start, bounds: .init(revisions: count))
            #expect(history.footprint == history.entries.reduce(0) { $0 + $1.bytes } - twice, "\(count)")
        }
        history.trim(at: start, bounds: .init(revisions: 0))
        #expect(history.footprint == 0)
    }

    @Test func `one that is larger than all may be is forgotten at once`() throws {
        var history = History()
        history.retire(try head(1, items: 500), at: start, bounds: History.Bounds(bytes: 100))
        #expect(history.entries.isEmpty)
        #expect(history.footprint == 0)
    }

    @Test func `marks take room`() throws {
        let json = #"{"marks":{"items":{"an id":"reload"},"sections":{}}}"#
        let slice = try #require(JSONSlice.members(of: Array(json.utf8))?["marks"])
        let marks = try #require(Marks(slice))
        var (plain, marked) = (History(), History())
        plain.retire(try head(1), at: start, bounds: .init())
        marked.retire(try head(1, marks: marks), at: start, bounds: .init())
        #expect(marked.footprint > plain.footprint)
    }

    @Test func `a digest is found at its own sequence first, else the newest`() throws {
        let bounds = History.Bounds()
        var history = History()
        let head = try head(1)
        for sequence in [1, 3, 5] as [UInt64] {
            let again = Session.Head(
                revision: Revision(sequence: sequence, digest: head.revision.digest), snapshot: head.snapshot,
                fingerprints: head.fingerprints, marks: .none, made: start)
            history.retire(again, at: start, bounds: bounds)
        }
        for (asked, found) in [(1, 1), (3, 3), (5, 5), (4, 5), (99, 5)] as [(UInt64, UInt64)] {
            let revision = Revision(sequence: asked, digest: head.revision.digest)
            #expect(history.entry(revision, at: start, bounds: bounds)?.revision.sequence == found)
        }
    }
}
