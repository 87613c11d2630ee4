import SnapshotKit
import Testing

@Suite("States that break a rule")
struct StateViolationTests {
    static let table: [ReadingCase] = [
        // The state
        .init("1", "wrong-type "),
        .init("null", "wrong-type "),
        .init("\"a\"", "wrong-type "),
        .init("{}", "missing-sections "),
        .init(#"{"sections":[],"items":[]}"#, "ambiguous-state "),
        .init(#"{"items":[],"sections":[]}"#, "ambiguous-state "),
        .init(#"{"section":[]}"#, "missing-sections ", "unknown-member /section"),
        .init(#"{"sections":[],"title":1}"#, "unknown-member /title"),
        .init(#"{"items":[],"id":"main"}"#, "unknown-member /id"),
        .init(#"{"sections":{}}"#, "not-an-array /sections"),
        .init(#"{"sections":false}"#, "not-an-array /sections"),
        .init(#"{"items":1}"#, "not-an-array /items"),
        // Sections
        .init(#"{"sections":[1]}"#, "wrong-type /sections/0"),
        .init(#"{"sections":["s"]}"#, "wrong-type /sections/0"),
        .init(#"{"sections":[[]]}"#, "wrong-type /sections/0"),
        .init(#"{"sections":[{"items":[]}]}"#, "missing-id /sections/0"),
        .init(#"{"sections":[{}]}"#, "missing-id /sections/0"),
        .init(#"{"sections":[{"id":"s","items":{}}]}"#, "not-an-array /sections/0/items"),
        .init(#"{"sections":[{"id":"s","items":[],"kind":"x"}]}"#, "unknown-member /sections/0/kind"),
        .init(#"{"sections":[{"id":"s","items":[],"title":"x"}]}"#, "unknown-member /sections/0/title"),
        .init(#"{"sections":[{"id":"s","items":[],"expanded":1}]}"#, "wrong-type /sections/0/expanded"),
        .init(#"{"sections":[{"id":"","items":[]}]}"#, "invalid-id /sections/0/id"),
        .init(#"{"sections":[{"id":true,"items":[]}]}"#, "invalid-id /sections/0/id"),
        .init(
            #"{"sections":[{"id":"s","items":[]},{"id":"t","items":[]},{"id":"s","items":[]}]}"#,
            "duplicate-id /sections/0/id", "duplicate-id /sections/2/id"),
        .init(
            #"{"sections":[{"id":1,"items":[]},{"id":"1","items":[]}]}"#,
            "duplicate-id /sections/0/id", "duplicate-id /sections/1/id"),
        // Items
        .init("[{}]", "missing-id /0"),
        .init(#"[{"content":1}]"#, "missing-id /0"),
        .init("[[]]", "invalid-id /0"),
        .init("[null]", "invalid-id /0"),
        .init("[true]", "invalid-id /0"),
        .init("[1.5]", "invalid-id /0"),
        .init("[1.0]", "invalid-id /0"),
        .init("[1e2]", "invalid-id /0"),
        .init(#"[""]"#, "invalid-id /0"),
        .init(#"{"items":["a",""]}"#, "invalid-id /items/1"),
        .init(#"[{"id":null}]"#, "invalid-id /0/id"),
        .init(#"[{"id":{}}]"#, "invalid-id /0/id"),
        .init(#"[{"id":["a"]}]"#, "invalid-id /0/id"),
        .init(#"[{"id":2.5}]"#, "invalid-id /0/id"),
        .init(#"[{"id":""}]"#, "invalid-id /0/id"),
        .init(#"["a\u0001"]"#, "invalid-id /0"),
        .init(#"["a\u0000b"]"#, "invalid-id /0"),
        .init(#"["\n"]"#, "invalid-id /0"),
        .init("[\"a\u{7F}\"]", "invalid-id /0"),
        .init(#"["\u007f"]"#, "invalid-id /0"),
        .init("[\"abcdefghijk\u{7F}\"]", "invalid-id /0"),
        .init("[\"a\u{85}\"]", "invalid-id /0"),
        .init(#"["\u009f"]"#, "invalid-id /0"),
        .init(#"[{"id":"a","title":"x"}]"#, "unknown-member /0/title"),
        .init(#"[{"id":"a","title":"x","name":{"id":1}}]"#, "unknown-member /0/name", "unknown-member /0/title"),
        .init(#"[{"id":"a","a/b~c":1}]"#, "unknown-member /0/a~1b~0c"),
        .init(#"[{"id":"a","":1}]"#, "unknown-member /0/"),
        .init(#"[{"id":"a","ID":1}]"#, "unknown-member /0/ID"),
        .init(#"[{"id":"a","kind":1}]"#, "wrong-type /0/kind"),
        .init(#"[{"id":"a","kind":null}]"#, "wrong-type /0/kind"),
        .init(#"[{"id":"a","expanded":"false"}]"#, "wrong-type /0/expanded"),
        .init(#"[{"id":"a","expanded":null}]"#, "wrong-type /0/expanded"),
        .init(#"[{"id":"a","expanded":0}]"#, "wrong-type /0/expanded"),
        .init(#"[{"id":"a","items":{}}]"#, "not-an-array /0/items"),
        .init(#"[{"id":"a","items":0}]"#, "not-an-array /0/items"),
        .init(
            #"[{"id":"a","items":["b",{"id":"c","items":[{"x":1,"#
                + #""id":"d"}]}]}]"#, "unknown-member /0/items/1/items/0/x"),
        .init(
            #"{"sections":[{"id":"s","items":["a"]},{"id":"t","items":[{"id":"b","items":[{"id":"c"},{}]}]}]}"#,
            "missing-id /sections/1/items/0/items/1"),
        // Several at once
        .init(
            #"[{"title":1},"",{"id":"a","kind":1}]"#, "invalid-id /1", "missing-id /0", "unknown-member /0/title",
            "wrong-type /2/kind"),
    ]

    @Test("every violation has its code and its place", arguments: table)
    func violations(row: ReadingCase) {
        let reading = Reading { () throws(StateError) in try Snapshot(json: row.json) }
        #expect(reading == .violations(row.violations.sorted()))
    }

    /// Repeated items; if they are objects, the pointer may go on to the id itself.
    static let duplicates: [ReadingCase] = [
        .init(#"["a","a"]"#, "/0", "/1"),
        .init(#"["a","b","a","c","b","a"]"#, "/0", "/1", "/2", "/4", "/5"),
        .init(#"{"items":["a","a"]}"#, "/items/0", "/items/1"),
        .init(#"[{"id":"a"},{"id":"a"}]"#, "/0", "/1"),
        .init(#"[1,"1"]"#, "/0", "/1"),
        .init(#"["a","\u0061"]"#, "/0", "/1"),
        .init(#"["\u0061","\u0061"]"#, "/0", "/1"),
        .init(#"["/","\/"]"#, "/0", "/1"),
        .init(#"["é","\u00e9"]"#, "/0", "/1"),
        .init(#"[-0,"-0"]"#, "/0", "/1"),
        .init(#"[{"id":"a","items":["b"]},"b"]"#, "/0/items/0", "/1"),
        .init(#"[{"id":"a","items":["a"]}]"#, "/0", "/0/items/0"),
        .init(#"[{"id":"x","expanded":false,"items":["b","b"]}]"#, "/0/items/0", "/0/items/1"),
        .init(
            #"{"sections":[{"id":"s","items":["q","a"]},{"id":"t","items":["a"]}]}"#, "/sections/0/items/1",
            "/sections/1/items/0"),
        .init(
            #"{"sections":[{"id":"s","expanded":false,"items":["a"]},{"id":"t","items":[{"id":"b","items":["a"]}]}]}"#,
            "/sections/0/items/0", "/sections/1/items/0/items/0"),
    ]

    @Test("every place of a duplicate is named, once", arguments: duplicates)
    func duplicateItems(row: ReadingCase) {
        guard case .violations(let found) = Reading({ () throws(StateError) in try Snapshot(json: row.json) }) else {
            Issue.record("accepted")
            return
        }
        let places = found.map { $0.hasSuffix("/id") ? String($0.dropLast(3)) : $0 }
        #expect(places.sorted() == row.violations.map { "duplicate-id \($0)" }.sorted())
    }

    @Test("each of many duplicates is named")
    func manyDuplicates() {
        let ids = (0..<400).map { "\"id\($0 % 100)\"" }
        let reading = Reading { () throws(StateError) in try Snapshot(json: "[\(ids.joined(separator: ","))]") }
        #expect(reading == .violations((0..<400).map { "duplicate-id /\($0)" }.sorted()))
    }

    @Test("the detail of an unknown member says how to post the document as it is")
    func unknownMemberDetail() throws {
        for json in [#"[{"id":"a","title":"x"}]"#, #"{"sections":[{"id":"s","items":[],"title":"x"}]}"#] {
            let error = #expect(throws: StateError.self) { try Snapshot(json: json) }
            guard case .invalid(let violations) = error, violations.count == 1 else {
                Issue.record("not one violation")
                continue
            }
            #expect(violations[0].detail.contains("?idAt=/id"))
            #expect(violations[0].detail.contains("title"))
        }
    }

    @Test("what is no JSON is called so, whatever else is wrong before it")
    func jsonComesFirst() {
        for json in [#"[{"title":1},"",{"id":}]"#, #"{"items":1,"sections":2"#, #"["a","a"] x"#] {
            guard case .notJSON = Reading({ () throws(StateError) in try Snapshot(json: json) }) else {
                Issue.record("\(json) is taken for JSON")
                continue
            }
        }
    }

    @Test("no more violations are reported than asked for")
    func atMost() {
        var limits = StateLimits()
        limits.maxViolations = 7
        let json = "[\(Array(repeating: "{}", count: 50).joined(separator: ","))]"
        let reading = Reading { () throws(StateError) in try Snapshot(json: Array(json.utf8), limits: limits) }
        #expect(reading == .violations((0..<7).map { "missing-id /\($0)" }))
    }

    private func violations(_ json: String, _ shape: StateShape = .native) -> [Violation] {
        do throws(StateError) {
            _ = try Snapshot(json: Array(json.utf8), shape: shape)
            return []
        } catch {
            guard case .invalid(let violations) = error else { return [] }
            return violations
        }
    }

    /// Each bad element has the whole pointer in its text.
    @Test("a long pointer costs what is told of it, not what is wrong")
    func longPointers() throws {
        let json = "[\(Array(repeating: "1", count: 20_000).joined(separator: ","))]"
        let costs = try [1, 4_000].map { length in
            let pointer = try #require(JSONPointer(String(repeating: "/a", count: length)))
            return ProcessorTime.nanoseconds {
                let told = violations(json, .pointers(idAt: pointer))
                let text = told.reduce(0) { $0 + $1.pointer.utf8.count + $1.detail.utf8.count }
                #expect(told.count > 20 && text < 300_000)
            }
        }
        #expect(costs[1] < costs[0] * 6, "\(costs)")
    }

    @Test("an element beyond the limit costs no text")
    func longPointersBeyondTheLimit() throws {
        let list = Array(repeating: "1", count: 20_000).joined(separator: ",")
        var limits = StateLimits()
        limits.maxItems = 10
        let costs = try ["a", String(repeating: "a", count: 8_000)].map { name in
            let pointer: JSONPointer = try #require(JSONPointer("/" + name))
            let shape = StateShape.pointers(itemsAt: pointer, idAt: .root)
            let text = Array(#"{"\#(name)":[\#(list)]}"#.utf8)
            return ProcessorTime.nanoseconds {
                #expect(throws: StateError.self) { try Snapshot(json: text, shape: shape, limits: limits) }
            }
        }
        #expect(costs[1] < costs[0] * 4, "\(costs)")
    }

    @Test("where a duplicate stands among its siblings makes no difference to its cost")
    func manySiblings() {
        let ids = Array(0..<40_000)
        let costs = [ids[..<1_000], ids[39_000...]].map { again in
            let json = "[\((ids + again).map(String.init).joined(separator: ","))]"
            return ProcessorTime.nanoseconds {
                let told = violations(json)
                #expect(told.count == 1_000)
                #expect(told.first?.pointer == "/\(again.startIndex)" && told.last?.pointer == "/\(40_499)")
            }
        }
        #expect(costs[1] < costs[0] * 3, "\(costs)")
    }

    @Test("nor in a batch of edits")
    func manyInsertedSiblings() throws {
        let ids = Array(0..<40_000)
        let costs = try [ids[..<1_000], ids[39_000...]].map { again in
            let items = (ids + again).map { #"{"id":\#($0)}"# }.joined(separator: ",")
            let batch = try EditBatch(json: #"[{"op":"insert","items":[\#(items)]}]"#)
            return ProcessorTime.nanoseconds {
                #expect(throws: EditError.self) { try Snapshot(json: "[]").applying(batch, limits: .none) }
            }
        }
        #expect(costs[1] < costs[0] * 3, "\(costs)")
    }

    @Test("the first error has the id of its element, wherever ids stand")
    func idOfElement() throws {
        for name in ["id", "key"] {
            let shape = try StateShape(text: #"{"idAt":"/\#(name)","kindAt":"/k"}"#)
            do throws(StateError) {
                _ = try Snapshot(json: Array(#"[{"\#(name)":"x","k":[]}]"#.utf8), shape: shape)
            } catch {
                guard case .invalid(let told) = error else { throw error }
                #expect(told.map(\.elementID) == ["x"])
            }
        }
    }

    @Test("an envelope with many unknown members tells of some")
    func manyUnknownMembers() throws {
        let json = "{\((0..<5_000).map { #""m\#($0)":0"# }.joined(separator: ","))}"
        do throws(StateError) {
            _ = try Envelope(json: Array(json.utf8), members: .init(states: ["state"]))
        } catch {
            guard case .wrongShape(let told) = error else { throw error }
            #expect(told.count == StateLimits().maxViolations)
        }
    }
}
