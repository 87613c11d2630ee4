import Testing

@testable import DiffUpstream

@Suite struct NamePatternTests {
    @Test(
        arguments: [
            ("board", "board", [:]), ("board", "boards", nil), ("board", "Board", nil), ("board", "", nil),
            ("orders:{user}", "orders:7", ["user": "7"]), ("orders:{user}", "orders:a.b~c_d-e", ["user": "a.b~c_d-e"]),
            ("orders:{user}", "orders:", nil), ("orders:{user}", "orders", nil), ("orders:{user}", "order:7", nil),
            ("orders:{user}", "orders:7:8", nil), ("orders:{user}", "orders::", nil),
            ("orders:{user}", "orders:a:", nil),
            ("orders:{user}", "orders:.", nil), ("orders:{user}", "orders:..", nil),
            ("orders:{user}", "orders:...", ["user": "..."]), ("orders:{user}", "orders:.a", ["user": ".a"]),
            ("orders:{user}", "orders:a/b", nil), ("orders:{user}", "orders:%2e", nil),
            ("orders:{user}", "orders:a\u{0}", nil), ("orders:{user}", "orders:é", nil),
            ("orders:{user}", "orders:a@b", nil),
            ("{a}", "x", ["a": "x"]), ("{a}", "x:y", nil), ("{a}", ".", nil), ("{a}", "..", nil), ("{a}", "", nil),
            ("{a}:{b}", "x:y", ["a": "x", "b": "y"]), ("{a}:{b}", "x:y:z", nil), ("{a}:{b}", ":y", nil),
            ("{a}:{b}", "..:y", nil), ("{a}:{b}", "x:..", nil),
            ("{a}:b", "x:b", ["a": "x"]), ("{a}:b", "x:bb", nil), ("{a}:b", ":b", nil),
            // As few characters as the rest allows, and the last takes the remainder.
            ("{a}-{b}", "1-2-3", ["a": "1", "b": "2-3"]), ("{a}-{b}", "--3", ["a": "-", "b": "3"]),
            ("{a}-{b}", "-2", nil), ("{a}-{b}", "1-", nil), ("{a}-{b}", ".-a-b", nil),
            ("{a}-x", "1-x-x", ["a": "1-x"]), ("{a}xx", "xxx", ["a": "x"]), ("{a}xx", "xx", nil),
            ("{a}-{b}-x", "1-2-x-x", ["a": "1", "b": "2-x"]), ("{a}--{b}", "1---2", ["a": "1", "b": "-2"]),
            ("a{b}c{d}e", "abbcdde", ["b": "bb", "d": "dd"]), ("a{b}c{d}e", "ace", nil), ("a{b}c{d}e", "abce", nil),
            ("{a}x:y{b}", "ax:yb", ["a": "a", "b": "b"]), ("{a}x:y{b}", "axx:yb", ["a": "ax", "b": "b"]),
            ("{a}x:y{b}", "a:x:yb", nil), ("{tenant}:rooms:{room-1}", "t:rooms:9", ["tenant": "t", "room-1": "9"]),
        ] as [(String, String, [String: String]?)])
    func `a segment takes what stands between the literals`(
        _ pattern: String, _ session: String, _ segments: [String: String]?
    ) throws {
        #expect(try NamePattern(pattern).match(session) == segments)
    }

    @Test(
        arguments: [
            ("", .noName), (".", .noName), ("..", .noName), ("a b", .character), ("a/b", .character), ("ä", .character),
            ("a}", .character), ("a{b", .openBrace), ("{", .openBrace), ("{}", .segmentName), ("{a b}", .segmentName),
            ("{a:b}", .segmentName), ("{{a}}", .segmentName), ("{ä}", .segmentName),
            ("{\(String(repeating: "a", count: 65))}", .segmentName),
            ("{a}:{a}", .repeatedSegment("a")), ("{a}{b}", .adjacentSegments("a", "b")),
            ("x{a}-{b}{c}", .adjacentSegments("b", "c")), (String(repeating: "a", count: 129), .noName),
            (String(repeating: "a", count: 128) + "{b}", .noName),
        ] as [(String, NamePattern.Failure)])
    func `what no session could be named is no pattern`(_ text: String, _ failure: NamePattern.Failure) {
        #expect(throws: failure) { try NamePattern(text) }
    }

    @Test func `the longest name has room for its segments`() throws {
        let literal = String(repeating: "a", count: 127)
        #expect(try NamePattern(literal + "{b}").match(literal + "x") == ["b": "x"])
        #expect(try NamePattern(literal + "{b}").match(literal + "xy") == nil)
        #expect(try NamePattern("...").match("...") == [:])
    }

    @Test func `patterns that match alike have one form`() throws {
        #expect(try NamePattern("a:{b}-{c}").form == NamePattern("a:{x}-{y}").form)
        #expect(try NamePattern("a:{b}").form != NamePattern("a:{b}:").form)
        #expect(try NamePattern("a:{b}-{c}").segments == ["b", "c"])
    }

    /// All splits of the name, by brute force: the pattern matches if one of them does, except for dots.
    @Test func `what one pass finds, and nothing else, is there to be found`() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<20_000 {
            let pattern = try randomPattern(&random)
            let session = String(
                (0..<Int.random(in: 1...9, using: &random)).map { _ in "ab:".randomElement(using: &random)! })
            let found = pattern.match(session)
            #expect((found != nil) == isMatch(pattern.form[...], session[...]), "\(pattern.text) \(session)")
            if let found {
                let filled = found.reduce(pattern.text) { $0.replacing("{\($1.key)}", with: $1.value) }
                #expect(filled == session)
                #expect(found.values.allSatisfy { !$0.isEmpty && !$0.contains(":") })
            }
        }
    }

    private func randomPattern(_ random: inout SplitMix64) throws -> NamePattern {
        let literals = ["a", "b", ":", "ab", "aa", "b:", ":a", "a:b"]
        var text = Bool.random(using: &random) ? "" : literals.randomElement(using: &random)!
        for segment in ["x", "y", "z"].prefix(Int.random(in: 1...3, using: &random)) {
            text += "{\(segment)}" + literals.randomElement(using: &random)!
        }
        if Bool.random(using: &random) { text += "{end}" }
        return try NamePattern(text)
    }

    private func isMatch(_ form: Substring, _ name: Substring) -> Bool {
        guard form.hasPrefix("{}") else {
            guard let literal = form.first else { return name.isEmpty }
            return name.first == literal && isMatch(form.dropFirst(), name.dropFirst())
        }
        let most = name.prefix { $0 != ":" }.count
        return most > 0 && (1...most).contains { isMatch(form.dropFirst(2), name.dropFirst($0)) }
    }
}
