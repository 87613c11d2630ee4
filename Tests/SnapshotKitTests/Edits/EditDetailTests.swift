import Testing

@testable import SnapshotKit

@Suite("Edits in detail")
struct EditDetailTests {
    @Test("Marks change nothing, and stay with what is there at the end")
    func marks() throws {
        let state = try Snapshot(json: #"{"sections":[{"id":"s","items":["a","b","c"]}]}"#)
        let edits = """
            [{"op":"reconfigure","items":["a","b","a"]},{"op":"reload","items":["b","c"]},{"op":"reload",
            "sections":["s"]}]
            """
        let marked = try state.applying(try batch(edits))
        #expect(marked.snapshot.documentJSON() == state.documentJSON())
        #expect(
            marked.marks.items == [Array("a".utf8): .reconfigure, Array("b".utf8): .reload, Array("c".utf8): .reload])
        #expect(marked.marks.sections == [Array("s".utf8): .reload])

        let gone = try state.applying(try batch(#"[{"op":"reload","items":["b","c"]},{"op":"delete","items":["c"]}]"#))
        #expect(gone.marks.items == [Array("b".utf8): .reload])
        #expect(Changeset(from: state, to: gone.snapshot, marks: gone.marks).counts.updates == 1)
    }

    @Test("What is not touched is kept as it was written")
    func verbatim() throws {
        let state =
            #"[{"id":"\u00e9/x","content":{"n":1.50e3, "\u0061":[ ]},"kind":"k\n"},{"id":-0,"content":12},"#
            + #"{"id":"p","content":34}]"#
        let edits =
            #"[{"op":"move","items":["é/x"],"after":"p"},{"op":"insert","items":[{"id":"\u0071","content":1e0},7]}]"#
        let edited = try Snapshot(json: state).applying(try batch(edits)).snapshot
        let expected =
            #"{"sections":[{"id":"main","items":[{"id":-0,"content":12},{"id":"p","content":34},"#
            + #"{"id":"\u00e9/x","content":{"n":1.50e3, "\u0061":[ ]},"kind":"k\n"},"#
            + #"{"id":"\u0071","content":1e0},{"id":7}]}]}"#
        #expect(String(decoding: edited.documentJSON(), as: UTF8.self) == expected)
        let again = try Snapshot(json: state).applying(try batch(edits)).snapshot
        #expect(Changeset(from: edited, to: again).isEmpty)
        #expect(Changeset(from: try Snapshot(json: expected), to: edited).isEmpty)
    }

    @Test("The first content of a list without any leaves the others without one")
    func firstContent() throws {
        let ids = (0..<2_000).map(String.init)
        let state = try Snapshot(json: "[\(ids.joined(separator: ","))]")
        let edited = try state.applying(try batch(#"[{"op":"update","items":[{"id":7,"content":"x"}]}]"#)).snapshot
        edited.columns.withView { view in
            #expect(view.nodes.indices.allSatisfy { view.content(ofItem: $0).count == ($0 == 7 ? 3 : 0) })
        }
        let hash = KeyedHash(seed: 1, 2)
        let again = try Snapshot(json: edited.documentJSON())
        #expect(Fingerprints(of: edited, by: hash).areOfSameState(as: Fingerprints(of: again, by: hash)))
    }

    @Test("An id that stands inside its content is not copied twice")
    func idsInContents() throws {
        let shape = StateShape.pointers(idAt: JSONPointer("/user/id"))
        let json = #"[{"user":{"id":"anna"},"n":1},{"user":{"id":17}},{"user":{"id":"\u0062en"}}]"#
        let state = try Snapshot(json: json, shape: shape)
        let edited = try state.applying(try batch(#"[{"op":"move","items":[17],"at":"start"}]"#)).snapshot
        let expected = #"main[17={"user":{"id":17}} anna={"user":{"id":"anna"},"n":1} ben={"user":{"id":"\u0062en"}}]"#
        #expect(edited.outline == expected)
        let compacted = Snapshot(edited.columns.compacted())
        #expect(compacted.outline == expected)
        #expect(compacted.columns.text.count < json.utf8.count + 64)
        let updated = try edited.applying(try batch(#"[{"op":"update","items":[{"id":"anna","content":2}]}]"#)).snapshot
        #expect(updated.outline == expected.replacingOnce(#"{"user":{"id":"anna"},"n":1}"#, "2"))
    }

    @Test("The result holds nothing that is gone")
    func compact() throws {
        let contents = (0..<100).map { #"{"id":\#($0),"content":"\#(String(repeating: "x", count: 1_000))"}"# }
        let state = try Snapshot(json: "[\(contents.joined(separator: ","))]")
        let ids = (1..<100).map(String.init).joined(separator: ",")
        let edited = try state.applying(try batch(#"[{"op":"delete","items":[\#(ids)]}]"#)).snapshot
        #expect(edited.itemCount == 1)
        #expect(edited.columns.text.footprint < 1_200)
    }

    @Test("Whatever an edit leaves of a state in its own JSON, its text is made smaller without a trap")
    func idsInContentsThatGo() throws {
        let rows = (0..<200).map { #"{"id":"\#(String(repeating: "x", count: 60))\#($0)"}"# }
        let state = try Snapshot(json: "[\(rows.joined(separator: ","))]", shape: .pointers(idAt: JSONPointer("/id")))
        for edits in [#"[{"op":"clear"}]"#, #"[{"op":"clear"},{"op":"insert","items":["y"]}]"#] {
            let edited = try state.applying(try batch(edits)).snapshot
            #expect(edited.columns.text.footprint < 1_000)
        }
    }

    @Test("What is below something that is cleared is gone, also where it is cleared itself")
    func nestedClear() throws {
        let state = try Snapshot(
            json: #"[{"id":"a","items":[{"id":"b","items":["c"]},"y"]},{"id":"p","items":["q"]}]"#)
        let clear = #"{"op":"clear","items":["a","b"]}"#
        let insert = #"{"op":"insert","items":["b","y"],"into":{"item":"p"}}"#
        let edited = try state.applying(try batch("[\(clear),\(insert)]")).snapshot
        #expect(edited.outline == "main[a p(q b y)]")
        let move = #"{"op":"move","items":["b"],"into":{"section":"main"}}"#
        #expect(throws: EditError.self) { try state.applying(try batch("[\(clear),\(move)]")) }
    }

    @Test("Sections that are emptied again lose what came in between, and no others are looked at")
    func clearedAgain() throws {
        let sections = (0..<9_000).map { #"{"id":"s\#($0)","items":["i\#($0)"]}"# }
        let state = try Snapshot(json: #"{"sections":[\#(sections.joined(separator: ","))]}"#)
        let clear = #"{"op":"clear"}"#
        let fill = #"{"op":"insert","items":[{"id":"n","items":["m"]}],"into":{"section":"s7"}}"#
        let more = #"{"op":"insert","items":["o"],"into":{"item":"m"}}"#
        let clears = [String](repeating: clear, count: 900)
        let edited = try state.applying(try batch("[\((clears + [fill, more, clear]).joined(separator: ","))]"))
            .snapshot
        #expect(edited.itemCount == 0 && edited.sectionCount == 9_000)
        let filled = try state.applying(try batch("[\(([clear, fill, clear, fill, more]).joined(separator: ","))]"))
            .snapshot
        #expect(filled.itemCount == 3)
        let inserted = #"{"op":"insert","sections":[{"id":"t","items":["a"]}],"at":"start"}"#
        let gone = try state.applying(try batch("[\(clear),\(inserted),\(clear)]")).snapshot
        #expect(gone.itemCount == 0 && gone.sectionCount == 9_001)
    }

    @Test("A section's content that is replaced again and again takes no more room")
    func contentsOfSections() throws {
        var state = try Snapshot(json: #"{"sections":[{"id":"s","content":0,"items":["a"]}]}"#)
        for step in 0..<200 {
            let text = String(repeating: "\(step % 10)", count: 1_000)
            let edits = #"[{"op":"update","sections":[{"id":"s","content":"\#(text)"}]}]"#
            state = try state.applying(EditBatch(json: edits)).snapshot
        }
        #expect(state.columns.text.footprint < 16_000)
        #expect(state.section(withID: "s")?.content?.count == 1_002)
    }

    @Test("Limits hold for what comes out")
    func limits() throws {
        var limits = StateLimits()
        limits.maxItems = 4
        limits.maxSections = 2
        limits.maxNesting = 2
        limits.maxEdits = 3
        let state = #"{"sections":[{"id":"s","items":["a",{"id":"b","items":["c"]}]}]}"#
        let rows = [
            (#"[{"op":"insert","items":["x","y"]}]"#, "5 items of 4 /edits/0"),
            (#"[{"op":"insert","items":["x","y"]},{"op":"delete","items":["b"]}]"#, "s[a x y]"),
            (#"[{"op":"insert","sections":[{"id":"t"},{"id":"u"}]}]"#, "3 sections of 2 /edits/0"),
            (
                #"[{"op":"insert","sections":[{"id":"t"},{"id":"u"},{"id":"v"}]}]"#,
                "3 sections of 2 /edits/0/sections/2"
            ),
            (
                #"[{"op":"reload","items":["a"]},{"op":"move","items":["b"],"into":"a"}]"#,
                "3 levels of items of 2 /edits/1"
            ),
            (#"[{"op":"insert","items":["x"],"into":"c"}]"#, "3 levels of items of 2 /edits/0"),
            (#"[{"op":"move","items":["b"],"into":"a"},{"op":"move","items":["c"],"into":"a"}]"#, "s[a(b c)]"),
            (
                #"[{"op":"insert","items":[{"id":1,"items":[{"id":2,"items":[3]}]}]}]"#,
                "3 levels of items of 2 /edits/0/items/0/items/0/items/0"
            ),
            (#"[{"op":"clear"},{"op":"clear"},{"op":"clear"},{"op":"clear"}]"#, "4 edits of 3 /edits/3"),
        ]
        for (edits, expected) in rows { #expect(try result(of: edits, on: state, limits: limits) == expected) }
    }

    @Test("A batch is read from a document of its own too")
    func document() throws {
        #expect(try EditBatch(json: #" [{"op":"clear"}] "#).count == 1)
        #expect(throws: EditError.json(JSONError(.unexpectedEnd, at: 14))) { try EditBatch(json: #"[{"op":"clear""#) }
        #expect(throws: EditError.json(JSONError(.duplicateMember, at: 15))) {
            try EditBatch(json: #"[{"op":"clear","op":1}]"#)
        }
        #expect(throws: EditError.json(JSONError(.trailingBytes, at: 3))) { try EditBatch(json: "[] 1") }
        #expect(
            throws: EditError.wrongShape([
                Violation(pointer: "", code: "wrong-shape", detail: "edits must be an array")
            ])
        ) {
            try EditBatch(json: "1")
        }
    }

    @Test("A thousand edits of a hundred thousand items take no longer than reading them does a few times")
    func large() throws {
        let items = (0..<100_000).map(String.init).joined(separator: ",")
        let state = try Snapshot(json: "[\(items)]")
        let edits = (0..<1_000).map { index in
            let ids = (0..<50).map { String((index * 7_919 + $0 * 31) % 100_000) }.joined(separator: ",")
            return #"{"op":"delete","items":[\#(ids)]},{"op":"insert","items":["n\#(index)"],"at":"start"}"#
        }
        var limits = StateLimits()
        limits.maxEdits = 2_000
        let json = "[\(edits.joined(separator: ","))]"
        let batch = try EditBatch(json: json, limits: limits)
        let clock = ContinuousClock()
        let reading = clock.measure { _ = try? EditBatch(json: json, limits: limits) }
        let editing = clock.measure { _ = try? state.applying(batch, limits: limits) }
        #expect(editing < reading * 20)
    }
}

extension String {
    fileprivate func replacingOnce(_ old: String, _ new: String) -> String {
        guard let range = firstRange(of: old) else { return self }
        return replacingCharacters(in: range, with: new)
    }

    private func firstRange(of text: String) -> Range<String.Index>? {
        indices.first { self[$0...].hasPrefix(text) }.map { $0..<index($0, offsetBy: text.count) }
    }

    private func replacingCharacters(in range: Range<String.Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}
