import HTTPCore
import SnapshotKit
import Testing

@testable import DiffService
@testable import DiffSessions
@testable import DiffUpstream

@Suite struct ListsFileTests {
    private static let variables = [
        "SECRET": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "TOKEN": "Bearer hidden", "EMPTY": "", "SHORT": "hidden",
        "LINES": "hidden\nX: y", "BLANK": " hidden",
    ]

    /// Files hold what variables do.
    private static func secret(_ source: SecretSource) -> String? {
        switch source {
        case .variable(let name), .file(let name): variables[name]
        }
    }

    private func file(_ text: String) throws -> ListsFile {
        try ListsFile(json: Array(text.utf8), secret: Self.secret)
    }

    /// Each as `line:column: message`.
    private func faults(_ json: [UInt8]) -> [String] {
        do {
            _ = try ListsFile(json: json, secret: Self.secret)
            return []
        } catch { return error.faults.map { "\($0.position.line):\($0.position.column): \($0.message)" } }
    }

    // MARK: What is taken

    @Test func `a file says lists in its order`() throws {
        let file = try file(
            """
            {
              "board": {"source": {"url": "http://127.0.0.1:9000/board"}},
              "orders:{user}": {
                "source": {
                  "url": "https://api.example/users/{user}/orders", "every": 2.5, "timeout": 30,
                  "headers": {"Authorization": "env:TOKEN", "Accept": "application/json"}
                },
                "hook": {"url": "https://api.example/hook?user={user}", "timeout": 0.5, "secret": "env:SECRET"},
                "shape": {"itemsAt": "/data"}, "ttl": 60, "ignore": ["/seen"], "keep": ["expanded"]
              },
              "notes": {"hook": {"url": "http://127.0.0.1:9000/hook", "secret": "env:SECRET"}}
            }
            """)
        #expect(file.lists.map(\.name.text) == ["board", "orders:{user}", "notes"])
        let (board, orders, notes) = (file.lists[0], file.lists[1], file.lists[2])
        #expect(board.feeds.first?.source.every == .seconds(5) && board.feeds.first?.source.timeout == .seconds(10))
        #expect(
            board.feeds.first?.source.headers == [] && board.hook == nil && board.settings == Session.SettingsChange())
        #expect(
            orders.feeds.first?.source.every == .milliseconds(2500)
                && orders.feeds.first?.source.timeout == .seconds(30))
        let headers = [("Authorization", "Bearer hidden"), ("Accept", "application/json")]
        #expect(orders.feeds.first?.source.headers == headers.map { RequestHeader(name: $0, value: $1) })
        #expect(orders.hook?.timeout == .milliseconds(500))
        var settings = Session.SettingsChange()
        settings.timeToLive = .seconds(60)
        settings.ignored = [JSONPointer("/seen")!]
        settings.shape = .pointers(itemsAt: JSONPointer("/data")!)
        settings.keepsExpanded = true
        #expect(orders.settings == settings)
        #expect(notes.feeds.isEmpty && notes.hook?.timeout == .seconds(2))
    }

    @Test func `a session is of the list of its name, else of the first that matches`() throws {
        let source = { (path: String) in "{\"source\":{\"url\":\"http://h/\(path)\"}}" }
        let file = try file(
            """
            {"{any}":\(source("any/{any}")), "a:{b}":\(source("one/{b}")), "{c}:{d}":\(source("two/{c}/{d}")),
             "a:x":\(source("exact"))}
            """)
        let table: [(String, String?, String?)] = [
            ("a:x", "a:x", "http://h/exact"), ("a:y", "a:{b}", "http://h/one/y"),
            ("b:y", "{c}:{d}", "http://h/two/b/y"),
            ("b", "{any}", "http://h/any/b"), ("a:b:c", nil, nil), (".", nil, nil), ("..", nil, nil),
            ("a:..", nil, nil),
            (":", nil, nil), ("", nil, nil), ("{any}", nil, nil), ("a/b", nil, nil),
        ]
        for (session, name, url) in table {
            let match = file.list(of: session)
            #expect(match?.definition.name.text == name, "\(session)")
            #expect(match.map { match in match.url(of: match.definition.feeds[0]) } == url, "\(session)")
            #expect(match?.definition.hook == nil)
        }
        #expect(try self.file("{}").list(of: "a") == nil)
    }

    @Test func `lists are equal where they say the same`() throws {
        let list = { (every: String, token: String) in
            "{\"a\":{\"source\":{\"url\":\"http://h/\",\"every\":\(every),\"headers\":{\"X-Key\":\"env:\(token)\"}}}}"
        }
        let one = try file(list("5", "TOKEN")).lists[0]
        #expect(one == (try file(list("5.0", "TOKEN").replacing(",", with: " ,\n")).lists[0]))
        #expect(one != (try file(list("6", "TOKEN")).lists[0]))
        #expect(one != (try file(list("5", "SHORT")).lists[0]))
    }

    @Test func `a shape is guessed where the file says so`() throws {
        let list = { (shape: String) in "{\"a\":{\"source\":{\"url\":\"http://h/\"},\"shape\":\(shape)}}" }
        let (guessed, said) = (try file(list("\"guess\"")), try file(list("{\"idAt\":\"/id\"}")))
        #expect(guessed.lists[0].guessesShape && guessed.lists[0].settings.shape == nil)
        #expect(!said.lists[0].guessesShape && guessed.lists[0] != said.lists[0])
        // A node whose file says otherwise fetches by itself.
        let origins = [guessed, said, try file(list("{\"idAt\":\"/k\"}"))].map {
            $0.list(of: "a").map { $0.sourceHash(of: $0.definition.feeds[0], by: .digests("tests")) }
        }
        #expect(Set(origins).count == 3)
    }

    @Test(arguments: [
        ("0.1", 100), ("1", 1000), ("5", 5000), ("3600", 3_600_000), ("3.6e3", 3_600_000), ("1.0001", 1000),
    ])
    func `a time is a number of seconds`(_ text: String, _ milliseconds: Int) throws {
        let list = try file("{\"a\":{\"source\":{\"url\":\"http://h/\",\"every\":\(text)}}}").lists[0]
        #expect(list.feeds.first?.source.every == .milliseconds(milliseconds))
    }

    @Test func `each section has a source, a shape and a content of its own, in the file's order`() throws {
        let list = try file(
            """
            {"a:{b}": {"sections": {
              "z": {"source": {"url": "http://h/{b}/z"}},
              "a/é": {"source": {"url": "http://h/a", "every": 9}, "content": {"title": "A"},
                "shape": {"itemsAt": "/rows", "rest": true}},
              "m": {"source": {"url": "http://h/m"}, "shape": {"idAt": "/no", "idScope": "state"}}
            }, "ttl": 9}}
            """
        ).lists[0]
        #expect(list.outlines?.map(\.id) == ["z", "a/é", "m"])
        #expect(list.feeds.map(\.scopesIDs) == [true, true, false])
        #expect(list.feeds.map { $0.shape?.mapping?.itemsAt?.description } == [nil, "/rows", ""])
        #expect(list.feed(of: "a/é")?.source.every == .seconds(9) && list.feed(of: "a") == nil)
        #expect(list.outlines?[1].content?.bytes == Array(#"{"title": "A"}"#.utf8))
        // Edits follow these.
        #expect(
            list.sectionShapes.mapValues { $0.mapping?.element.scopesIDs } == [
                Array("a/é".utf8): true, Array("m".utf8): false,
            ])
        let match = try #require(try file("{\"x\":{\(Self.sections)}}").list(of: "x"))
        let origins = match.definition.feeds.map { match.sourceHash(of: $0, by: .digests("tests")) }
        #expect(Set(origins).count == 2)
    }

    // MARK: What is wrong

    private static let sections = "\"sections\":{\"a\":{\(good)},\"b\":{\(good)}}"
    private static let name =
        "a name may only contain letters, digits, ._~:- and segments in braces, such as \"orders:{user}\""
    private static let session =
        "a session's name must be 1 to 128 letters, digits and ._~:-, but not \".\" or \"..\""
    private static let variable = "a secret must be \"env:NAME\" or \"file:PATH\", the variable or file that holds it"
    private static let controls = "a value that is empty, contains control characters, or begins or ends with a blank"
    private static let good = "\"source\":{\"url\":\"http://h/\"}"

    private static let twice = "duplicate member: name each member of an object once"

    /// Files with a `^` before each fault, and the messages.
    static let faulty: [(String, [String])] = [
        ("^", ["not valid JSON: the text is empty"]), ("  ^[]", ["a file of lists must be an object"]),
        ("^null", ["a file of lists must be an object"]),
        ("{^a", ["not valid JSON: unexpected \"a\": strings take double quotes"]),
        ("{\"é\":1,^}", ["not valid JSON: unexpected \"}\": remove the comma before it"]),
        ("{}\n ^x", ["not valid JSON: \"x\" after the end of the value"]),
        ("{\"a\":{\(good)},^\"a\":{\(good)}}", ["not valid JSON: \(twice)"]),
        ("{\"a\":{\(good)},^\"\\u0061\":{\(good)}}", ["not valid JSON: \(twice)"]),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":\"env:SECRET\"},\"shape\":^\"guess\"}}",
            ["a shape can only be guessed of what a source answers"]
        ),
        ("{\"a\":^5}", ["a list must be an object"]),
        ("{^\"a\":{}}", ["a list needs a source or sections, a hook, or both"]),
        ("{^\"a\":{\"ttl\":5}}", ["a list needs a source or sections, a hook, or both"]),
        ("{\"a\":{\(good),^\"sorce\":{}}}", ["a list has no member \"sorce\""]),
        ("{\"a\":{\(good),^\"x\\ny\\u202e\":{}}}", ["a list has no member \"x\u{FFFD}y\u{FFFD}\""]),
        ("{^\"a b\":{\(good)}}", [name]), ("{^\"\":{\(good)}}", [session]), ("{^\"..\":{\(good)}}", [session]),
        ("{^\"a{b\":{\(good)}}", ["a segment's brace is not closed"]),
        ("{^\"a{}\":{\(good)}}", ["a segment's name must be 1 to 64 letters, digits, - and _"]),
        ("{^\"{b}:{b}\":{\(good)}}", ["duplicate segment {b}"]),
        ("{^\"{b}{c}\":{\(good)}}", ["nothing separates {b} from {c}"]),
        (
            "{\"a:{b}\":{\(good)},^\"a:{c}\":{\(good)}}",
            ["no session can belong to this list: \"a:{b}\" matches every name that it could"]
        ),
        ("{\"a\":{\"source\":^[]}}", ["a source must be an object"]),
        ("{\"a\":{\"source\":^{}}}", ["a source needs a member \"url\""]),
        ("{\"a\":{\"source\":{\"url\":^7}}}", ["a URL must be a string"]),
        ("{\"a\":{\"source\":{\"url\":^\"ftp://h/\"}}}", ["a URL must begin with http:// or https://"]),
        (
            "{\"a\":{\"source\":{\"url\":^\"http://u:hidden@h/\"}}}",
            ["a URL must not contain a user or a password; send credentials in headers"]
        ),
        ("{\"a\":{\"source\":{\"url\":^\"http://h/{b}\"}}}", ["the list's name has no segment {b}"]),
        ("{^\"a }\":{\"source\":{\"url\":\"http://h/{b}\"}}}", [name]),
        (
            "{\"a:{b}\":{\"source\":{\"url\":^\"http://{b}/\"}}}",
            ["a segment cannot be in the host: put it in the path or the query"]
        ),
        (
            "{\"a\":{\"source\":{\"url\":\"http://h/\",\"every\":^0.09,\"timeout\":^60.1,^\"evry\":1}}}",
            [
                "every must be a number of seconds from 0.1 to 3600",
                "timeout must be a number of seconds from 0.1 to 60",
                "a source has no member \"evry\"",
            ]
        ),
        (
            "{\"a\":{\"source\":{\"every\":^3601,\"url\":^null}}}",
            ["every must be a number of seconds from 0.1 to 3600", "a URL must be a string"]
        ),
        (
            "{\"a\":{\"source\":{\"every\":^\"5\",\"url\":\"http://h/\"}}}",
            ["every must be a number of seconds from 0.1 to 3600"]
        ),
        (
            "{\"a\":{\"source\":{\"every\":^1e999,\"url\":\"http://h/\"}}}",
            ["every must be a number of seconds from 0.1 to 3600"]
        ),
        ("{\"a\":{\"source\":{\"url\":\"http://h/\",\"headers\":^[]}}}", ["headers must be an object"]),
        ("{\"a\":{\"hook\":^^{}}}", ["a hook needs a member \"url\"", "a hook needs a member \"secret\""]),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"timeout\":^0,\"secret\":^\"whsec_hidden\",^\"every\":5}}}",
            ["timeout must be a number of seconds from 0.1 to 60", variable, "a hook has no member \"every\""]
        ),
        ("{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^5}}}", [variable]),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^\"env:SHORT\"}}}",
            ["the variable SHORT does not hold a secret: \(WebhookSecret.rule)"]
        ),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^\"env:NONE\"}}}",
            ["the variable NONE is unset or empty"]
        ),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^\"env:EMPTY\"}}}",
            ["the variable EMPTY is unset or empty"]
        ),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^\"env:\"}}}",
            ["a variable's name may only contain letters, digits and _"]
        ),
        (
            "{\"a\":{\"hook\":{\"url\":\"http://h/\",\"secret\":^\"env:A B\"}}}",
            ["a variable's name may only contain letters, digits and _"]
        ),
        // Members that PUT reads as well, each at its place.
        ("{\"a\":{\(good),\"ttl\":^0}}", ["ttl must be a whole number of seconds from 1 to 604800"]),
        ("{\"a\":{\(good),\"ttl\":^1.5}}", ["ttl must be a whole number of seconds from 1 to 604800"]),
        ("{\"a\":{\(good),\"keep\":^[\"items\"]}}", ["keep must be [\"expanded\"] or an empty array"]),
        (
            "{\"a\":{\(good),\"ignore\":^[\"seen\"]}}",
            ["ignore must be an array of JSON Pointers into contents, each of at most 64 segments"]
        ),
        (
            "{\"a\":{\(good),\"ignore\":^[\(Array(repeating: "\"/a\"", count: 65).joined(separator: ","))]}}",
            ["there are 65 pointers, and at most 64 are allowed"]
        ),
        ("{\"a\":{\(good),\"shape\":^[]}}", ["a shape must be an object"]),
        (
            "{\"a\":{\(good),\"shape\":^{}}}",
            [
                "a shape must have at least one of sectionsAt, sectionIdAt, itemsAt, idAt, idBy, kindAt, childrenAt, "
                    + "expandedAt, sectionExpandedAt, groupAt"
            ]
        ),
        (
            "{\"a\":{\(good),\"shape\":{\"map\":^1,\"itemsAt\":^\"data\",^\"itemAt\":\"\",\"idAt\":^[]}}}",
            [
                "map must be true or false",
                "itemsAt must be a JSON Pointer, empty or starting with \"/\", not \"data\"",
                "a shape has no member \"itemAt\"", "idAt must be a JSON Pointer or an array of up to 4 of them",
            ]
        ),
        (
            "{\"a\":{\(good),\"shape\":{\"idAt\":\"/a\",\"missing\":^true}}}",
            ["missing must be \"refuse\" or \"empty\""]
        ),
        (
            "{\"a\":{\(good),\"shape\":{\"idAt\":\"/a\",\"invalid\":^\"first\"}}}",
            ["invalid must be one of refuse, skip, not \"first\""]
        ),
    ]

    /// The same for sections: the text between the braces.
    static let faultySections: [(String, [String])] = [
        ("\"sections\":^{}", ["a list must have 1 to 100 sections"]),
        ("\"sections\":^[]", ["the value of sections must be an object"]),
        (
            "\"source\":{\"url\":\"http://h/\"},^\"sections\":{\"a\":{\(good)}}",
            ["a list has a source, or sections that have one each, not both"]
        ),
        (
            "\"sections\":{\"a\":{\(good)}},^\"shape\":{\"idAt\":\"/id\"}",
            ["in a list of sections, each section has its own shape"]
        ),
        ("\"sections\":{\"a\":^5}", ["a section must be an object"]),
        ("\"sections\":{\"a\":^{}}", ["a section needs a member \"source\""]),
        ("\"sections\":{\"a\":{\(good),^\"ttl\":5}}", ["a section has no member \"ttl\""]),
        (
            "\"sections\":{^\"\":{\(good)}}",
            ["a section's id must be 1 to 2,048 bytes without control characters"]
        ),
        (
            "\"sections\":{\"a\":{\(good),\"shape\":^\"guess\"}}",
            ["the shape of one section is not guessed: `diffserver shape` prints one to write here"]
        ),
        (
            "\"sections\":{\"a\":{\(good),\"shape\":{\"idAt\":\"\",^\"groupAt\":\"/g\"}}}",
            ["groupAt has no place in the shape of one section"]
        ),
        (
            "\"sections\":{\"a\":{\(good),\"shape\":{\"idAt\":\"\",\"map\":^1}}}", ["map must be true or false"]
        ),
        (
            "\"sections\":{\"a\":{\"source\":{\"url\":^\"http://h/{b}\"}}}", ["the list's name has no segment {b}"]
        ),
    ]

    @Test(arguments: faultySections)
    func `what is wrong with sections is told with its place`(_ marked: String, _ messages: [String]) {
        expect("{\"a\":{\(marked)}}", messages)
    }

    /// The same for headers: the text between the braces.
    static let faultyHeaders: [(String, [String])] = [
        ("\"Accept\":^5", ["a header's value must be a string"]), ("\"Accept\":^\"\"", ["a header has \(controls)"]),
        ("\"Accept\":^\"a\\r\\nX: y\"", ["a header has \(controls)"]),
        ("\"Accept\":^\"a\\u0000\"", ["a header has \(controls)"]),
        ("\"Accept\":^\" a\"", ["a header has \(controls)"]), ("\"Accept\":^\"\\u007f\"", ["a header has \(controls)"]),
        ("^\"A b\":\"c\"", ["a header's name may only contain letters, digits and !#$%&'*+-.^_`|~"]),
        ("^\"\":\"c\"", ["a header's name may only contain letters, digits and !#$%&'*+-.^_`|~"]),
        ("^\"A:\":\"c\"", ["a header's name may only contain letters, digits and !#$%&'*+-.^_`|~"]),
        ("^\"é\":\"c\"", ["a header's name may only contain letters, digits and !#$%&'*+-.^_`|~"]),
        ("\"Accept\":\"a\",^\"accept\":\"b\"", ["duplicate header accept"]),
        ("\"X-A\":^\"env:LINES\"", ["the variable LINES holds \(controls)"]),
        ("\"X-A\":^\"env:BLANK\"", ["the variable BLANK holds \(controls)"]),
        ("\"X-A\":^\"file:LINES\"", ["the file LINES holds \(controls)"]),
        ("\"X-A\":^\"file:NONE\"", ["the file NONE is not there, not readable, or empty"]),
        ("\"X-A\":^\"env:EMPTY\"", ["the variable EMPTY is unset or empty"]),
    ]

    @Test(arguments: faulty)
    func `what is wrong is told with its place`(_ marked: String, _ messages: [String]) { expect(marked, messages) }

    @Test(arguments: faultyHeaders)
    func `what is wrong with headers is told with its place`(_ marked: String, _ messages: [String]) {
        expect("{\"a\":{\"source\":{\"url\":\"http://h/\",\"headers\":{\(marked)}}}}", messages)
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "Connection", "If-None-Match", "If-Modified-Since",
        "Accept-Encoding",
        "Range", "TE", "Upgrade", "Expect",
    ])
    func `the server's own headers are not to be set`(_ header: String) {
        let text = "{\"a\":{\"source\":{\"url\":\"http://h/\",\"headers\":{^\"\(header)\":\"x\"}}}}"
        expect(text, ["the server sets the header \(header) itself"])
    }

    @Test(arguments: [
        "Authorization", "proxy-authorization", "Cookie", "X-Api-Key", "apikey", "X-Auth-Token", "X-Vault-Token",
        "Client-Secret", "X-Amz-Security-Token", "X-Signature", "X-Password",
    ])
    func `a secret has no place in the file`(_ header: String) {
        let text = "{\"a\":{\"source\":{\"url\":\"http://h/\",\"headers\":{\"\(header)\":^\"Bearer hidden\"}}}}"
        expect(
            text,
            ["\(header) is a secret: write \"env:NAME\" or \"file:PATH\", the variable or file with the whole value"])
        let good = text.replacing("^\"Bearer hidden\"", with: "\"env:TOKEN\"")
        #expect(faults(Array(good.utf8)) == [])
    }

    @Test func `all faults of a file are told in its order`() {
        let text = """
            {
              "añ👍": {"ttl": 0, "source": {"url": "x"}},
              "b:{c}": {
                "hook": {"url": "http://h/{d}", "secret": "env:NONE"}, "é": {"👍": 1}, "extra": 1,
            \t"keep": 7
              }\r
            , "c": 1}
            """
        #expect(
            faults(Array(text.utf8)) == [
                "2:3: \(Self.name)", "2:18: ttl must be a whole number of seconds from 1 to 604800",
                "2:39: a URL must begin with http:// or https://", "4:21: the list's name has no segment {d}",
                "4:47: the variable NONE is unset or empty", "4:60: a list has no member \"é\"",
                "4:75: a list has no member \"extra\"",
                "5:10: keep must be [\"expanded\"] or an empty array",
                "7:8: a list must be an object",
            ])
    }

    @Test func `faults that are told are not without end`() {
        let text = "{" + (0..<3000).map { "\"\($0)\":0" }.joined(separator: ",\n") + "}"
        let found = faults(Array(text.utf8))
        #expect(found.count == ListsFileError.maxFaults)
        #expect(found.last == "1000:7: a list must be an object")
        let long = faults(
            Array(
                "{\"\(String(repeating: "é", count: 1000))\":{},\"a\":{\"\(String(repeating: "b", count: 1000))\":1}}"
                    .utf8))
        #expect(long.allSatisfy { $0.count < 500 })
        let most = Array("{}".utf8) + Array(repeating: UInt8(ascii: " "), count: ListsFile.maxBytes - 2)
        #expect(faults(most) == [])
        #expect(faults(most + [0x20]) == ["1:1: a file of lists may have at most 1048576 bytes"])
    }

    /// Bytes that are no such file, and good files with some bytes changed: they are read or reported as faulty.
    @Test func `no bytes trap`() {
        var random = SplitMix64(seed: 3)
        let seeds = (Self.faulty + Self.faultyHeaders).map { Array($0.0.utf8).filter { $0 != UInt8(ascii: "^") } }
        let pieces = "{}[]\":,\\ue/.%#@^$ \n0\u{0}\u{7f}é".utf8.map(\.self)
        for turn in 0..<6_000 {
            var bytes = turn % 10 == 0 ? [] : seeds.randomElement(using: &random)!
            for _ in 0..<random.below(bytes.isEmpty ? 40 : 4) {
                let at = random.below(bytes.count + 1)
                switch random.below(3) {
                case 0: bytes.insert(pieces.randomElement(using: &random)!, at: at)
                case 1: if at < bytes.count { bytes.remove(at: at) }
                default: if at < bytes.count { bytes[at] = UInt8(truncatingIfNeeded: random.next()) }
                }
            }
            for fault in faults(bytes) { #expect(!fault.contains("\n")) }
        }
    }

    @Test func `a byte order mark and carriage returns change nothing`() throws {
        #expect(try file("\u{FEFF}{}").lists.isEmpty)
        #expect(faults(Array("\u{FEFF}{\r\n  \"a\": 1}".utf8)) == ["2:8: a list must be an object"])
    }

    private func expect(_ marked: String, _ messages: [String]) {
        let expected = zip(places(marked), messages).map { "\($0): \($1)" }
        let text = marked.replacing("^", with: "")
        let found = faults(Array(text.utf8))
        #expect(found == expected, "\(text)")
        #expect(!found.contains { $0.contains("hidden") }, "a value is shown: \(found)")
    }

    /// `line:column` of each mark.
    private func places(_ marked: String) -> [String] {
        var (line, column, places) = (1, 1, [String]())
        for scalar in marked.unicodeScalars {
            switch scalar {
            case "^": places.append("\(line):\(column)")
            case "\n": (line, column) = (line + 1, 1)
            default: column += 1
            }
        }
        return places
    }
}
