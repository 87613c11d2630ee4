/// Seeded random views of the states that `StateGenerator` makes of `contents`.
struct ViewGenerator {
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0x5EED) }

    static let contents: [Tree?] = [
        nil, nil, .null, .token("-0"), .token("1.0"), .token("12e-1"), .string("b"), .json("[1]"),
        .json(#"{"n":1,"s":"alpha","flag":true}"#), .json(#"{"n":1.0,"s":"alphabetical","flag":false}"#),
        .json(#"{"n":1e400,"s":"alphabetically","deep":{"n":2,"s":"x"}}"#),
        .json(#"{"n":9007199254740993,"s":"","deep":{"n":-2}}"#), .json(#"{"n":9007199254740992,"s":null}"#),
        .json(#"{"n":-1e-400,"s":"\u0000","flag":null}"#), .json(#"{"n":"1","s":["alpha"],"deep":[{"n":1}]}"#),
        .json(#"{"n":0.0,"s":"é \"\\","deep":{"n":{"m":1},"s":"alphabetically"}}"#), .json("{}"),
        .json(#"{"s":"alphabetical order","n":-1}"#), .json(#"{"n":10,"deep":{}}"#), .json(#"{"n":100e-1}"#),
    ]

    private static let places = [
        "/id", "/kind", "/expanded", "/content", "/content/n", "/content/n", "/content/n", "/content/s", "/content/s",
        "/content/flag", "/content/deep", "/content/deep/n", "/content/deep/s", "/content/changed/n", "/content/none",
        "/content/group",
    ]

    private static let sectionPlaces = places.filter { $0.hasPrefix("/content") }

    private static let values: [Tree] = [
        .null, .token("true"), .token("false"), .token("1"), .token("-0.0"), .token("10.0"), .token("1E+400"),
        .token("9007199254740993"), .token("1.2"), .token("-1e-400"), .string("alpha"), .string("alphabetically"),
        .string("tall"), .string("i3"), .string(""), .string("1"), .json("[1.0]"), .json(#"{"n":2.0,"s":"x"}"#),
    ]

    mutating func view() -> Tree {
        var members: [Text: Tree] = [:]
        if random.once(in: 4) { members["sections"] = .array(some(of: (0..<4).map { .string(Text("S\($0)")) })) }
        if random.once(in: 2) { members["where"] = .array((0..<1 + random.below(2)).map { _ in test() }) }
        if random.once(in: 2) { members["order"] = .array((0..<1 + random.below(3)).map { _ in order() }) }
        if random.once(in: 4) {
            var group = ["at": place()] as [Text: Tree]
            if random.once(in: 3) { group["prefix"] = .number(1 + random.below(3)) }
            members["group"] = .object(group)
        }
        if random.once(in: 4) {
            members["sectionOrder"] = .array(
                (0..<1 + random.below(2)).map { _ in
                    var order = order()
                    if case .object(var members) = order, random.once(in: 2) {
                        members["at"] = .string("/id")
                        order = .object(members)
                    } else if case .object(var members) = order {
                        members["at"] = .string(Text(Self.sectionPlaces[random.below(Self.sectionPlaces.count)]))
                        order = .object(members)
                    }
                    return order
                })
        }
        if random.once(in: 4) { members["emptySections"] = random.once(in: 4) ? .token("true") : .token("false") }
        if random.once(in: 4) {
            let sections = ["S0", "S1", "S2", "none", "alpha", "10", "i1"].map { Tree.string(Text($0)) }
            let items = (0..<12).map { Tree.string(Text("i\($0)")) }
            members["collapsed"] = .object(["sections": .array(some(of: sections)), "items": .array(some(of: items))])
        }
        if random.once(in: 3) { members["limit"] = .number(random.below(8)) }
        for name in ["fields", "sectionFields", "listFields"] as [Text] where random.once(in: 3) {
            let places = name == "fields" ? Self.places : Self.places.filter { $0.hasPrefix("/content") }
            let all = places.map { Tree.string(Text($0)) }.filter { $0 != .string("/content") || random.once(in: 4) }
            members[name] = .array(some(of: all))
        }
        return .object(members)
    }

    private mutating func some(of all: [Tree]) -> [Tree] { all.filter { _ in random.once(in: 2) } }

    private mutating func place() -> Tree { .string(Text(Self.places[random.below(Self.places.count)])) }

    private mutating func value() -> Tree { Self.values[random.below(Self.values.count)] }

    private mutating func order() -> Tree {
        var order = ["at": place()] as [Text: Tree]
        if random.once(in: 2) { order["descending"] = random.once(in: 3) ? .token("false") : .token("true") }
        return .object(order)
    }

    private mutating func test(depth: Int = 0) -> Tree {
        if depth < 2, random.once(in: 6) {
            return .object(["any": .array((0..<random.below(4)).map { _ in self.test(depth: depth + 1) })])
        }
        var test = ["at": place()] as [Text: Tree]
        switch random.below(6) {
        case 0: test["is"] = value()
        case 1, 2: test["not"] = value()
        case 3: test["in"] = .array(some(of: Self.values))
        case 4: test["exists"] = .token(random.once(in: 2) ? "true" : "false")
        default:
            let operand = random.once(in: 2) ? Tree.token("1") : .string("alphabet")
            if case .string = operand, random.once(in: 3) {
                test["has"] = .string("lph")
            } else {
                test[["below", "above", "atMost", "atLeast"][random.below(4)]] = operand
            }
        }
        if random.once(in: 5) { test["fold"] = random.once(in: 4) ? .token("false") : .token("true") }
        return .object(test)
    }
}
