import SnapshotKit
import Testing

/// Two ids as written, and whether they are the same.
struct IDPair: Sendable, CustomTestStringConvertible {
    let one: String
    let other: String
    let areSame: Bool

    init(_ one: String, _ other: String, same: Bool) { (self.one, self.other, areSame) = (one, other, same) }

    var testDescription: String { "\(one) \(areSame ? "is" : "is not") \(other)" }

    static let table: [IDPair] = [
        .init("\"\u{E9}\"", "\"e\u{301}\"", same: false),
        .init("\"\u{C5}\"", "\"\u{212B}\"", same: false),
        .init("\"\u{1E9B}\u{323}\"", "\"\u{1E69}\"", same: false),
        .init("\"\u{AC00}\"", "\"\u{1100}\u{1161}\"", same: false),
        .init("\"ﬁ\"", "\"fi\"", same: false),
        .init("\"a\"", "\"A\"", same: false),
        .init("\"a\"", "\"a \"", same: false),
        .init("\"a\"", "\"a\u{200B}\"", same: false),
        .init("\"a\"", #""\u0061""#, same: true),
        .init("\"\u{E9}\"", #""\u00e9""#, same: true),
        .init("\"\u{E9}\"", #""e\u0301""#, same: false),
        .init(#""\u00E9""#, #""\u00e9""#, same: true),
        .init("\"/\"", #""\/""#, same: true),
        .init("\"😀\"", #""\ud83d\ude00""#, same: true),
        .init(#""\"""#, #""\u0022""#, same: true),
        .init(#""\\""#, #""\u005c""#, same: true),
        .init("1", "\"1\"", same: true),
        .init("1", #""\u0031""#, same: true),
        .init("-1", "\"-1\"", same: true),
        .init("0", "-0", same: false),
        .init("1", "\"01\"", same: false),
        .init("1", "\"1.0\"", same: false),
        .init("123456789012345678901234567890", "\"123456789012345678901234567890\"", same: true),
        .init("9007199254740993", "9007199254740992", same: false),
        .init(
            "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac\"",
            same: false),
    ]
}

@Suite("Ids are compared by the bytes of their text")
struct IdentifierTests {
    private static func states(_ token: String) throws -> [Snapshot] {
        [
            try Snapshot(json: "[\(token)]"),
            try Snapshot(json: #"{"sections":[{"id":\#(token),"items":[]}]}"#),
            try Snapshot(json: #"[{"id":"p","items":[\#(token)]}]"#),
        ]
    }

    @Test("between two states", arguments: IDPair.table)
    func acrossStates(pair: IDPair) throws {
        for (old, new) in zip(try Self.states(pair.one), try Self.states(pair.other)) {
            for (old, new) in [(old, new), (new, old)] {
                let counts = Counts(Changeset(from: old, to: new).counts)
                #expect(counts == (pair.areSame ? Counts() : Counts(deletions: 1, insertions: 1)))
                let patch = Changeset(from: old, to: new).json(.jsonPatch)
                #expect((patch == Array("[]".utf8)) == pair.areSame)
            }
        }
    }

    @Test("within one state", arguments: IDPair.table)
    func withinOneState(pair: IDPair) {
        for json in [
            "[\(pair.one),\(pair.other)]",
            #"{"sections":[{"id":\#(pair.one),"items":[]},{"id":\#(pair.other),"items":[]}]}"#,
        ] {
            switch Reading({ () throws(StateError) in try Snapshot(json: json) }) {
            case .state: #expect(!pair.areSame)
            case .violations(let found): #expect(pair.areSame && found.allSatisfy { $0.hasPrefix("duplicate-id") })
            default: Issue.record("neither a state nor a duplicate")
            }
        }
    }

    @Test("ids that only differ in normalisation change places like any other")
    func normalisedNeighbours() throws {
        let ids: [Text] = ["\u{E9}", "e\u{301}", "\u{1E9B}\u{323}", "\u{1E69}", "s\u{323}\u{307}"]
        let orders = Small.orderedSubsets(of: ids).filter { $0.count >= 4 }
        let models = orders.map { Model(sections: [.init(id: "main", items: $0.map { .init(id: $0) })]) }
        let old = try State(models[0])
        for model in models {
            let failures = PairCheck.failures(from: old, to: try State(model))
            #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        }
    }

    @Test("many ids with the same ends are told apart")
    func alike() throws {
        let ids = (0..<2_000).map { Text("common-prefix-\(String($0 + 10_000, radix: 2))-common-suffix") }
        let old = try State(Model(sections: [.init(id: "main", items: ids.map { .init(id: $0) })]))
        let new = try Snapshot(json: Tree.array(ids.reversed().dropLast(500).map { .string($0) }).json)
        let counts = Counts(Changeset(from: old.snapshot, to: new).counts)
        #expect(counts == Counts(deletions: 500, moves: 1_499))
    }
}
