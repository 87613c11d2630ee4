import SnapshotKit
import Testing

/// Two contents that differ at every level of their depth, or at the deepest alone.
enum NestedContent: String, CaseIterable, Sendable {
    /// The same value: at each level two members behind the nested one changed places.
    case reordered
    /// The same, with the nested object behind the two.
    case reorderedBefore
    /// The same, and another value at the bottom.
    case reorderedAndChanged
    /// Members in order, and another value at the bottom.
    case changed
    /// As `reordered`, in arrays.
    case arrays

    func pair(depth: Int) -> (old: String, new: String) {
        switch self {
        case .reordered: (nest(#"{"x":"#, #","a":1,"b":2}"#, depth), nest(#"{"x":"#, #","b":2,"a":1}"#, depth))
        case .reorderedBefore: (nest(#"{"a":1,"b":2,"x":"#, "}", depth), nest(#"{"b":2,"a":1,"x":"#, "}", depth))
        case .reorderedAndChanged:
            (nest(#"{"x":"#, #","a":1,"b":2}"#, depth), nest(#"{"x":"#, #","b":2,"a":1}"#, depth, bottom: "1"))
        case .changed:
            (nest(#"{"x":"#, #","a":1,"b":2}"#, depth), nest(#"{"x":"#, #","a":1,"b":2}"#, depth, bottom: "1"))
        case .arrays: (nest(#"[{"x":"#, #","a":1,"b":2}]"#, depth / 2), nest(#"[{"x":"#, #","b":2,"a":1}]"#, depth / 2))
        }
    }

    private func nest(_ before: String, _ after: String, _ depth: Int, bottom: String = "0") -> String {
        String(repeating: before, count: depth) + bottom + String(repeating: after, count: depth)
    }
}

@Suite("Contents of any depth")
struct NestedContentTests {
    /// So many items that either depth makes the same number of bytes.
    private func state(_ content: String, bytes: Int) throws -> Snapshot {
        let items = (0..<max(1, bytes / content.utf8.count)).map { #"{"id":\#($0),"content":\#(content)}"# }
        return try Snapshot(json: Array("[\(items.joined(separator: ","))]".utf8), limits: .none)
    }

    private func cost(_ nested: NestedContent, depth: Int, _ work: (Snapshot, Snapshot) -> Void) throws -> Double {
        let (old, new) = nested.pair(depth: depth)
        let (before, after) = (try state(old, bytes: 200_000), try state(new, bytes: 200_000))
        return ProcessorTime.nanoseconds { work(before, after) }
    }

    /// The first step that costs more ends the test: after it each would cost more than the one before.
    private func expectLinear(_ nested: NestedContent, _ work: (Snapshot, Snapshot) -> Void) throws {
        let shallow = try cost(nested, depth: 6, work)
        for depth in [12, 20, 60, 480] {
            let deep = try cost(nested, depth: depth, work)
            try #require(deep < shallow * 6, "depth \(depth): \(deep / shallow) times as much for the same bytes")
        }
    }

    @Test("bytes cost the same however deep they stand", arguments: NestedContent.allCases)
    func comparing(nested: NestedContent) throws {
        try expectLinear(nested) { old, new in
            #expect(Changeset(from: old, to: new).isEmpty == ![.changed, .reorderedAndChanged].contains(nested))
        }
    }

    @Test("also beside places that are left out", arguments: NestedContent.allCases)
    func ignoring(nested: NestedContent) throws {
        let ignored = ["/x/x/x/y", "/0/x/0/x/y", "/a", "/y/z"].compactMap { JSONPointer($0) }
        try expectLinear(nested) { old, new in _ = Changeset(from: old, to: new, ignoring: ignored) }
    }
}
