import SnapshotKit
import Testing

// DIFF §8: more than half of a state's rows have new ids, but content that was there before.

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
}
