import SnapshotKit
import Testing

@Suite("Guesses of a shape")
struct ShapeGuessTests {
    private func guesses(_ json: String, _ limits: StateLimits = StateLimits()) throws -> [ShapeGuess] {
        var document = StateDocument(Array(json.utf8))
        return try document.shapes(limits)
    }

    private func shape(_ json: String) throws -> StateShape {
        json == "{}" ? .native : try StateShape(JSONSlice(document: Array(json.utf8)))
    }

    @Test("are what a person would say", arguments: ForeignDocument.all)
    func best(document: ForeignDocument) throws {
        let found = try guesses(document.json)
        guard let wanted = document.shape else {
            #expect(found.isEmpty)
            return
        }
        let best = try #require(found.first)
        var shown = JSONWriter()
        best.write(into: &shown)
        #expect(best.shape == (try shape(wanted)), "\(String(decoding: shown.bytes(), as: UTF8.self))")
        #expect((best.rows, best.sections) == (document.rows, document.sections))
    }

    @Test("read the document, each as it says", arguments: ForeignDocument.all)
    func accepted(document: ForeignDocument) throws {
        let found = try guesses(document.json)
        #expect(found.count <= ShapeGuess.maxCount)
        for guess in found {
            let state = try Snapshot(json: document.json, shape: guess.shape)
            #expect((state.rowCount, state.sectionCount) == (guess.rows, guess.sections))
        }
    }

    @Test("name other lists, too")
    func several() throws {
        let json = #"{"users":[{"id":1,"name":"A","mail":"a"}],"posts":[{"id":1,"title":"B","body":"b"}],"tags":["x"]}"#
        let places = try guesses(json).compactMap(\.shape.mapping?.itemsAt?.description)
        #expect(Set(places) == ["/users", "/posts", "/tags"])
        #expect(places.last == "/tags")
    }

    @Test("look at all elements, not only at the first")
    func long() throws {
        let rows = (0..<100).map { #"{"key":"k\#($0 % 99)","code":"c\#($0)","title":"t"}"# }.joined(separator: ",")
        #expect(try guesses("{\"list\":[\(rows)]}").first?.shape == shape(#"{"itemsAt":"/list","idAt":"/code"}"#))
    }

    @Test("hold for names with escapes, and for blanks and a byte order mark around")
    func escapes() throws {
        let json = "\u{FEFF} {\"a\\/b~\" : [ { \"\\u0069d\" : \"x\" , \"n\" : 1 } , { \"id\" : \"y\" , \"n\" : 2 } ] } "
        #expect(try guesses(json).first?.shape == shape(#"{"itemsAt":"/a~1b~0","idAt":"/id"}"#))
    }

    @Test("are not made of a state that only repeats ids")
    func duplicates() throws {
        #expect(try guesses(#"[{"id":"a"},{"id":"b"},{"id":"a"}]"#).isEmpty)
    }

    @Test(
        "name the runners-up within an element",
        arguments: [
            (#"[{"id":1,"name":"a"},{"id":2,"name":"b"}]"#, [#"{"idAt":"/id"}"#, #"{"idAt":"/name"}"#]),
            (#"[{"id":1,"n":1},{"id":2,"n":1}]"#, [#"{"idAt":"/id"}"#, #"{"idBy":"match"}"#]),
            (#"[{"title":"x","n":1},{"title":"y","n":1}]"#, [#"{"idBy":"match"}"#, #"{"idAt":"/title"}"#]),
            (#"[{"id":1,"n":1},{"id":1,"n":2}]"#, [#"{"idBy":"match"}"#, #"{"idAt":"/id","duplicates":"first"}"#]),
            (
                #"[{"roomId":1,"userId":1},{"roomId":1,"userId":2},{"roomId":2,"userId":1}]"#,
                [#"{"idBy":"match"}"#, #"{"idAt":["/roomId","/userId"]}"#]
            ),
            (
                #"[{"id":1,"title":"x","cards":[{"id":3,"text":"y"}]},{"id":2,"title":"z","cards":[]}]"#,
                [
                    #"{"idAt":"/id"}"#, #"{"idAt":"/title"}"#,
                    #"{"sectionsAt":"","sectionIdAt":"/id","itemsAt":"/cards","idAt":"/id"}"#,
                ]
            ),
            (#"["a","b"]"#, ["{}", #"{"idAt":""}"#]),
            (#"[{"id":1},{"id":2}]"#, ["{}", #"{"idAt":"/id"}"#, #"{"idBy":"match"}"#]),
        ])
    func runnersUp(json: String, shapes: [String]) throws {
        #expect(try guesses(json).map(\.shape) == shapes.map(shape))
    }

    @Test("offer sections and outlines, whichever comes first")
    func nested() throws {
        let children = #"[{"id":1,"t":"a","list":[{"id":2,"t":"b"},{"id":3,"t":"c"}]}]"#
        let grandchildren = #"[{"id":1,"t":"a","list":[{"id":2,"t":"b","list":[{"id":3,"t":"c"}]}]}]"#
        let sections = try shape(#"{"sectionsAt":"","itemsAt":"/list"}"#)
        let outline = try shape(#"{"childrenAt":"/list"}"#)
        #expect(try guesses(children).prefix(2).map(\.shape) == [sections, outline])
        #expect(try guesses(grandchildren).prefix(2).map(\.shape) == [outline, sections])
    }

    @Test(
        "of a list whose next document may have more are never only for ids alone",
        arguments: [
            ("[]", ""), (#"{"total":0,"items":[]}"#, ""), ("{}", ""), ("null", ""), (#"{"items":null}"#, ""),
            (#"["a","b"]"#, #"{"idAt":""}"#), (#"["a","a"]"#, #"{"idBy":"match"}"#),
            (#"[{"id":1},{"id":2}]"#, #"{"idAt":"/id"}"#),
            (#"[{"id":1},{"id":1}]"#, #"{"idBy":"match"}"#), ("[1,1.5,null]", #"{"idBy":"match"}"#),
            (#"[{"id":"a","content":1}]"#, "{}"), (#"["1.50","-2.5"]"#, #"{"idBy":"match"}"#),
            (#"["2026-11-29T08:00","2026-11-29T09:00"]"#, #"{"idBy":"match"}"#),
        ])
    func ofLists(json: String, best: String) throws {
        var document = StateDocument(Array(json.utf8))
        let found = try document.listShapes(StateLimits()).first?.shape
        #expect(found == (try best.isEmpty ? nil : shape(best)))
    }

    @Test(
        "of a list are refused where there is none, and where a state repeats ids",
        arguments: [
            (#"{"error":{"code":404}}"#, "no list was found"),
            (#"[{"id":"a","content":1},{"id":"a"}]"#, "duplicate id"), ("1", "no list was found"),
        ])
    func noList(json: String, words: String) throws {
        var document = StateDocument(Array(json.utf8))
        #expect {
            try document.listShapes(StateLimits())
        } throws: {
            "\($0)".contains(words)
        }
    }

    @Test("keep to the limits")
    func limits() throws {
        var limits = StateLimits()
        limits.maxItems = 2
        let rows = (0..<3).map { #"{"id":\#($0),"n":1}"# }.joined(separator: ",")
        #expect {
            try guesses("{\"data\":[\(rows)]}", limits)
        } throws: {
            if case StateError.limitExceeded("items", 2, 3, _) = $0 { true } else { false }
        }
        limits.maxDepth = 3
        #expect(throws: StateError.self) { try guesses("[[[[1]]]]", limits) }
    }

    @Test(
        "are none of a text that is no JSON", arguments: ["", "{", "[1,]", #"{"a":1,"a":2}"#, "{\"a\":[{\"id\":1}]} x"])
    func noJSON(text: String) {
        #expect {
            try guesses(text)
        } throws: {
            if case StateError.json = $0 { true } else { false }
        }
    }

    @Test("survive documents of any form, and never offer what is refused")
    func random() throws {
        var random = SplitMix64(seed: 26)
        for _ in 0..<Effort.runs(2_000) {
            let json = Self.value(&random, depth: 0)
            for guess in try guesses(json) {
                let state = try Snapshot(json: json, shape: guess.shape)
                #expect((state.rowCount, state.sectionCount) == (guess.rows, guess.sections), "\(json)")
            }
        }
    }

    private static func value(_ random: inout SplitMix64, depth: Int) -> String {
        let names = ["id", "type", "items", "data", "a/b", "~", "", "EUR", "2026-01", "children", "\\u0041", "é"]
        let count = Int.random(in: 0...4, using: &random)
        switch Int.random(in: 0...(depth < 5 ? 8 : 4), using: &random) {
        case 0: return "\(Int.random(in: -2...3, using: &random))"
        case 1: return #""\#(["x", "y", "", "\\n", "\\u00e9"].randomElement(using: &random)!)""#
        case 2: return ["null", "true", "1.5", "1e9", "{}", "[]"].randomElement(using: &random)!
        case 3, 4:
            let id = Int.random(in: 0...9, using: &random)
            return #"{"id":\#(id),"type":"t\#(id % 3)","name":"n\#(id % 4)"}"#
        case 5, 6:
            return "[\((0..<count).map { _ in value(&random, depth: depth + 1) }.joined(separator: ","))]"
        default:
            let members = names.shuffled(using: &random).prefix(count).map {
                "\"\($0)\": \(value(&random, depth: depth + 1))"
            }
            return "{\(members.joined(separator: ","))}"
        }
    }
}
