import SnapshotKit
import Testing

/// Two contents that differ at every level of their depth, or only at the deepest.
enum NestedContent: String, CaseIterable, Sendable {
    /// The same value: at each level two members after the nested one changed places.
    case reordered
    /// The same, with the nested object after the two.
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
    /// As many items as make the same number of bytes at either depth.
    private func state(_ content: String, bytes: Int) throws -> Snapshot {
        let items = (0..<max(1, bytes / content.utf8.count)).map { #"{"id":\#($0),"content":\#(content)}"# }
        return try Snapshot(json: Array("[\(items.joined(separator: ","))]".utf8), limits: .none)
    }

    private func cost(_ nested: NestedContent, depth: Int, _ work: (Snapshot, Snapshot) -> Void) throws -> Double {
        let (old, new) = nested.pair(depth: depth)
        let bytes = Effort.runs(600_000)
        let (before, after) = (try state(old, bytes: bytes), try state(new, bytes: bytes))
        return ProcessorTime.nanoseconds { work(before, after) }
    }

    /// The first step that costs more ends the test: each later one would cost even more.
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

    @Test("patches too", arguments: NestedContent.allCases)
    func patching(nested: NestedContent) throws {
        try expectLinear(nested) { old, new in
            let changeset = Changeset(from: old, to: new)
            _ = changeset.json(.keyed, content: .patch)
            _ = changeset.json(.jsonPatch)
        }
    }

    /// An item whose content is `members` within an object for each name.
    private func wrapped(_ members: some Sequence<String>, in names: [String]) throws -> Snapshot {
        let before = names.map { #"{"\#($0)":"# }.joined()
        let after = String(repeating: "}", count: names.count)
        let item = #"{"id":1,"content":\#(before){\#(members.joined(separator: ","))}\#(after)}"#
        return try Snapshot(json: Array("[\(item)]".utf8), limits: .none)
    }

    @Test("members that changed places at the bottom cost no more there than at the top", arguments: [false, true])
    func wideBottom(isPatch: Bool) throws {
        let members = (0..<4_000).map { #""m\#($0)":\#($0)"# }
        let changed = (0..<4_000).map { #""m\#($0)":\#($0 == 9 ? -1 : $0)"# }
        let costs = try [1, 60, 400].map { depth in
            let names = Array(repeating: "x", count: depth)
            let old = try wrapped(members, in: names)
            let new = try wrapped(changed.reversed(), in: names)
            return ProcessorTime.nanoseconds {
                let changeset = Changeset(from: old, to: new)
                if isPatch {
                    #expect(changeset.json(.jsonPatch).count < 1_000)
                } else {
                    #expect(changeset.json(.keyed, content: .patch).count < 3_000)
                }
            }
        }
        #expect(costs.allSatisfy { $0 < costs[0] * 4 }, "\(costs)")
    }

    /// One operation per member would repeat the path to it each time.
    @Test("a long path is not written for each of many members")
    func longPath() throws {
        let names = (0..<60).map { "\($0)" + String(repeating: "-", count: 500) }
        let (old, new) = (
            try wrapped((0..<4_000).map { #""m\#($0)":1"# }, in: names),
            try wrapped((0..<4_000).map { #""m\#($0)":2"# }, in: names)
        )
        let changeset = Changeset(from: old, to: new)
        let whole = ProcessorTime.nanoseconds { _ = changeset.json(.keyed) }
        let patch = ProcessorTime.nanoseconds {
            #expect(changeset.json(.jsonPatch).count < new.documentJSON().count * 2)
        }
        let reading = try ProcessorTime.nanoseconds { _ = try Snapshot(json: new.documentJSON(), limits: .none) }
        #expect(patch < (whole + reading) * 12, "\(patch) beside \(whole) and \(reading)")
    }
}
