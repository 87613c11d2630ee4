import SnapshotKit
import Testing

@Suite("The start that two states share")
struct UnchangedStartTests {
    /// Old state, new state, and what `indexed` says of the difference.
    private static let pairs: [(old: String, new: String, counts: (Int, Int, Int, Int))] = [
        // A row above the first difference keeps its place, but not its number of children.
        (
            #"[{"id":"p","items":["a",{"id":"b","items":["c"]}]},"z"]"#, #"[{"id":"p","items":["a","b","c"]},"z"]"#,
            (0, 0, 0, 3)
        ),
        (#"[{"id":"p","items":["a","b"]}]"#, #"[{"id":"p","items":["a"]}]"#, (1, 0, 0, 1)),
        (#"[{"id":"p","items":["a"]}]"#, #"[{"id":"p","items":["a"]},"b"]"#, (0, 1, 0, 0)),
        (#"["a","b"]"#, #"["a","b"]"#, (0, 0, 0, 0)), (#"["a","b"]"#, #"["a"]"#, (1, 0, 0, 0)),
        // The same rows in a section of another name have moved.
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

    @Test("what comes after it, and above what comes after it, is still compared")
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
