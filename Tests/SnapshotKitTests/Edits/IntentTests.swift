import Testing

@testable import SnapshotKit

/// `s[a={"likes":1, "of":["x",{"n":2.50}],"none":null} b=7 c] t={"n":-0.5}[]`.
private let state = """
    {"sections":[{"id":"s","items":[{"id":"a","content":{"likes":1, "of":["x",{"n":2.50}],"none":null}},
    {"id":"b","content":7},"c"]},{"id":"t","content":{"n":-0.5},"items":[]}]}
    """
private let a = #"{"likes":1, "of":["x",{"n":2.50}],"none":null}"#
private let rest = #"b=7 c] t={"n":-0.5}[]"#

@Suite("Patches and additions")
struct IntentTests {
    private static func update(_ id: String, _ intents: String...) -> String {
        "{\"op\":\"update\",\"items\":[{\"id\":\"\(id)\",\(intents.joined(separator: ","))}]}"
    }

    @Test(
        "Intents change a content as it is by then",
        arguments: [
            EditCase(
                "a patch keeps what it does not name as it was written",
                "[\(update("a", #""patch":{"of":null,"by":{"x":null,"y":1e2}}"#))]",
                #"s[a={"likes":1,"none":null,"by":{"y":1e2}} "# + rest),
            EditCase(
                "an addition changes one number",
                "[\(update("a", #""add":{"/likes":1,"/of/1/n":0.50}"#))]",
                #"s[a={"likes":2, "of":["x",{"n":3}],"none":null} "# + rest),
            EditCase(
                "first the patch, then the addition",
                "[\(update("a", #""add":{"/likes":1}"#, #""patch":{"likes":10}"#))]",
                #"s[a={"likes":11,"of":["x",{"n":2.50}],"none":null} "# + rest),
            EditCase(
                "edits see what those before them made",
                "[\(update("c", #""content":{"n":1}"#)),\(update("c", #""add":{"/n":1}"#)),"
                    + "\(update("c", #""patch":{"m":1}"#)),\(update("c", #""add":{"/m":1,"/n":1}"#))]",
                #"s[a=\#(a) b=7 c={"n":3,"m":2}] t={"n":-0.5}[]"#),
            EditCase(
                "a content replaces what intents made",
                "[\(update("b", #""add":{"":1}"#)),\(update("b", #""content":[1]"#))]",
                #"s[a=\#(a) b=[1] c] t={"n":-0.5}[]"#),
            EditCase(
                "a patch that is no object is the content, null too",
                "[\(update("a", #""patch":[null]"#)),\(update("b", #""patch":null"#))]",
                #"s[a=[null] b=null c] t={"n":-0.5}[]"#),
            EditCase(
                "nothing counts from 0, and objects on the way are made",
                "[\(update("c", #""add":{"/x/y/z":-1,"/x/~1~0\u0022":2}"#)),\(update("a", #""add":{"/of/1/new":0}"#))]",
                #"s[a={"likes":1, "of":["x",{"n":2.50,"new":0}],"none":null} b=7 "#
                    + #"c={"x":{"y":{"z":-1},"/~\"":2}}] t={"n":-0.5}[]"#),
            EditCase(
                "an empty object takes its first member",
                "[\(update("c", #""content":{"e":{ }}"#)),\(update("c", #""add":{"/e/a":1}"#))]",
                #"s[a=\#(a) b=7 c={"e":{"a":1 }}] t={"n":-0.5}[]"#),
            EditCase(
                "a content that is a number, or none",
                "[\(update("b", #""add":{"":-7}"#)),\(update("c", #""add":{"":5}"#))]",
                #"s[a=\#(a) b=0 c=5] t={"n":-0.5}[]"#),
            EditCase(
                "of sections, and of what the batch inserts",
                #"[{"op":"update","sections":[{"id":"t","add":{"/n":0.5},"patch":{"m":[]}}]},"#
                    + #"{"op":"insert","sections":[{"id":"u","content":{"n":1},"items":[{"id":"d","content":4}]}]},"#
                    + #"{"op":"update","sections":[{"id":"u","add":{"/n":1}}]},"#
                    + #"{"op":"update","items":[{"id":"d","add":{"":1},"kind":"k","expanded":false}]}]"#,
                #"s[a=\#(a) b=7 c] t={"n":0,"m":[]}[] u={"n":2}[d:k=5-]"#),
            EditCase(
                "a text goes behind a string, after the patch and what is added",
                "[\(update("a", #""append":{"/of/0":"y\u00e9\"","/by":"me"}"#, #""patch":{"by":"for "}"#))]",
                #"s[a={"likes":1,"of":["xy\u00e9\"",{"n":2.50}],"none":null,"by":"for me"} "# + rest),
            EditCase(
                "nothing is an empty text, also where there is no content",
                "[\(update("c", #""append":{"/x/y":"z","/x/w":""}"#)),\(update("c", #""append":{"/x/y":"z"}"#))]",
                #"s[a=\#(a) b=7 c={"x":{"y":"zz","w":""}}] t={"n":-0.5}[]"#),
            EditCase(
                "a content that is a text, or none",
                "[\(update("b", #""content":"b""#)),\(update("b", #""append":{"":"c"}"#)),"
                    + "\(update("c", #""append":{"":"d"}"#))]",
                #"s[a=\#(a) b="bc" c="d"] t={"n":-0.5}[]"#),
            EditCase(
                "intents that want nothing", "[\(update("c", #""add":{}"#)),\(update("a", #""patch":{}"#))]",
                #"s[a={"likes":1,"of":["x",{"n":2.50}],"none":null} "# + rest),
        ])
    func intents(_ edit: EditCase) throws {
        #expect(try result(of: edit.edits, on: state) == edit.expected)
    }

    @Test(
        "What cannot be added to is refused, each with its place",
        arguments: [
            EditCase(
                "no number, null, below a scalar, behind an array's end, no index",
                "[" + update("a", #""add":{"/of":1,"/none":1,"/likes/x":1,"/of/2":1,"/of/01":1,"/of/-/x":1,"/of/0":1}"#)
                    + "]",
                ["of", "none", "likes~1x", "of~12", "of~101", "of~1-~1x", "of~10"]
                    .map { "not-a-number /edits/0/items/0/add/~1\($0)" }.joined(separator: ", ")),
            EditCase(
                "all operands of all edits",
                #"[{"op":"update","items":[{"id":"b","add":{"/n":1}},{"id":"x","patch":1},{"id":"a","add":{"":1}}]},"#
                    + update("b", #""add":{"/n":1}"#) + "]",
                "not-a-number /edits/0/items/0/add/~1n, unknown-id /edits/0/items/1/id, "
                    + "not-a-number /edits/0/items/2/add/, not-a-number /edits/1/items/0/add/~1n"),
            EditCase(
                "no string, null, below a scalar, behind an array's end; no text to append",
                "["
                    + update(
                        "a", #""append":{"/of":"x","/none":"x","/likes":"x","/likes/x":"x","/of/2":"x","/of/1/n":"x"}"#)
                    + "," + update("b", #""append":{"/x":"x"}"#) + "]",
                ["of", "none", "likes", "likes~1x", "of~12", "of~11~1n"]
                    .map { "not-a-string /edits/0/items/0/append/~1\($0)" }.joined(separator: ", ")
                    + ", not-a-string /edits/1/items/0/append/~1x"),
            EditCase(
                "what is appended is no string, and what says where is no pointer",
                "[\(update("a", #""append":{"/of/0":1,"/x":null,"x":"y"}"#)),\(update("a", #""append":"x""#)),"
                    + "\(update("a", #""append":{}"#, #""content":1"#))]",
                "not-a-string /edits/0/items/0/append/~1of~10, not-a-string /edits/0/items/0/append/~1x, "
                    + "wrong-shape /edits/0/items/0/append/x, wrong-shape /edits/1/items/0/append, "
                    + "wrong-shape /edits/2/items/0/content"),
            EditCase(
                "a sum of too many digits",
                "[\(update("b", #""add":{"":999999999999999992}"#)),\(update("b", #""add":{"":1}"#))]",
                "limit-exceeded /edits/1/items/0/add/"),
            EditCase(
                "a number of too many digits",
                "[\(update("b", #""content":1e18"#)),\(update("b", #""add":{"":-1}"#))]",
                "limit-exceeded /edits/1/items/0/add/"),
            EditCase(
                "the wrong shape",
                "[\(update("a", #""add":{"likes":1,"/~2":1,"/a":"1","/b":null,"/c":1e18,"/d":1e-19}"#)),"
                    + "\(update("a", #""add":[]"#, #""content":1"#)),\(update("a", #""patch":1"#, #""content":1"#)),"
                    + #"{"op":"insert","items":[{"id":"x","patch":1,"add":{}}]}]"#,
                "wrong-shape /edits/0/items/0/add/likes, wrong-shape /edits/0/items/0/add/~1~02, "
                    + "not-a-number /edits/0/items/0/add/~1a, not-a-number /edits/0/items/0/add/~1b, "
                    + "limit-exceeded /edits/0/items/0/add/~1c, limit-exceeded /edits/0/items/0/add/~1d, "
                    + "wrong-shape /edits/1/items/0/add, wrong-shape /edits/1/items/0/content, "
                    + "wrong-shape /edits/2/items/0/content, unknown-member /edits/3/items/0/patch, "
                    + "unknown-member /edits/3/items/0/add"),
        ])
    func refusals(_ edit: EditCase) throws {
        let found = try result(of: edit.edits, on: state)
        #expect(found == edit.expected)
    }

    @Test(
        "Sums are exact, and written without exponents and needless zeros",
        arguments: [
            ("0.1", "0.2", "0.3"), ("1", "-0.000000000000000001", "0.999999999999999999"),
            ("0", "-0.000000000000000001", "-0.000000000000000001"),
            ("-0", "0", "0"), ("-0.0", "0e9999999999999999999", "0"), ("1.50", "0", "1.5"), ("1E2", "2e-1", "100.2"),
            ("100", "0", "100"), ("-1", "0.25", "-0.75"), ("1", "-1.25", "-0.25"), ("-0.75", "1", "0.25"),
            ("0.5", "0.5", "1"), ("-0.5", "-0.5", "-1"), ("1.999999999999999999", "0", nil),
            ("99999999999999999.9", "0.1", "100000000000000000"), ("999999999999999999", "-999999999999999999", "0"),
            ("999999999999999999", "0.1", nil), ("123456789.123456789", "0.000000001", "123456789.12345679"),
            ("1e17", "0", "100000000000000000"), ("1e18", "-1e18", nil), ("1e-18", "0", "0.000000000000000001"),
            ("1e-19", "0", nil), ("10000000000000000000000e-22", "0", "1"), ("0.00e5", "1", "1"),
            ("1.00000000000000000000000", "1", "2"), ("-999999999999999999", "-1", nil), ("5e-1", "-5E-01", "0"),
        ] as [(String, String, String?)])
    func sums(number: String, amount: String, sum: String?) throws {
        let edited = try result(
            of: #"[{"op":"update","items":[{"id":1,"add":{"":\#(amount)}}]}]"#, on: #"[{"id":1,"content":\#(number)}]"#)
        #expect(edited == sum.map { "main[1=\($0)]" } ?? "limit-exceeded /edits/0/items/0/add/")
    }

    @Test("A text may have so many bytes in UTF-8, and is refused before it is made")
    func longTexts() throws {
        var limits = StateLimits()
        limits.maxTextBytes = 6
        let append = { (text: String) in #"[{"op":"update","items":[{"id":1,"append":{"/t":"\#(text)"}}]}]"# }
        let state = #"[{"id":1,"content":{"t":"\u00e9é"}}]"#
        #expect(try result(of: append("ab"), on: state, limits: limits) == #"main[1={"t":"\u00e9éab"}]"#)
        #expect(try result(of: append(#"\u0061b"#), on: state, limits: limits) == #"main[1={"t":"\u00e9é\u0061b"}]"#)
        for text in ["abc", #"\u0061bc"#, "aé"] {
            #expect(
                try result(of: append(text), on: state, limits: limits) == "limit-exceeded /edits/0/items/0/append/~1t")
        }
    }

    @Test("A content may be as large and as deep as one that is sent whole")
    func limits() throws {
        var limits = StateLimits()
        limits.maxContentBytes = 40
        let text = String(repeating: "x", count: 30)
        let state = #"[{"id":1,"content":{"a":"\#(text)"}},{"id":2,"content":"\#(text + text)"}]"#
        let patch = { (id: Int, intent: String) in #"[{"op":"update","items":[{"id":\#(id),\#(intent)}]}]"# }
        #expect(
            try result(of: patch(1, #""patch":{"b":"y"}"#), on: state, limits: limits)
                == "limit-exceeded /edits/0/items/0/patch")
        #expect(
            try result(of: patch(1, #""add":{"/number":1}"#), on: state, limits: limits)
                == "limit-exceeded /edits/0/items/0/add")
        // A content that is too long already may become shorter.
        #expect(
            try result(of: patch(2, #""patch":"\#(text + text.dropLast())""#), on: state, limits: limits).contains("2=")
        )

        limits = StateLimits()
        limits.maxDepth = 8
        #expect(try result(of: patch(1, #""add":{"/a/b/c":1}"#), on: "[1]", limits: limits).contains(#"{"c":1}"#))
        #expect(
            try result(of: patch(1, #""add":{"/a/b/c/d":1}"#), on: "[1]", limits: limits)
                == "limit-exceeded /edits/0/items/0/add/~1a~1b~1c~1d")
    }

    @Test("A batch cannot have a long content gone through without end")
    func repeats() throws {
        var limits = StateLimits()
        limits.maxContentBytes = 1_000
        let state = #"[{"id":1,"content":{"n":0,"text":"\#(String(repeating: "x", count: 900))"}}]"#
        let batch = { (count: Int, add: String) in
            "["
                + Array(repeating: #"{"op":"update","items":[{"id":1,"add":{"\#(add)":1}}]}"#, count: count)
                .joined(separator: ",") + "]"
        }
        #expect(try result(of: batch(5, "/n"), on: state, limits: limits).hasPrefix(#"main[1={"n":5,"#))
        #expect(
            try result(of: batch(9, "/n"), on: state, limits: limits) == "limit-exceeded /edits/5/items/0/add")
        let vain = (0..<20).map { "{\"id\":1,\"add\":{\"/text/\($0)\":1}}" }.joined(separator: ",")
        let told = try result(of: "[{\"op\":\"update\",\"items\":[\(vain)]}]", on: state, limits: limits)
        #expect(told.contains("not-a-number /edits/0/items/4/") && told.contains("limit-exceeded /edits/0/items/5/add"))
    }

    @Test("Intents do what the plainest way of doing them does", arguments: 0..<40)
    func agree(seed: Int) throws {
        var writer = IntentWriter(random: SplitMix64(seed: UInt64(seed)))
        for _ in 0..<100 { try writer.compareOnce() }
    }
}

// MARK: - The plainest way

extension Tree {
    /// RFC 7396 §2.
    fileprivate func merged(by patch: Tree) -> Tree {
        guard case .object(let changes) = patch else { return patch }
        var members: [Text: Tree] = [:]
        if case .object(let own) = self { members = own }
        for (name, change) in changes {
            members[name] = change == .null ? nil : (members[name] ?? .null).merged(by: change)
        }
        return .object(members)
    }

    /// With the value at a path changed; nil if that is impossible.
    fileprivate static func changed(_ tree: Tree?, at path: ArraySlice<String>, _ change: (Tree?) -> Tree?) -> Tree? {
        guard let name = path.first else { return change(tree) }
        switch tree {
        case nil: return changed(nil, at: path.dropFirst(), change).map { .object([Text(name): $0]) }
        case .object(var members):
            guard let value = changed(members[Text(name)], at: path.dropFirst(), change) else { return nil }
            members[Text(name)] = value
            return .object(members)
        case .array(var elements):
            guard let index = Int(name), elements.indices.contains(index),
                let value = changed(elements[index], at: path.dropFirst(), change)
            else { return nil }
            elements[index] = value
            return .array(elements)
        default: return nil
        }
    }

    /// A number with hundredths added, from 0 if there is none; nil for anything else.
    fileprivate static func added(_ hundredths: Int, to tree: Tree?) -> Tree? {
        guard let tree else { return number(hundredths: hundredths) }
        guard case .token(let token) = tree, let value = Double(token) else { return nil }
        return number(hundredths: Int((value * 100).rounded()) + hundredths)
    }

    /// A text with another behind it, from an empty one if there is none; nil for anything else.
    fileprivate static func appended(_ text: String, to tree: Tree?) -> Tree? {
        guard let tree else { return .string(Text(text)) }
        guard case .string(let before) = tree else { return nil }
        return .string(Text(bytes: before.bytes + Text(text).bytes))
    }

    private static func number(hundredths: Int) -> Tree {
        let digits = String(hundredths.magnitude + 100_000_000).dropFirst()
        var text = Substring(digits.prefix(6).drop { $0 == "0" })
        if text.isEmpty { text = "0" }
        var fraction = digits.suffix(2)
        while fraction.last == "0" { fraction.removeLast() }
        return .token((hundredths < 0 ? "-" : "") + text + (fraction.isEmpty ? "" : "." + fraction))
    }
}

/// Makes up contents and intents over few names, so that they collide, and carries them out both ways.
private struct IntentWriter {
    var random: SplitMix64

    mutating func compareOnce() throws {
        let content = value(depth: 3)
        var tree: Tree? = Tree.json(content)
        var edits: [String] = []
        var isRefused = false
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let patch = Bool.random(using: &random) ? value(depth: 3) : nil
            var additions: [String: Int] = [:]
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                additions[path()] = Int.random(in: -150...150, using: &random)
            }
            var texts: [String: String] = [:]
            if Bool.random(using: &random) { texts[path()] = ["", "a", "é"].randomElement(using: &random)! }
            let written = additions.map { "\"\($0)\":\(Double($1) / 100)" }.joined(separator: ",")
            let appended = texts.map { "\"\($0)\":\"\($1)\"" }.joined(separator: ",")
            edits.append(
                "{\"op\":\"update\",\"items\":[{\"id\":1,\"append\":{\(appended)},"
                    + "\(patch.map { "\"patch\":\($0)," } ?? "")\"add\":{\(written)}}]}")
            if isRefused { continue }
            if let patch { tree = (tree ?? .null).merged(by: .json(patch)) }
            let changes: [(path: String, change: (Tree?) -> Tree?)] =
                additions.map { addition in (addition.key, { Tree.added(addition.value, to: $0) }) }
                + texts.map { text in (text.key, { Tree.appended(text.value, to: $0) }) }
            for (path, change) in changes where !isRefused {
                let names = path.split(separator: "/").map(String.init)
                if let made = Tree.changed(tree, at: names[...], change) { tree = made } else { isRefused = true }
            }
        }
        let result = try result(
            of: "[\(edits.joined(separator: ","))]", on: "[{\"id\":1,\"content\":\(content)}]")
        if isRefused {
            #expect(result.hasPrefix("not-a-"), "\(content) \(edits)")
        } else {
            #expect(Tree.json(String(result.dropFirst("main[1=".count).dropLast())) == tree, "\(content) \(edits)")
        }
    }

    private mutating func path() -> String {
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
            "/" + ["a", "b", "0", "1"].randomElement(using: &random)!
        }.joined()
    }

    private mutating func value(depth: Int) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 5), using: &random) {
        case 0: return "null"
        case 1: return "\"a\""
        case 2, 3, 4: return String(Double(Int.random(in: -9...9, using: &random)) / 4)
        case 5:
            return "["
                + (0..<Int.random(in: 0...2, using: &random)).map { _ in value(depth: depth - 1) }.joined(
                    separator: ", ") + "]"
        default:
            let names = ["a", "b", "\\u0061b", "0"].shuffled(using: &random).prefix(
                Int.random(in: 0...3, using: &random))
            return "{" + names.map { "\"\($0)\": " + value(depth: depth - 1) }.joined(separator: ",") + "}"
        }
    }
}
