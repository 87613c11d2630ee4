import Testing

@testable import SnapshotKit

@Suite("Items that two states share")
struct SharedRunsTests {
    /// Old state, new state, and the difference in `indexed`.
    private static let pairs: [(old: String, new: String, counts: (Int, Int, Int, Int))] = [
        // A row above the first difference keeps its place, but not its number of children.
        (
            #"[{"id":"p","items":["a",{"id":"b","items":["c"]}]},"z"]"#, #"[{"id":"p","items":["a","b","c"]},"z"]"#,
            (0, 0, 0, 3)
        ),
        (#"[{"id":"p","items":["a","b"]}]"#, #"[{"id":"p","items":["a"]}]"#, (1, 0, 0, 1)),
        (#"[{"id":"p","items":["a"]}]"#, #"[{"id":"p","items":["a"]},"b"]"#, (0, 1, 0, 0)),
        (#"["a","b"]"#, #"["a","b"]"#, (0, 0, 0, 0)), (#"["a","b"]"#, #"["a"]"#, (1, 0, 0, 0)),
        // The same rows in a section with another name have moved.
        (
            #"{"sections":[{"id":"s","items":["a"]},{"id":"t","items":[]}]}"#,
            #"{"sections":[{"id":"t","items":["a"]},{"id":"s","items":[]}]}"#, (0, 0, 2, 0)
        ),
        // The start may end in the middle of a section, and of the list of sections.
        (
            #"{"sections":[{"id":"s","items":["a","b"]},{"id":"t","items":["c"]}]}"#,
            #"{"sections":[{"id":"s","items":["a","b"]},{"id":"u","items":["c"]}]}"#, (1, 1, 1, 0)
        ),
        (#"[{"id":"a","content":1},"b","c"]"#, #"[{"id":"a","content":1},"c","b"]"#, (0, 0, 1, 0)),
        (#"[{"id":"a","kind":"k"},"b"]"#, #"[{"id":"a","kind":"l"},"b"]"#, (0, 0, 0, 1)),
        (#"[{"id":"a","content":{"x":1,"y":2}},"b"]"#, #"[{"id":"a","content":{"y":2,"x":1}},"b"]"#, (0, 0, 0, 0)),
    ]

    /// Old state, new state, and the runs between them: first old item, first new item, count.
    private static let runs: [(old: String, new: String, runs: [[Int]])] = [
        ("[]", "[]", []),
        (#"["a","b","c"]"#, #"["a","b","c"]"#, [[0, 0, 3]]),
        (#"["a","b"]"#, #"["a","b","c"]"#, [[0, 0, 2]]),
        (#"["a","b","c"]"#, #"["a"]"#, [[0, 0, 1]]),
        // An item that looks different leaves a gap, and one with another place ends the search.
        (#"["a",{"id":"b","content":1},"c"]"#, #"["a",{"id":"b","content":2},"c"]"#, [[0, 0, 1], [2, 2, 1]]),
        (#"["a",{"id":"b","kind":"k"},"c"]"#, #"["a",{"id":"b","kind":"l"},"c"]"#, [[0, 0, 1], [2, 2, 1]]),
        (#"["a","b","c"]"#, #"["a","x","c"]"#, [[0, 0, 1]]), (#"["a","b","c"]"#, #"["b","c"]"#, []),
        // Ancestors of an item with another place may have other children.
        (
            #"["a",{"id":"p","items":["b",{"id":"q","items":["c"]}]}]"#, #"["a",{"id":"p","items":["b","q","c"]}]"#,
            [[0, 0, 1]]
        ),
        (
            #"["a",{"id":"p","items":["b","c"]},"d"]"#, #"["a",{"id":"p","items":["b","c"]},"e"]"#, [[0, 0, 4]]
        ),
    ]

    @Test("are found in states that were read apart")
    func comparing() throws {
        for pair in Self.runs {
            let (old, new) = (try Snapshot(json: pair.old), try Snapshot(json: pair.new))
            let runs = old.columns.withView { old in new.columns.withView { SharedRuns(comparing: old, $0).runs } }
            #expect(runs.map { [$0.old, $0.new, $0.count] } == pair.runs, "\(pair.old) to \(pair.new)")
        }
    }

    @Test("are all rows that a changeset does not update and that are written the same")
    func ofChangeset() throws {
        let old = try Snapshot(json: #"["a",{"id":"b","content":[1,2]},"c",{"id":"d","content":1}]"#)
        let new = try Snapshot(json: #"["c",{"id":"b","content":[1, 2]},"x",{"id":"d","content":2},"a"]"#)
        let runs = Changeset(from: old, to: new).shared.runs
        #expect(runs.map { [$0.old, $0.new, $0.count] } == [[2, 0, 1], [0, 4, 1]])
    }

    @Test("are compared no more, and all else is")
    func counts() throws {
        for pair in Self.pairs {
            let (old, new) = (try Snapshot(json: pair.old), try Snapshot(json: pair.new))
            let counts = Changeset(from: old, to: new).counts
            #expect(
                (counts.deletions, counts.insertions, counts.moves, counts.updates) == pair.counts,
                "\(pair.old) to \(pair.new)")
        }
    }
}
