import SnapshotKit
import Testing

/// Two contents and whether they are the same JSON value; nil is no content at all.
struct ContentPair: Sendable, CustomTestStringConvertible {
    let one: String?
    let other: String?
    let areSame: Bool

    init(_ one: String?, _ other: String?, same: Bool) { (self.one, self.other, areSame) = (one, other, same) }

    var testDescription: String {
        "\((one ?? "absent").debugDescription) \(areSame ? "is" : "is not") \((other ?? "absent").debugDescription)"
    }

    static let table: [ContentPair] = [
        .init(nil, nil, same: true),
        .init(nil, "null", same: false),
        .init(nil, "\"\"", same: false),
        .init(nil, "{}", same: false),
        .init("null", "null", same: true),
        .init("null", "false", same: false),
        .init("true", "true", same: true),
        .init("1", "1", same: true),
        .init("1", "1.0", same: false),
        .init("1", "\"1\"", same: false),
        .init("1", "true", same: false),
        .init("1e2", "1E2", same: false),
        .init("1e2", "100", same: false),
        .init("0", "-0", same: false),
        .init("1.10", "1.1", same: false),
        .init("9007199254740993", "9007199254740992", same: false),
        .init("12", "123", same: false),
        .init("1e400", "1e400", same: true),
        .init("\"a\"", "\"a\"", same: true),
        .init("\"a\"", "\"A\"", same: false),
        .init("\"a\"", #""\u0061""#, same: true),
        .init(#""\u00E9""#, #""\u00e9""#, same: true),
        .init("\"é\"", #""\u00e9""#, same: true),
        .init("\"\u{E9}\"", "\"e\u{301}\"", same: false),
        .init("\"/\"", #""\/""#, same: true),
        .init(#""\b\f\n\r\t""#, #""\u0008\u000c\u000a\u000D\u0009""#, same: true),
        .init(#""\b""#, #""\u0007""#, same: false),
        .init(#""\u07ff\u0800\uffff""#, "\"\u{7FF}\u{800}\u{FFFF}\"", same: true),
        .init(#""\ud800\udc00\udbff\udfff""#, "\"\u{10000}\u{10FFFF}\"", same: true),
        .init(#""\"""#, #""\u0022""#, same: true),
        .init(#""\\u0061""#, #""a""#, same: false),
        .init("\"😀\"", #""\ud83d\ude00""#, same: true),
        .init(#""\u0000""#, "\"\"", same: false),
        .init("\"\"", "\"\"", same: true),
        .init("\"\"", "[]", same: false),
        .init("[]", "{}", same: false),
        .init("[]", "[ ]", same: true),
        .init("{}", "{ \n}", same: true),
        .init("[1,2]", "[ 1 ,\t2 ]", same: true),
        .init("[1,2]", "[2,1]", same: false),
        .init("[1]", "[1,1]", same: false),
        .init("[1,1]", "[1]", same: false),
        .init("[[]]", "[[[]]]", same: false),
        .init("[null]", "[]", same: false),
        .init(#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, same: true),
        .init(#"{"a":1,"b":2}"#, #"{ "b" : 2 , "a" : 1 }"#, same: true),
        .init(#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#, same: false),
        .init(#"{"a":1}"#, #"{"a":1,"b":null}"#, same: false),
        .init(#"{"a":1,"b":null}"#, #"{"a":1}"#, same: false),
        .init(#"{"a":1,"c":2}"#, #"{"a":1,"b":2}"#, same: false),
        .init(#"{"a":1}"#, #"{"\u0061":1}"#, same: true),
        .init(#"{"b":0,"a":1}"#, #"{"\u0061":1,"b":0}"#, same: true),
        .init(#"{"":1}"#, #"{}"#, same: false),
        .init(#"{"a":{"x":1,"y":[{"p":1,"q":2}]}}"#, #"{"a":{"y":[{"q":2,"p":1}],"x":1}}"#, same: true),
        .init(#"{"a":{"x":1,"y":[{"p":1,"q":2}]}}"#, #"{"a":{"y":[{"q":2,"p":3}],"x":1}}"#, same: false),
        .init(#"{"a":1,"b":{"c":"]}"},"d":2}"#, #"{"d":2,"b":{"c":"]}"},"a":1}"#, same: true),
        .init(#"{"a":1,"b":"\"","d":2}"#, #"{"d":2,"b":"\u0022","a":1}"#, same: true),
        .init("\"12345678\"", "\"12345679\"", same: false),
        .init("\"123456789012345678901234567890123\"", "\"123456789012345678901234567890124\"", same: false),
        .init("[1,2,3]", "[1,2,4]", same: false),
    ]
}

@Suite("Equality of contents")
struct ContentEqualityTests {
    private func state(_ content: String?, isSection: Bool) throws -> Snapshot {
        let member = content.map { #","content": \#($0)"# } ?? ""
        return try Snapshot(
            json: isSection
                ? #"{"sections":[{"id":"s"\#(member),"items":[]}]}"#
                : #"{"sections":[{"id":"s","items":[{"id":"a"\#(member)}]}]}"#)
    }

    @Test("the same JSON value is no update, another is one", arguments: ContentPair.table)
    func pairs(pair: ContentPair) throws {
        for isSection in [false, true] {
            for (old, new) in [(pair.one, pair.other), (pair.other, pair.one)] {
                let changeset = Changeset(
                    from: try state(old, isSection: isSection), to: try state(new, isSection: isSection))
                #expect(changeset.counts.total == (pair.areSame ? 0 : 1))
                #expect(changeset.counts.updates == changeset.counts.total)
                #expect((changeset.json(.jsonPatch) == Array("[]".utf8)) == pair.areSame)
            }
        }
    }

    @Test("members are compared in any order, however many")
    func shuffledMembers() throws {
        let members = (0..<60).map { #""member\#($0)":{"value":\#($0),"list":[\#($0)]}"# }
        var random = SplitMix64(seed: 1)
        for _ in 0..<20 {
            let shuffled = members.shuffled(using: &random)
            let (one, other) = (members.joined(separator: ","), shuffled.joined(separator: " ,\n"))
            let changed = members.map { $0 == members[7] ? #""member7":{"value":7,"list":[8]}"# : $0 }.shuffled(
                using: &random)
            let old = try state("{\(one)}", isSection: false)
            #expect(Changeset(from: old, to: try state("{\(other)}", isSection: false)).counts.total == 0)
            let new = try state("{\(changed.joined(separator: ","))}", isSection: false)
            #expect(Changeset(from: old, to: new).counts.total == 1)
        }
    }

    @Test("kinds are compared by their text")
    func kinds() throws {
        let state = { (kind: String) in try Snapshot(json: #"[{"id":"a"\#(kind)}]"#) }
        let kinds = ["", #","kind":"x""#, #","kind":"y""#, #","kind":"""#]
        for (one, old) in kinds.enumerated() {
            for (other, new) in kinds.enumerated() {
                #expect(Changeset(from: try state(old), to: try state(new)).counts.updates == (one == other ? 0 : 1))
            }
        }
        let escaped = Changeset(from: try state(#","kind":"x""#), to: try state(#","kind":"\u0078""#))
        #expect(escaped.counts.total == 0)
    }
}
