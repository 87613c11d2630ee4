import Testing

@testable import SnapshotKit

@Suite("Reading upon a known state")
struct IncrementalParseTests {
    static let members = Envelope.Members(
        states: ["state"], values: ["ttl"], exactlyOne: ["state"], allowsBareState: true)

    private func read(_ json: [UInt8], upon known: Snapshot?) -> Result<Snapshot, StateError> {
        Result { () throws(StateError) in try Envelope(json: json, members: Self.members, known: known).states["state"]!
        }
    }

    /// Whether both readings give the same records, or the same error.
    private func comesToTheSame(_ json: [UInt8], upon known: Snapshot) -> Bool {
        switch (read(json, upon: known), read(json, upon: nil)) {
        case (.success(let one), .success(let other)): one.columns.hasSameRecords(as: other.columns)
        case (.failure(let one), .failure(let other)): one == other
        default: false
        }
    }

    /// Whether the changeset and the fingerprints that use what was taken over equal those that do not.
    private func changesAreTheSame(_ json: [UInt8], upon known: Snapshot) throws -> Bool {
        let envelope = try Envelope(json: json, members: Self.members, known: known)
        let state = envelope.states["state"]!
        let hash = KeyedHash(key: [1, 2, 3])
        let plain = Changeset(from: known, to: state)
        let change = Changeset(from: known, to: state, shared: envelope.shared)
        let before = Fingerprints(of: known, by: hash)
        let carried = Fingerprints(of: state, from: before, reusing: change.shared)
        let fresh = Fingerprints(of: state, by: hash)
        let back = SnapshotDelta(backOver: change)
        return change.items.oldOfNew == plain.items.oldOfNew && change.items.newOfOld == plain.items.newOfOld
            && change.rowChanges == plain.rowChanges && change.sectionChanges == plain.sectionChanges
            && change.counts == plain.counts
            && carried.items == fresh.items && carried.sections == fresh.sections
            && carried.digest(salt: "") == fresh.digest(salt: "")
            && state.applying([back])?.snapshot.documentJSON() == known.documentJSON()
    }

    private static let spellings: [@Sendable (Model) -> String] = [
        \.jsonWithIDsFirst,
        { $0.jsonWithIDsFirst.replacing(#"{"id":"#, with: "{ \t\"id\" :\n ").replacing("},{", with: "} ,\r\n{") },
        \.json,
        { #"{"state":\#($0.jsonWithIDsFirst),"ttl":60}"# },
    ]

    @Test("is the same as reading", arguments: [RandomStateTests.flat, RandomStateTests.outline], spellings.indices)
    func anyTwoStates(_ shape: StateGenerator.Shape, _ spelling: Int) throws {
        for seed in Effort.seeds(450) {
            var generator = StateGenerator(seed: seed, shape: shape)
            var random = SplitMix64(seed: seed ^ 77)
            var model = generator.state()
            let first = Array(Self.spellings[spelling](model).utf8)
            var known = try read(first, upon: nil).get()
            for _ in 0..<4 {
                model = generator.next(after: model)
                var text = Array(Self.spellings[spelling](model).utf8)
                try #require(
                    comesToTheSame(text, upon: known), "seed \(seed): \(String(decoding: text, as: UTF8.self))")
                if seed % 3 == 0 { #expect(try changesAreTheSame(text, upon: known), "seed \(seed)") }
                for _ in 0..<4 {
                    text[random.below(text.count)] = Array(#"{}[],:"\ 0a1é-"#.utf8)[random.below(15)]
                    try #require(
                        comesToTheSame(text, upon: known), "seed \(seed): \(String(decoding: text, as: UTF8.self))")
                }
                known = try read(Array(Self.spellings[spelling](model).utf8), upon: known).get()
            }
        }
    }

    @Test("is the same as reading where pointers say where ids stand")
    func anyTwoDocuments() throws {
        let shapes: [StateShape] = [
            .pointers(itemsAt: JSONPointer("/data"), idAt: JSONPointer("/k")),
            .pointers(itemsAt: JSONPointer("/data"), idAt: JSONPointer("/o/k")),
        ]
        var (taken, seeds) = (0, 0)
        for seed in 0..<24 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let nested = seed % 2 == 1
            let shape = shapes[nested ? 1 : 0]
            var rows = (0..<12).map { (id: $0, n: 0, isEscaped: false) }
            let document = { (rows: [(id: Int, n: Int, isEscaped: Bool)]) -> [UInt8] in
                let elements = rows.map { row in
                    let id = row.isEscaped ? #""\u0069\#(row.id)""# : row.id % 3 == 0 ? "\(row.id)" : #""i\#(row.id)""#
                    let key = nested ? #""o":{"x":[1],"k":\#(id)}"# : #""k":\#(id)"#
                    return row.id % 2 == 0 ? #"{"t":"\#(row.n)",\#(key)}"# : #"{\#(key), "t":[\#(row.n)]}"#
                }
                return Array(#"{"n":\#(rows.count),"data":[\#(elements.joined(separator: ", "))]}"#.utf8)
            }
            var known = try Snapshot(json: document(rows), shape: shape)
            for _ in 0..<6 {
                switch random.below(4) {
                case 0: rows[random.below(rows.count)].n += 1
                case 1: rows.insert(rows.remove(at: random.below(rows.count)), at: random.below(rows.count))
                case 2: rows[random.below(rows.count)].isEscaped.toggle()
                default:
                    rows.insert(
                        (id: 100 + Int(seed) + rows.count * 7, n: 0, isEscaped: false), at: random.below(rows.count))
                }
                var text = document(rows)
                let plain = try Snapshot(json: text, shape: shape)
                let reading = try Snapshot.reading(json: text, shape: shape, upon: known)
                let (state, shared) = (reading.snapshot, reading.shared)
                #expect(state.columns.hasSameRecords(as: plain.columns), "seed \(seed)")
                taken += shared?.runs.reduce(0) { $0 + $1.count } ?? 0
                seeds += rows.count
                let change = Changeset(from: known, to: state, shared: shared)
                let expected = String(decoding: Changeset(from: known, to: plain).json(.keyed), as: UTF8.self)
                #expect(
                    String(decoding: change.json(.keyed), as: UTF8.self) == expected,
                    "\(String(decoding: known.documentJSON() + state.documentJSON(), as: UTF8.self))"
                )
                // Another pointer reads other ids from the same elements.
                let other = StateShape.pointers(itemsAt: JSONPointer("/data"), idAt: JSONPointer("/t"))
                #expect((try? Snapshot.reading(json: text, shape: other, upon: known))?.shared == nil)
                for _ in 0..<4 {
                    text[random.below(text.count)] = Array(#"{}[],:"\ 0a1é-"#.utf8)[random.below(15)]
                    let upon = try? Snapshot.reading(json: text, shape: shape, upon: known).snapshot
                    let alone = try? Snapshot(json: text, shape: shape)
                    #expect(upon?.documentJSON() == alone?.documentJSON(), "seed \(seed)")
                }
                known = state
            }
        }
        #expect(taken > seeds / 2)
    }

    @Test(
        "text that is the same in another place of the grammar is not taken over",
        arguments: [
            (#"["a","b","c"]"#, #"["x","a","b","c"]"#), (#"["a","b","c"]"#, #"["b","c"]"#), (#"[1,2,3]"#, #"[1,22,3]"#),
            (#"["a","b","c"]"#, #"["a","b","a","b","c"]"#), (#"["a","b"]"#, #"["a","b""#),
            (#"["a","b"]"#, #"["a","b"}"#),
            (
                #"[{"id":"a","content":["{\"id\":\"b\"}"]},{"id":"b"}]"#,
                #"[{"id":"b"},{"id":"a","content":["{\"id\":\"b\"}"]}]"#
            ),
            (
                #"{"sections":[{"id":"s","items":["a","b"]},{"id":"t","items":["c"]}]}"#,
                #"{"sections":[{"id":"s","items":["a","b","c"]}]}"#
            ),
            (#"{"sections":[{"id":"s","items":["a"]},{"id":"t","items":["c"]}]}"#, #"["a",{"id":"t","items":["c"]}]"#),
            (#"["a",{"id":"b","items":["c","d"]},"e"]"#, #"["a",{"id":"b","items":["c","d"]},"c"]"#),
            (#"["\u0061","b"]"#, #"["\u0061","b","a"]"#), ("[]", "[\"a\"]"), (#"["a"]"#, "[]"),
            (#"[1,2]"#, #"[1,22]"#), (#"["a","b"]"#, #"["a","b""c"]"#), (#"["a",{"id":1}]"#, #"["a",{"id":12}]"#),
            (#"["a",{"id":1}]"#, #"["a",{"id":1}"b"]"#), (#"["a",{"id":1}]"#, #"["a",{"id":1},"a"]"#),
            (#"[{"id":"a","content":1}]"#, #"[{"id":"a","content":1,"kind":"k"}]"#),
            (#"[{"id":"a","content":1}]"#, #"[{"id":"a","content":12}]"#),
            (#"[{"id":"a","items":["b"]}]"#, #"[{"id":"a","items":["b","c"]}]"#),
            (#"[{"id":"a","items":["b"],"content":1}]"#, #"[{"id":"a","items":["b"],"content":1,"items":[]}]"#),
        ])
    func otherPlaces(_ known: String, _ text: String) throws {
        #expect(comesToTheSame(Array(text.utf8), upon: try Snapshot(json: known)))
    }

    @Test(
        "the last item of a list is taken over, whatever follows it",
        arguments: [
            #""b""#, #"{"id":"b"}"#, #"{"id":2}"#, #"{ "id" : "b" , "kind" : "k" }"#,
            #"{"id":"b","content":[1,"]"],"expanded":false,"items":["c",{"id":"d"}]}"#,
        ])
    func lastItems(_ item: String) throws {
        let known = try Snapshot(json: #"["a",\#(item)]"#)
        for rest in ["", #","z""#, #" , {"id":"y"},"z""#] {
            let text = Array(#"["a",\#(item)\#(rest)]"#.utf8)
            let runs = try Envelope(json: text, members: Self.members, known: known).shared?.runs
            #expect(runs == [SharedRuns.Run(old: 0, new: 0, count: known.itemCount)])
            #expect(comesToTheSame(text, upon: known))
            #expect(try changesAreTheSame(text, upon: known))
        }
    }

    @Test(
        "states that differ only in what is shown share an outline",
        arguments: [
            (#"{"id":"c","content":2}"#, true), (#"{"id":"c","content":[1,2]}"#, true),
            (#"{"id":"d","content":1}"#, false),
            (#""c""#, false), (#"{"id":"c","content":1,"kind":"k"}"#, false),
            (#"{"id":"c","content":1,"expanded":false}"#, false),
            (#"{"id":"c","content":1,"items":["e"]}"#, false), (#"{"id":"\u0063","content":2}"#, false),
        ])
    func outlines(_ last: String, _ isShared: Bool) throws {
        let text = { (last: String) in #"["a",{"id":"b","items":["x","y"],"expanded":false},\#(last),"z"]"# }
        let known = try Snapshot(json: text(#"{"id":"c","content":1}"#))
        let shared = try #require(
            Envelope(json: Array(text(last).utf8), members: Self.members, known: known).shared)
        #expect(shared.hasSameStructure == isShared)
        #expect(try changesAreTheSame(Array(text(last).utf8), upon: known))
    }

    @Test("what only shows differently is carried over") func contents() throws {
        var random = SplitMix64(seed: 5)
        // The content of each item and each section; one in four changes, and gets another length.
        var shown = (0..<60).map { _ in random.below(1000) }
        let text = { (shown: [Int]) in
            let items = shown.dropFirst(3).enumerated().map { #"{"id":\#($0),"content":\#($1),"kind":"\#($1 % 3)"}"# }
            let sections = (0..<3).map { section in
                #"{"id":\#(section),"content":\#(shown[section]),"#
                    + #""items":[\#(items[section * 19..<section * 19 + 19].joined(separator: ","))]}"#
            }
            return Array(#"{"sections":[\#(sections.joined(separator: ","))]}"#.utf8)
        }
        var known = try read(text(shown), upon: nil).get()
        for _ in 0..<30 {
            for place in shown.indices where random.below(4) == 0 { shown[place] = random.below(100_000) }
            let reading = try Snapshot.reading(json: text(shown), shape: .native, upon: known)
            #expect(reading.shared?.hasSameStructure == true)
            #expect(try changesAreTheSame(text(shown), upon: known))
            known = reading.snapshot
        }
    }

    @Test(
        "rows that moved are taken over, and rows around a gap",
        arguments: [
            ("adbce", [[0, 0, 1], [3, 1, 1], [1, 2, 2], [4, 4, 1]]), ("bcade", [[1, 0, 2], [0, 2, 1], [3, 3, 2]]),
            ("acde", [[0, 0, 1], [2, 1, 3]]), ("abxcde", [[0, 0, 2], [2, 3, 3]]), ("ebcda", [[4, 0, 1], [1, 1, 3]]),
        ])
    func moves(_ order: String, _ expected: [[Int]]) throws {
        for write in [
            { #"{"id":"\#($0)","content":{"n":1}}"# }, { #""\#($0)""# }, { #"{ "id" : 1\#($0.asciiValue!) }"# },
        ] as [(Character) -> String] {
            let text = { (order: String) in Array("[\(order.map(write).joined(separator: ","))]".utf8) }
            let known = try read(text("abcde"), upon: nil).get()
            let shared = try #require(Snapshot.reading(json: text(order), shape: .native, upon: known).shared)
            #expect(shared.runs.map { [$0.old, $0.new, $0.count] } == expected)
            #expect(try changesAreTheSame(text(order), upon: known))
        }
    }

    @Test("what was taken over says nothing of two other states")
    func otherStates() throws {
        let known = try Snapshot(json: #"["a","b","c"]"#)
        let envelope = try Envelope(json: Array(#"["a","b","d"]"#.utf8), members: Self.members, known: known)
        let shared = try #require(envelope.shared)
        let other = try Snapshot(json: #"["b","a"]"#)
        #expect(Changeset(from: other, to: envelope.states["state"]!, shared: shared).counts.moves == 1)
        #expect(Changeset(from: known, to: other, shared: shared).counts.moves == 1)
    }

    @Test("how far two stretches are the same")
    func commonStretches() {
        let text = (0..<700).map { UInt8($0 * 7 % 251) }
        for count in [0, 1, 7, 8, 9, 255, 256, 257, 512, 640, 699, 700] {
            for at in Set([0, 1, 8, 255, 256, 511, count - 9, count - 1, count]) where (0...count).contains(at) {
                var other = text
                if at < count { other[at] ^= 0x80 }
                let (prefix, suffix) = text.withUnsafeBytes { one in
                    other.withUnsafeBytes { other in
                        (
                            commonPrefix(one.baseAddress!, other.baseAddress!, count),
                            commonSuffix(one.baseAddress! + count, other.baseAddress! + count, count)
                        )
                    }
                }
                #expect(prefix == at)
                #expect(suffix == (at < count ? count - 1 - at : count))
            }
        }
    }

    @Test("a list with less room to nest in is read")
    func room() throws {
        var limits = StateLimits()
        limits.maxDepth = 6
        let deep = #"[{"id":"a","content":[[[[]]]]},"b"]"#
        let known = try Snapshot(json: deep, limits: limits)
        let text = Array(#"{"state":\#(deep)}"#.utf8)
        #expect(throws: StateError.self) {
            try Envelope(json: text, members: Self.members, limits: limits, known: known)
        }
        limits.maxDepth = 7
        #expect(throws: Never.self) { try Envelope(json: text, members: Self.members, limits: limits, known: known) }
    }

    @Test("as many items as there may be, and one more")
    func limits() throws {
        var limits = StateLimits()
        limits.maxItems = 3
        let known = try Snapshot(json: #"["a",{"id":"b","items":["c"]},"d"]"#)
        for (text, fits) in [
            (#"["a",{"id":"b","items":["c"]}]"#, true), (#"["a",{"id":"b","items":["c"]},"d"]"#, false),
        ] {
            let result = Result {
                try Envelope(json: Array(text.utf8), members: Self.members, limits: limits, known: known)
            }
            let isRead = (try? result.get()) != nil
            #expect(isRead == fits)
        }
    }

    @Test("a document that is not in the library's own shape is no known state")
    func otherShapes() throws {
        let shape = StateShape.pointers()
        let text = #"[{"id":"a","name":1},{"id":"b","name":2},"c"]"#
        let known = try Snapshot(json: #"[{"id":"a","name":1},{"id":"b","name":2}]"#, shape: shape)
        #expect(comesToTheSame(Array(text.utf8), upon: known))
    }
}

extension Model {
    /// As most programs write it; the model's own text has members in the order of their names.
    fileprivate var jsonWithIDsFirst: String {
        let sections = sections.map { section in
            let content = section.content.map { ",\"content\":\($0.json)" } ?? ""
            return
                "{\"id\":\(Tree.quoted(section.id))\(content),\"expanded\":\(section.expanded),"
                + "\"items\":\(Self.text(section.items))}"
        }
        return "{\"sections\":[\(sections.joined(separator: ","))]}"
    }

    private static func text(_ items: [Item]) -> String {
        let items = items.map { item in
            if item.content == nil, item.kind == nil, item.expanded, item.items.isEmpty { return Tree.quoted(item.id) }
            var text = "{\"id\":\(Tree.quoted(item.id))"
            if let kind = item.kind { text += ",\"kind\":\(Tree.quoted(kind))" }
            if let content = item.content { text += ",\"content\":\(content.json)" }
            if !item.expanded { text += ",\"expanded\":false" }
            if !item.items.isEmpty { text += ",\"items\":\(Self.text(item.items))" }
            return text + "}"
        }
        return "[\(items.joined(separator: ","))]"
    }
}

extension Columns {
    /// Whether each item and section is found by its id.
    private var findsAll: Bool {
        withView { view in
            let items = view.nodes.indices.map {
                view.item(withID: view.id(ofItem: $0).text, hash: view.nodes[$0].hash)
            }
            let sections = view.sections.indices.map {
                view.section(withID: view.id(ofSection: $0).text, hash: view.sections[$0].hash)
            }
            return items == Array(view.nodes.indices) && sections == Array(view.sections.indices)
        }
    }

    /// Whether everything is the same, down to the last offset.
    func hasSameRecords(as other: Columns) -> Bool {
        func same<Element>(_ one: [Element], _ other: [Element]) -> Bool {
            one.withUnsafeBytes { one in other.withUnsafeBytes { one.elementsEqual($0) } }
        }
        let places = { (columns: Columns) in
            columns.sections.map { [$0.hash, $0.idStart, $0.firstItem, $0.endItem, $0.firstRow, $0.endRow] }
        }
        return findsAll && text.bytes == other.text.bytes && same(nodes, other.nodes) && same(payloads, other.payloads)
            && places(self) == places(other) && rowOfItem == other.rowOfItem && itemOfRow == other.itemOfRow
            && settings == other.settings && isFlat == other.isFlat
    }
}
