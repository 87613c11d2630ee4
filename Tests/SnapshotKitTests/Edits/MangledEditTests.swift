import DiffClient
import Testing

@testable import SnapshotKit

@Suite("Mangled input")
struct MangledEditTests {
    private static let edits = #"""
        [{"op":"insert","items":["x",{"id":"\u0079","content":{"n":1.5e3,"a":[]},"kind":"k","items":[1,
        {"id":"é"}]}],"after":"a"},
        {"op":"insert","sections":[{"id":"v","expanded":false,"items":["w"]}],"at":"start"},{"op":"move",
        "items":["b","c"],
        "into":{"item":"x"},"at":"start"},{"op":"move","sections":["s"],"before":"t"},{"op":"update",
        "items":[{"id":"a","content":2}]},
        {"op":"reload","items":["a"]},{"op":"collapse","items":["y"]},{"op":"delete","sections":["t"]},{"op":"clear"}]
        """#

    private static let staged = #"""
        [{"name":"updates","counts":[2,1],"items":{"updated":[{"at":[0,0],"item":{"id":"a","content":{"b":1}},
        "as":"reload"}]}},
        {"name":"deletes","counts":[1,1],"items":{"deleted":[[0,1]]}},{"name":"sections","counts":[1,1,1],
        "sections":{"inserted":
        [{"at":0,"section":{"id":"v","items":[{"id":"w"}]}}],"moved":[{"from":0,"to":2}]}},{"name":"headers",
        "counts":[1,1,1],
        "sections":{"updated":[{"at":1,"section":{"id":"t","content":1},"as":"reconfigure"}]}}]
        """#

    private static let keyed = #"""
        [{"op":"insert","section":{"id":"v","items":[{"id":"w"}]},"before":"t"},{"op":"move","section":"t",
        "before":"s"},
        {"op":"remove","items":["a"]},{"op":"move","item":"b","in":"v","before":"w"},{"op":"update",
        "items":[{"id":"b","content":[],
        "level":1,"parent":"w","children":2}],"as":"reconfigure"},{"op":"remove","section":"s"}]
        """#

    private static let state = #"{"sections":[{"id":"s","items":["a","b"]},{"id":"t","items":["c"]}]}"#

    @Test("is applied or refused, and never traps", arguments: 0..<8)
    func mangled(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let snapshot = try Snapshot(json: Self.state)
        let list = RowList(snapshot)
        for _ in 0..<Effort.runs(300) {
            let edits = mangle(Self.edits, &random)
            if let text = try? JSONText(edits) {
                _ = try? EditBatch.violations(
                    in: text.slice, on: snapshot, limits: StateLimits(), permitted: nil, pointer: "")
            }
            if let batch = try? EditBatch(json: edits), let edited = try? snapshot.applying(batch).snapshot {
                #expect(throws: Never.self) { try Snapshot(json: edited.documentJSON()) }
            }
            _ = try? list.applying(keyed: mangle(Self.keyed, &random))
            _ = try? list.applying(indexed: mangle(Self.staged, &random))
            _ = try? list.applying(staged: mangle(Self.staged, &random))
            _ = try? JSONText(mangle("{\"a\":{\"b\":[1]}}", &random)).merging(JSONText("{\"a\":{\"b\":null}}"))
        }
        #expect(throws: Never.self) { try list.applying(staged: Array(Self.staged.utf8)) }
        #expect(throws: Never.self) { try list.applying(keyed: Array(Self.keyed.utf8)) }
        #expect(throws: Never.self) { try snapshot.applying(EditBatch(json: Self.edits)) }
    }

    /// A text with some values, or some bytes, exchanged, repeated or lost.
    private func mangle(_ text: String, _ random: inout SplitMix64) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0...random.below(3) {
            let at = random.below(bytes.count)
            let count = min(random.below(12), bytes.count - at)
            switch random.below(5) {
            case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes.removeSubrange(at..<at + count)
            case 2: bytes.insert(contentsOf: bytes[at..<at + count], at: random.below(bytes.count))
            default:
                // Letters and digits change into others, so that the grammar holds and the meaning does not.
                for index in at..<at + count where isPlain(bytes[index]) {
                    bytes[index] = Array("abcstvwx0123".utf8)[random.below(12)]
                }
            }
            if bytes.isEmpty { return bytes }
        }
        return bytes
    }

    private func isPlain(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
