import Testing

@testable import SnapshotKit

@Suite("Elements without ids")
struct ElementMatchingTests {
    static let hash = KeyedHash(key: [1, 2, 3])

    /// A document as the next state of a list.
    private func read(
        _ json: String, _ shape: StateShape, upon known: Snapshot?, _ sequence: UInt64 = 1,
        ignoring ignored: [String] = []
    ) throws -> StateReading {
        let ignored = ignored.compactMap { JSONPointer($0) }
        let head = known.map {
            ElementHead(sequence: sequence, Fingerprints(of: $0, by: Self.hash, ignoring: ignored), ignoring: ignored)
        }
        return try Snapshot.reading(
            json: Array(json.utf8), shape: shape, upon: known, continuing: head ?? ElementHead(sequence: sequence))
    }

    private func ids(_ snapshot: Snapshot) -> [String] {
        snapshot.columns.withView { view in
            view.nodes.indices.map { String(decoding: view.id(ofItem: $0).text, as: UTF8.self) }
        }
    }

    private func ids(of documents: [String], _ shape: String = #"{"idBy":"match"}"#) throws -> [[String]] {
        let shape = try StateShape(text: shape)
        var (known, found): (Snapshot?, [[String]]) = (nil, [])
        for (sequence, json) in documents.enumerated() {
            let state = try read(json, shape, upon: known, UInt64(sequence)).snapshot
            found.append(ids(state))
            known = state
        }
        return found
    }

    // MARK: The rounds

    static let cases: [(name: String, documents: [String], ids: [String])] = [
        ("nothing", ["[]", "[]"], []),
        ("one that is left alone", ["[1]", "[1]"], ["0.0"]),
        ("any value", [#"[null,"a",[],{},1.0,true]"#, #"[true,1.0,{},[],"a",null]"#], "5 4 3 2 1 0".old),
        ("another number is another value", ["[1]", "[1.0]"], ["1.0"]),
        (
            "a text that stays", [#"[{"n":"a","v":1},{"n":"b","v":1}]"#, #"[{"n":"b","v":2},{"n":"a","v":3}]"#],
            "1 0".old
        ),
        ("one value twice", ["[1,1]", "[1,1,1]"], ["0.0", "0.1", "1.0"]),
        ("a value in another gap", ["[1,1,null]", "[1,null,1]"], ["0.0", "0.2", "1.0"]),
        ("numbers alone, by place", ["[[1,2],[3,4]]", "[[5,6],[7,8]]"], "0 1".old),
        ("not by place in a gap of another size", ["[[1],[2]]", "[[5],[6],[7]]"], ["1.0", "1.1", "1.2"]),
        ("a text that goes", [#"[{"a":"x","b":1}]"#, #"[{"b":2}]"#], ["1.0"]),
        ("a text that goes beside what stays", [#"[{"a":"x","b":1}]"#, #"[{"b":1}]"#], ["0.0"]),
        ("an object and an array", [#"[{"0":"a"}]"#, #"[["a"]]"#], ["1.0"]),
        ("names in another order", [#"[{"a":"x","b":1,"c":2}]"#, #"[{"c":3,"b":1,"a":"y"}]"#], ["0.0"]),
        ("a name with escapes", [#"[{"\u0061":"x","b":1}]"#, #"[{"a":"\u0078","b":2}]"#], ["0.0"]),
        ("texts deep inside", [#"[[{"a":["x"]}],[{"a":["y"]}]]"#, #"[[{"a":["y",1]}],[{"a":["x",2]}]]"#], "1 0".old),
    ]

    @Test("continue the head's items by the rounds", arguments: cases.indices)
    func rounds(_ index: Int) throws {
        let (name, documents, expected) = Self.cases[index]
        #expect(try ids(of: documents).last == expected, "\(name)")
    }

    @Test("keep their ids over a group, whose value is no text of theirs")
    func groups() throws {
        let documents = [
            #"[{"n":"a","g":"x","v":1},{"n":"b","g":"y","v":1}]"#,
            #"[{"n":"b","g":"x","v":2},{"n":"a","g":"y","v":3}]"#,
        ]
        #expect(try ids(of: documents, #"{"idBy":"match","groupAt":"/g"}"#) == ["0 1".old, "1 0".old])
    }

    @Test("are compared without what is ignored")
    func ignored() throws {
        let shape = try StateShape(text: #"{"idBy":"match"}"#)
        let first = try read(#"[{"n":"a","at":"1"},{"n":"b","at":"1"}]"#, shape, upon: nil, 0).snapshot
        let second = #"[{"n":"b","at":"2"},{"n":"a","at":"3"}]"#
        #expect(try ids(read(second, shape, upon: first, ignoring: ["/at"]).snapshot) == "1 0".old)
    }

    @Test("continue items of any state, but not their children; new ids pass over those that are taken")
    func nativeHead() throws {
        let head = try Snapshot(
            json: #"[{"id":7,"content":{"n":"a"},"items":[{"id":"1.1","content":{"n":"b"}}]},"1.0","#
                + #"{"id":"\u0065\u0022","content":5}]"#)
        let shape = try StateShape(text: #"{"idBy":"match"}"#)
        let state = try read(#"[5,{"n":"b"},{"n":"a"}]"#, shape, upon: head).snapshot
        #expect(ids(state) == ["e\"", "1.2", "7"])
        #expect(String(decoding: state.documentJSON(), as: UTF8.self).contains(#"{"id":7,"content":{"n":"a"}}"#))
    }

    @Test("of a state that starts a list over are numbered by its sequence")
    func numbered() throws {
        let shape = try StateShape(text: #"{"idBy":"match","groupAt":"/g"}"#)
        let state = try read(#"[{"g":1},{"g":2},{"g":1}]"#, shape, upon: nil, 1).snapshot.numbered(9)
        #expect(ids(state) == ["9.0", "9.1", "9.2"])
        let next = try read(#"[{"g":1},{"g":2},{"g":1}]"#, shape, upon: state, 10)
        #expect(ids(next.snapshot) == ["9.0", "9.1", "9.2"])
    }

    @Test("keep what is expanded in the items that they continue")
    func keptExpansion() throws {
        let shape = try StateShape(text: #"{"idBy":"match","groupAt":"/g","expandedAt":"/open"}"#)
        let first = #"[{"g":"y","n":"a","open":false},{"g":"x","n":"b"},{"g":"y","n":"c","open":false}]"#
        let second = #"[{"g":"x","n":"c"},{"g":"y","n":"a","open":true},{"g":"x","n":"b"}]"#
        let head = try read(first, shape, upon: nil, 0).snapshot
        let known = ElementHead(sequence: 1, Fingerprints(of: head, by: Self.hash), ignoring: [])
        let next = try Snapshot.reading(
            json: Array(second.utf8), shape: shape, upon: head, keepsExpanded: true, continuing: known)
        let collapsed = next.snapshot.columns.nodes.map { $0.flags.contains(.isCollapsed) }
        #expect(ids(next.snapshot) == ["0.1", "0.2", "0.0"])
        #expect(collapsed == [true, false, false])
    }

    // MARK: Any lists

    /// A list in sections, as the naive rounds see it.
    private struct Model {
        var sections: [(id: String, elements: [PlainValue])] = []
        var ids: [String] = []

        /// Puts elements into the sections of their groups.
        init(_ elements: [PlainValue], groupedBy group: String?) {
            for element in elements {
                var id = "main"
                if let group {
                    id = "none"
                    if case .object(let members) = element, case .text(let text) = members[group] { id = text }
                }
                if let index = sections.firstIndex(where: { $0.id == id }) {
                    sections[index].elements.append(element)
                } else {
                    sections.append((id, [element]))
                }
            }
        }

        func without(_ names: Set<String>) -> [(id: String, elements: [PlainValue])] {
            sections.map { ($0.id, $0.elements.map { $0.without(names) }) }
        }
    }

    @Test("have the ids that the naive rounds give", arguments: [nil, "g"], [[], ["t"]])
    func anyLists(_ group: String?, _ ignored: [String]) throws {
        let shape = try StateShape(text: #"{"idBy":"match"\#(group.map { #","groupAt":"/\#($0)""# } ?? "")}"#)
        for seed in Effort.seeds(900) {
            var random = SplitMix64(seed: seed)
            let isLarge = random.once(in: 8)
            var elements = (0..<random.below(isLarge ? 60 : 9)).map { _ in Self.element(&random) }
            var model = Model(elements, groupedBy: group)
            var known: Snapshot?
            for step in 0..<4 {
                if step > 0 {
                    Self.change(&elements, &random)
                    let next = Model(elements, groupedBy: group)
                    let rounds = NaiveMatching(
                        model.without(Set(ignored)), next.without(Set(ignored)), groupedBy: group)
                    var (ids, count) = ([String](), 0)
                    for partner in rounds.oldOfNew {
                        ids.append(partner.map { model.ids[$0] } ?? "\(step).\(count)")
                        if partner == nil { count += 1 }
                    }
                    model = next
                    model.ids = ids
                } else {
                    model.ids = elements.indices.map { "0.\($0)" }
                }
                let json = "[\(elements.map(\.json).joined(separator: random.once(in: 3) ? " , " : ","))]"
                let reading = try read(json, shape, upon: known, UInt64(step), ignoring: ignored.map { "/\($0)" })
                try #require(ids(reading.snapshot) == model.ids, "seed \(seed), step \(step): \(json)")
                if let known {
                    let plain = Changeset(from: known, to: reading.snapshot)
                    let change = Changeset(from: known, to: reading.snapshot, shared: reading.shared)
                    #expect(change.json(.keyed) == plain.json(.keyed), "seed \(seed), step \(step)")
                }
                known = reading.snapshot
            }
        }
    }

    private static func element(_ random: inout SplitMix64) -> PlainValue {
        let token = { (random: inout SplitMix64) in PlainValue.token(["1", "2", "null", "true"][random.below(4)]) }
        let text = { (random: inout SplitMix64) in PlainValue.text(["a", "b", "c"][random.below(3)]) }
        switch random.below(8) {
        case 0: return token(&random)
        case 1: return text(&random)
        case 2: return .array((0..<random.below(3)).map { _ in random.once(in: 2) ? token(&random) : text(&random) })
        default:
            var members: [String: PlainValue] = [:]
            if random.below(4) > 0 { members["n"] = text(&random) }
            if random.below(3) > 0 { members["v"] = token(&random) }
            if random.below(3) == 0 { members["w"] = .array([token(&random), text(&random)]) }
            if random.below(2) == 0 { members["g"] = text(&random) }
            if random.below(3) == 0 { members["t"] = text(&random) }
            return .object(members)
        }
    }

    private static func change(_ elements: inout [PlainValue], _ random: inout SplitMix64) {
        for _ in 0..<random.below(4) {
            switch random.below(4) {
            case 0: elements.insert(element(&random), at: random.below(elements.count + 1))
            case 1 where !elements.isEmpty: elements.remove(at: random.below(elements.count))
            case 2 where !elements.isEmpty: elements[random.below(elements.count)] = element(&random)
            case 3 where !elements.isEmpty:
                let moved = elements.remove(at: random.below(elements.count))
                elements.insert(moved, at: random.below(elements.count + 1))
            default: break
            }
        }
        if random.once(in: 5) {
            elements = elements.map { element in
                guard case .object(var members) = element, members["v"] != nil else { return element }
                members["v"] = .token("\(random.below(9))")
                return .object(members)
            }
        }
        if random.once(in: 9) { elements.shuffle(using: &random) }
    }

    // MARK: What a person would say

    @Test("are the rows that a person takes for the same", arguments: MatchingFixture.all)
    func person(_ fixture: MatchingFixture) throws {
        var found: [Int] = []
        let shape = try StateShape(text: #"{"idBy":"match"}"#)
        var known = try read(fixture.json(0), shape, upon: nil, 0).snapshot
        for step in 1..<fixture.states.count {
            let next = try read(
                fixture.json(step), shape, upon: known, UInt64(step), ignoring: fixture.ignored
            ).snapshot
            let before = Dictionary(uniqueKeysWithValues: zip(fixture.states[step - 1].map(\.person), ids(known)))
            let wrong = zip(fixture.states[step].map(\.person), ids(next)).count { person, id in
                before[person].map { $0 != id } ?? before.values.contains(id)
            }
            found.append(wrong)
            known = next
        }
        #expect(found.max()! <= fixture.mostWrong, "\(found)")
    }

    @Test("are matched in time that follows their number")
    func time() throws {
        let shape = try StateShape(text: #"{"idBy":"match"}"#)
        // Equal elements, and elements that differ at one place only, many of which change.
        let elements: [(Int, Int) -> String] = [
            { _, _ in "1" },
            { "{\"a\":\"x\",\"n\":\($0 * $1)}" },
            { "{\"a\":\"\($0 % 3)\",\"n\":\($0 + $1)}" },
        ]
        for element in elements {
            let json = { (count: Int, step: Int) in
                "[\((0..<count).map { element($0, step) }.joined(separator: ","))]"
            }
            let time = try [2_000, 8_000].map { count in
                let known = try read(json(count, 1), shape, upon: nil, 0).snapshot
                let text = json(count + 1, 2)
                return try ProcessorTime.nanoseconds { _ = try read(text, shape, upon: known) }
            }
            #expect(time[1] < time[0] * 9)
        }
    }
}

extension String {
    /// Ids of the first state, by their numbers.
    fileprivate var old: [String] { split(separator: " ").map { "0.\($0)" } }
}
