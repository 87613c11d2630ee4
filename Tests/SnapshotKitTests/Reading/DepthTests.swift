import SnapshotKit
import Testing

/// A document with a hole, and the reader that meets the hole.
struct DepthCase: Sendable, CustomTestStringConvertible {
    let before: String
    let after: String
    var shape = StateShape.native

    /// Arrays and objects that are open at the hole.
    var open: Int {
        before.reduce(0) { $0 + ("[{".contains($1) ? 1 : "]}".contains($1) ? -1 : 0) }
    }

    /// The document with arrays in the hole, so that `depth` of them are open at once.
    func document(depth: Int) -> [UInt8] {
        let count = depth - open
        return Array(
            (before + String(repeating: "[", count: count) + String(repeating: "]", count: count) + after).utf8)
    }

    var testDescription: String { (before + "…" + after).debugDescription }
}

@Suite("Depth is counted the same everywhere")
struct DepthTests {
    private static let pointers = StateShape.pointers(itemsAt: JSONPointer("/l"), idAt: JSONPointer("/a/id"))
    private static let sections = StateShape.pointers(sectionsAt: JSONPointer("/g"), itemsAt: JSONPointer("/d/l"))

    static let table: [DepthCase] = [
        .init(before: "", after: ""),
        .init(before: #"[{"id":"a","content":"#, after: "}]"),
        .init(before: #"{"items":[{"id":"a","content":{"x":"#, after: "}}]}"),
        .init(before: #"{"sections":[{"id":"s","content":"#, after: #","items":[]}]}"#),
        .init(before: #"{"sections":[{"id":"s","items":[{"id":"a","items":[{"id":"b","content":"#, after: "}]}]}]}"),
        .init(before: #"[{"id":"#, after: "}]"),
        .init(before: "[", after: "]"),
        .init(before: #"[{"id":"a","kind":"#, after: "}]"),
        .init(before: #"[{"id":"a","expanded":"#, after: "}]"),
        .init(before: #"[{"id":"a","items":{"x":"#, after: "}}]"),
        .init(before: #"[{"id":"a","unknown":"#, after: "}]"),
        .init(before: #"{"unknown":"#, after: "}"),
        .init(before: #"{"sections":"#, after: "}"),
        .init(before: #"{"sections":[{"id":"#, after: "}]}"),
        .init(before: #"{"sections":[{"kind":"#, after: "}]}"),
        .init(before: #"{"sections":[{"expanded":"#, after: "}]}"),
        .init(before: #"{"sections":[{"items":{"x":"#, after: "}}]}"),
        .init(before: #"{"items":[],"sections":"#, after: "}"),
        .init(before: "", after: "", shape: pointers),
        .init(before: #"{"x":"#, after: "}", shape: pointers),
        .init(before: #"{"l":[{"a":{"id":1},"x":"#, after: "}]}", shape: pointers),
        .init(before: #"{"l":[{"a":{"id":"#, after: "}}]}", shape: pointers),
        .init(before: #"{"l":[{"a":"#, after: "}]}", shape: pointers),
        .init(before: #"{"l":["#, after: "]}", shape: pointers),
        .init(before: #"{"l":{"x":"#, after: "}}", shape: pointers),
        .init(before: #"{"g":[{"id":"s","x":"#, after: #","d":{"l":[]}}]}"#, shape: sections),
        .init(before: #"{"g":[{"id":"s","d":{"x":"#, after: #","l":[]}}]}"#, shape: sections),
        .init(before: #"{"g":[{"id":"s","d":{"l":[{"id":1,"x":"#, after: "}]}}]}", shape: sections),
        .init(before: #"{"g":[{"id":"#, after: "}]}", shape: sections),
    ]

    @Test("64 may be open at once, 65 may not", arguments: table)
    func limit(row: DepthCase) {
        let read = { (depth: Int) in
            Reading { () throws(StateError) in try Snapshot(json: row.document(depth: depth), shape: row.shape) }
        }
        #expect(read(64) != .notJSON(.tooDeep))
        #expect(read(65) == .notJSON(.tooDeep))
        #expect(read(5_000) == .notJSON(.tooDeep))
    }
}
