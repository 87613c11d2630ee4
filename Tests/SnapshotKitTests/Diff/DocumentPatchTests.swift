import SnapshotKit
import Testing

// `json-patch` is for tools that know nothing of lists: paths, escapes and places must be right by RFC 6901 and 6902
// alone.

@Suite("JSON Patch")
struct DocumentPatchTests {
    private func patch(_ old: String, _ new: String) throws -> Tree {
        let changeset = Changeset(from: try Snapshot(json: old), to: try Snapshot(json: new))
        return try TreeParser.tree(changeset.json(.jsonPatch))
    }

    private func content(_ content: String) -> String { #"[{"id":"a","content":\#(content)}]"# }

    @Test("a member of a long content is patched where it stands")
    func smallestPlace() throws {
        let members = (0..<30).map { #""member \#($0)":"some text""# }.joined(separator: ",")
        let path = "/sections/0/items/0/content"
        let patches: [(old: String, new: String, patch: String)] = [
            (#","x":1"#, #","x":2"#, #"[{"op":"replace","path":"\#(path)/x","value":2}]"#),
            (#","x":1"#, "", #"[{"op":"remove","path":"\#(path)/x"}]"#),
            ("", #","x":null"#, #"[{"op":"add","path":"\#(path)/x","value":null}]"#),
            (#","a/b~c":1"#, #","a/b~c":2"#, #"[{"op":"replace","path":"\#(path)/a~1b~0c","value":2}]"#),
            (#","\"\\":1"#, #","\u0022\u005c":2"#, #"[{"op":"replace","path":"\#(path)/\"\\","value":2}]"#),
            (#","-":1"#, #","-":2"#, #"[{"op":"replace","path":"\#(path)/-","value":2}]"#),
            (#","\u0001":1"#, #","\u0001":2"#, #"[{"op":"replace","path":"\#(path)/\u0001","value":2}]"#),
            (#","\ud83d\ude00":1"#, #","😀":2"#, #"[{"op":"replace","path":"\#(path)/😀","value":2}]"#),
            (#","0":1"#, #","0":2"#, #"[{"op":"replace","path":"\#(path)/0","value":2}]"#),
            (#","":1"#, #","":2"#, #"[{"op":"replace","path":"\#(path)/","value":2}]"#),
            (
                #","é":{"in":{"x":1,"y":"t"}}"#, #","é":{"in":{"x":1.0,"y":"t"}}"#,
                #"[{"op":"replace","path":"\#(path)/é/in/x","value":1.0}]"#
            ),
        ]
        for (old, new, expected) in patches {
            #expect(try patch(content("{\(members)\(old)}"), content("{\(members)\(new)}")) == .json(expected))
        }
    }

    @Test("a content is patched inside only where that takes no more bytes than replacing it")
    func noLarger() throws {
        var operations: Set<Int> = []
        for length in 0..<160 {
            let model = { (a: Int, b: Int) in
                let pad = String(repeating: "x", count: length)
                let content = Tree.json(#"{"a":\#(a),"b":\#(b),"pad":"\#(pad)"}"#)
                return try State(Model(sections: [.init(id: "main", items: [.init(id: "a", content: content)])]))
            }
            let (old, new) = (try model(1, 1), try model(2, 2))
            let failures = PairCheck.failures(from: old, to: new, dialects: [.jsonPatch])
            #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
            let patch = Changeset(from: old.snapshot, to: new.snapshot).json(.jsonPatch)
            operations.insert(try TreeParser.tree(patch).elements().count)
        }
        #expect(operations == [1, 2])
    }

    @Test("a content comes, goes and is replaced as a whole")
    func wholeContents() throws {
        let path = "/sections/0/items/0/content"
        #expect(try patch(#"["a"]"#, content("1")) == .json(#"[{"op":"add","path":"\#(path)","value":1}]"#))
        #expect(try patch(#"["a"]"#, content("null")) == .json(#"[{"op":"add","path":"\#(path)","value":null}]"#))
        #expect(try patch(content("1"), #"["a"]"#) == .json(#"[{"op":"remove","path":"\#(path)"}]"#))
        #expect(try patch(content("1"), content("[]")) == .json(#"[{"op":"replace","path":"\#(path)","value":[]}]"#))
        #expect(try patch(content("{}"), content("1")) == .json(#"[{"op":"replace","path":"\#(path)","value":1}]"#))
    }

    @Test("kind, expanded and a section's members are patched by themselves")
    func members() throws {
        let path = "/sections/0/items/0"
        #expect(
            try patch(#"["a"]"#, #"[{"id":"a","kind":"k"}]"#)
                == .json(#"[{"op":"add","path":"\#(path)/kind","value":"k"}]"#))
        #expect(
            try patch(#"["a"]"#, #"[{"id":"a","expanded":false}]"#)
                == .json(#"[{"op":"add","path":"\#(path)/expanded","value":false}]"#))
        #expect(
            try patch(#"[{"id":"a","expanded":false}]"#, #"["a"]"#)
                == .json(#"[{"op":"remove","path":"\#(path)/expanded"}]"#))
        #expect(
            try patch(
                #"{"sections":[{"id":"s","items":[]}]}"#, #"{"sections":[{"id":"s","expanded":false,"items":[]}]}"#)
                == .json(#"[{"op":"add","path":"/sections/0/expanded","value":false}]"#))
    }

    @Test("a row goes into its next sibling without a path that RFC 6902 forbids")
    func intoTheNextSibling() throws {
        let pairs = [
            (#"["a","b"]"#, #"[{"id":"b","items":["a"]}]"#),
            (#"["a",{"id":"b","items":["c"]}]"#, #"[{"id":"b","items":["c","a"]}]"#),
            (#"["x",{"id":"a","items":["y"]},"b"]"#, #"["x",{"id":"b","items":[{"id":"a","items":["y"]}]}]"#),
        ]
        for (old, new) in pairs {
            let document = try TreeParser.tree(try Snapshot(json: old).documentJSON())
            let target = try TreeParser.tree(try Snapshot(json: new).documentJSON())
            let patch = try patch(old, new)
            #expect(throws: Never.self) {
                let applied = try PatchApplier.apply(patch, to: document)
                #expect(applied.document == target)
                #expect(applied.operations.items.moved == ["a"])
            }
        }
    }

    @Test("hidden items are part of the document")
    func hiddenItems() throws {
        let state = { (inner: String) in #"{"sections":[{"id":"s","expanded":false,"items":[\#(inner)]}]}"# }
        let (old, new) = (state(#""a","b""#), state(#""b",{"id":"a","content":1}"#))
        let changeset = Changeset(from: try Snapshot(json: old), to: try Snapshot(json: new))
        #expect(changeset.counts.total == 0)
        let operations = try TreeParser.tree(changeset.json(.jsonPatch)).elements()
        #expect(operations.count == 2)
    }
}
