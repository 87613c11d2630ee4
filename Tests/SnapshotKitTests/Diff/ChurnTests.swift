import SnapshotKit
import Testing

// DIFF §8: more than half of a state's rows have new ids, but content that existed before.

@Suite("Ids that are made anew")
struct ChurnTests {
    private func items(_ ids: Range<Int>, contents: [Int]) throws -> Snapshot {
        let items = zip(ids, contents).map { #"{"id":\#($0),"content":{"n":\#($1)}}"# }
        return try Snapshot(json: "[\(items.joined(separator: ","))]")
    }

    @Test(
        "are told from new rows",
        arguments: [
            (ids: 10..<20, contents: Array(0..<10), churns: true),
            (ids: 10..<20, contents: Array((0..<10).reversed()), churns: true),
            (ids: 10..<20, contents: Array(50..<60), churns: false),
            (ids: 0..<10, contents: Array(0..<10), churns: false),
            (ids: 4..<14, contents: Array(4..<14), churns: false),
            (ids: 5..<15, contents: Array(0..<10), churns: false),
            (ids: 10..<20, contents: [0, 1, 2, 3, 4, 5] + [61, 62, 63, 64], churns: true),
            (ids: 10..<20, contents: [0, 1, 2, 3, 4] + [61, 62, 63, 64, 65], churns: false),
            (ids: 10..<10, contents: [], churns: false),
        ])
    func churn(ids: Range<Int>, contents: [Int], churns: Bool) throws {
        let old = try items(0..<10, contents: Array(0..<10))
        #expect(Changeset(from: old, to: try items(ids, contents: contents)).showsIdentityChurn == churns)
    }

    @Test("say nothing where rows have no content, or were not there")
    func noContent() throws {
        let (old, new) = (try Snapshot(json: #"["a","b","c"]"#), try Snapshot(json: #"["d","e","f"]"#))
        #expect(!Changeset(from: old, to: new).showsIdentityChurn)
        #expect(!Changeset(from: .empty, to: new).showsIdentityChurn)
        #expect(!Changeset(from: new, to: .empty).showsIdentityChurn)
    }

    @Test(
        "are told where they are part of the content",
        arguments: [
            (#"[{"id":"u1","n":1},{"id":"u2","n":2}]"#, #"[{"id":"u3","n":2},{"id":"u4","n":1}]"#, [["id"]], true),
            (#"[{"id":"u1","n":1},{"id":"u2","n":2}]"#, #"[{"id":"u3","n":3},{"id":"u4","n":4}]"#, [["id"]], false),
            (#"[{"id":"AB","n":1},{"id":"CD","n":2}]"#, #"[{"id":"ab","n":1},{"id":"cd","n":2}]"#, [["id"]], true),
            (#"[{"v":{"id":1,"n":1}}]"#, #"[{"v":{"id":2,"n":1}}]"#, [["v", "id"]], true),
            (#"[{"t":"p","id":1,"n":1}]"#, #"[{"t":"q","id":2,"n":1}]"#, [["t"], ["id"]], true),
            // Nothing but ids: no content could be known.
            (#"[{"id":1}]"#, #"[{"id":2}]"#, [["id"]], false),
            (#"[{"v":{"id":1}}]"#, #"[{"v":{"id":2}}]"#, [["v", "id"]], false),
            ("[1,2]", "[3,4]", [[]], false),
        ])
    func inContent(old: String, new: String, ids: [[String]], churns: Bool) throws {
        var mapping = StateShape.FieldMapping()
        mapping.element.idAt = ids.map { JSONPointer(tokens: $0.map { Array($0.utf8) }) }
        let states = try [old, new].map { try Snapshot(json: $0, shape: StateShape(mapping)) }
        #expect(Changeset(from: states[0], to: states[1]).showsIdentityChurn == churns)
    }
}
