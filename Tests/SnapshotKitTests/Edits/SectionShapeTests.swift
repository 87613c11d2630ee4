import Testing

@testable import SnapshotKit

/// Edits of a list whose sections have shapes of their own: each follows its section's.
@Suite("Shapes of sections")
struct SectionShapeTests {
    /// The last one has no ids, and `notes` no shape.
    private static let documents: [(section: String, members: [(StateShape.Member, String)], json: String)] = [
        (
            "trains", [(.idAt, "/no"), (.kindAt, "/type"), (.expandedAt, "/open"), (.childrenAt, "/stops")],
            #"[{"no":1,"type":"ice","open":false,"stops":[{"no":2}]},{"no":3}]"#
        ),
        ("sky", [(.map, "true"), (.kindAt, "/sky")], #"{"am":{"sky":"sun"},"pm":{"sky":"rain"}}"#),
        ("notes", [], #"["n1"]"#),
        ("log", [(.idBy, "match")], #"[{"t":"x"},{"t":"y"}]"#),
    ]

    private let shapes: SectionShapes
    private let head: Snapshot

    init() throws {
        var (shapes, head): (SectionShapes, Snapshot) = ([:], .empty)
        for (section, members, json) in Self.documents {
            let shape = members.isEmpty ? .native : try StateShape(members)
            head = try head.replacing(Self.read(json, section, shape)).snapshot
            guard var mapping = shape.mapping else { continue }
            mapping.element.scopesIDs = section != "log"
            shapes[Array(section.utf8)] = StateShape(mapping)
        }
        (self.shapes, self.head) = (shapes, head)
    }

    private static func read(_ json: String, _ section: String, _ shape: StateShape) throws -> SectionReading {
        var document = StateDocument(Array(json.utf8))
        return try document.section(section, shape, scopesIDs: true, limits: .none)
    }

    private func edited(_ edits: String, shape: StateShape? = nil) throws -> Snapshot {
        try head.applying(batch("[\(edits)]", shape: shape, ofSections: shapes), sequence: 7).snapshot
    }

    /// The resulting outline, or each violation as the server tells them.
    private func outcome(of edits: String, shape: StateShape? = nil) throws -> String {
        do { return try edited(edits, shape: shape).outline } catch let error as EditError {
            guard case .wrongShape = error, let text = JSONSlice.members(of: Array(#"{"edits":[\#(edits)]}"#.utf8))
            else { return error.summary }
            return EditError.refused(
                try EditBatch.violations(
                    in: text["edits"]!, on: head, shape: shape, ofSections: shapes, sequence: 7, limits: .none,
                    permitted: nil)
            ).summary
        }
    }

    private static func update(_ id: String, _ said: String) -> String {
        #"{"op":"update","items":[{"id":"\#(id)",\#(said)}]}"#
    }

    private static func insert(_ elements: String, _ place: String = "") -> String {
        #"{"op":"insert","elements":\#(elements)\#(place.isEmpty ? "" : ",\(place)")}"#
    }

    private static func move(_ id: String, _ section: String) -> String {
        #"{"op":"move","items":["\#(id)"],"into":{"section":"\#(section)"}}"#
    }

    // MARK: Followed

    /// What it is about, the edits, and a part of the outline.
    private static let followed: [(what: String, edits: String, shown: String)] = [
        ("a kind", update("trains/3", #""patch":{"type":"re"}"#), #"trains/3:re={"no":3,"type":"re"}]"#),
        (
            "that of another section", update("sky/am", #""patch":{"sky":"fog","type":"ice"}"#),
            #"sky[sky/am:fog={"sky":"fog","type":"ice"} "#
        ),
        ("a child's", update("trains/2", #""patch":{"type":"re"}"#), #"(trains/2:re={"no":2,"type":"re"})"#),
        (
            "what an edit says is written", #"{"op":"expand","items":["trains/1"]}"#,
            #"trains/1:ice={"no":1,"type":"ice","open":true}(trains/2"#
        ),
        (
            "what a content says folds", update("trains/3", #""patch":{"open":false}"#),
            #"trains/3={"no":3,"open":false}-]"#
        ),
        (
            "nothing without a shape", update("notes/n1", #""content":{"no":7,"type":"a"}"#),
            #"[notes/n1={"no":7,"type":"a"}]"#
        ),
        (
            "new items", #"{"op":"insert","items":[{"id":"sky/eve","content":{"sky":"moon"}}],"before":"sky/am"}"#,
            #"sky[sky/eve:moon={"sky":"moon"} sky/am"#
        ),
        (
            "a new section of a known name",
            #"{"op":"delete","sections":["trains"]},{"op":"insert","sections":[{"id":"trains","items":["#
                + #"{"id":"trains/9","content":{"no":9,"type":"u"}}]}]}"#,
            #"] trains[trains/9:u={"no":9,"type":"u"}]"#
        ),
        (
            "no new section of another name",
            #"{"op":"insert","sections":[{"id":"new","items":[{"id":"q","content":{"type":"x","sky":"y"}}]}]}"#,
            #"new[q={"type":"x","sky":"y"}]"#
        ),
        (
            "elements", insert(#"[{"no":4,"type":"s","stops":[{"no":5}]}]"#, #""into":{"section":"trains"}"#),
            #"trains/4:s={"no":4,"type":"s"}(trains/5={"no":5})]"#
        ),
        (
            "where an id may be an item's", insert(#"[{"no":4}]"#, #""into":"trains","at":"start""#),
            #"trains[trains/4={"no":4} "#
        ),
        ("below an item", insert(#"[{"no":4}]"#, #""into":"trains/3""#), #"trains/3={"no":3}(trains/4={"no":4})"#),
        (
            "before an item", insert(#"{"eve":{"sky":"moon"}}"#, #""before":["none","sky/pm"]"#),
            #" sky/eve:moon={"sky":"moon"} sky/pm"#
        ),
        ("at the start", insert(#"[{"no":4}]"#, #""at":"start""#), #"trains[trains/4={"no":4} "#),
        ("at the end", insert(#"[{"t":"z"}]"#), #"1.1={"t":"y"} 7.0={"t":"z"}]"#),
        (
            "beside each other",
            (4..<14).map { insert(#"[{"no":\#($0)}]"#, #""before":"trains/\#($0 - 1)""#) }.joined(separator: ","),
            #" trains/13={"no":13} trains/12={"no":12} "#
        ),
        (
            "beside what has moved", "\(move("sky/am", "trains")),\(insert(#"[{"no":4}]"#, #""before":"sky/am""#))",
            #" trains/4={"no":4} sky/am:sun"#
        ),
        (
            "beside what an element's id says",
            "\(insert(#"[{"no":4}]"#, #""before":"trains/3""#)),\(move("trains/4", "sky")),"
                + insert(#"{"x":{"sky":"s"}}"#, #""after":"trains/4""#),
            #" trains/4={"no":4} sky/x:s={"sky":"s"}]"#
        ),
        (
            "the section that a row is in now",
            "\(update("sky/pm", #""patch":{"n":1}"#)),\(move("sky/pm", "trains")),"
                + update("sky/pm", #""patch":{"sky":"snow"}"#),
            #"sky/pm:rain={"sky":"snow","n":1}]"#
        ),
    ]

    @Test("say what follows an edit", arguments: followed.indices)
    func follows(index: Int) throws {
        let (what, edits, shown) = Self.followed[index]
        let outcome = try outcome(of: edits)
        #expect(outcome.contains(shown), "\(what): \(outcome)")
    }

    /// Every section whose rows are its own, in the form of its shape, says nothing new.
    @Test("read nothing new in what edits have made", arguments: followed.indices)
    func ownForm(index: Int) throws {
        let edited = try edited(Self.followed[index].edits)
        let model = try Model(document: try TreeParser.tree(edited.documentJSON()))
        for section in model.sections where section.id == "trains" || section.id == "sky" {
            let isOwn = section.items.flatMap(\.ids).allSatisfy { $0.description.hasPrefix("\(section.id)/") }
            guard isOwn else { continue }
            let elements = section.items.map { item in
                section.id == "sky" ? "\"\(item.id.description.dropFirst(4))\":\(item.content!.json)" : element(item)
            }.joined(separator: ",")
            let id = section.id.description
            let shape = try StateShape(Self.documents.first { $0.section == id }!.members)
            let reading = try Self.read(id == "sky" ? "{\(elements)}" : "[\(elements)]", id, shape)
            let next = try edited.replacing(reading).snapshot
            #expect(try Model(document: try TreeParser.tree(next.documentJSON())) == model)
        }
    }

    private func element(_ item: Model.Item) -> String {
        let children = item.items.map(element).joined(separator: ",")
        return item.content!.json.dropLast() + (children.isEmpty ? "}" : ",\"stops\":[\(children)]}")
    }

    // MARK: Refused

    /// The edits, and what is wrong with them.
    private static let refused: [(edits: String, told: String)] = [
        (update("trains/3", #""patch":{"no":9}"#), "id-changed /edits/0/items/0/patch"),
        (update("trains/3", #""patch":{"stops":[]}"#), "wrong-shape /edits/0/items/0/patch"),
        (update("sky/am", #""patch":{"sky":[]}"#), "wrong-shape /edits/0/items/0/patch"),
        (insert(#"[{"type":"x"}]"#, #""into":{"section":"trains"}"#), "wrong-shape /edits/0/elements/0"),
        (insert(#"[{"type":"x"}]"#, #""after":"trains/3""#), "wrong-shape /edits/0/elements/0"),
        (insert(#"[{"no":3}]"#, #""after":"trains/3""#), "duplicate-id /edits/0/elements/0/no"),
        (insert(#"["a"]"#, #""into":{"section":"notes"}"#), "wrong-shape /edits/0/elements"),
        (insert(#"["a"]"#, #""after":"notes/n1""#), "wrong-shape /edits/0/elements"),
        (
            insert("[]", #""into":{"section":"none"}"#),
            "wrong-shape /edits/0/elements, unknown-id /edits/0/into/section"
        ),
        (insert("[{}]", #""before":"nobody""#), "anchor-not-found /edits/0/before"),
        (
            "\(move("nobody", "sky")),\(insert(#"[{"sky":1}]"#, #""before":"sky/am""#)),"
                + insert("[7]", #""after":"log""#),
            "unknown-id /edits/0/items/0, wrong-shape /edits/1/elements, anchor-not-found /edits/2/after"
        ),
        (
            "\(insert(#"{"x":{"sky":[]}}"#, #""before":"sky/am""#)),{\"op\":\"fly\"}",
            "wrong-shape /edits/0/elements/x/sky, wrong-shape /edits/1/op"
        ),
    ]

    @Test("say what is wrong with edits", arguments: refused.indices)
    func refuses(index: Int) throws {
        let (edits, told) = Self.refused[index]
        #expect(try outcome(of: edits) == told)
    }

    /// Each of these goes where the one before has gone, which is another section each time.
    @Test("are found through some edits, but not through many")
    func tangled() throws {
        let tangle = { (length: Int) in
            (0..<length).map { index in
                let (isTrain, id) = (index % 2 == 0, 100 + index)
                let elements = isTrain ? #"[{"no":\#(id)}]"# : #"{"\#(id)":{}}"#
                let before = index == 0 ? "trains/3" : "\(isTrain ? "sky" : "trains")/\(id - 1)"
                let (own, other) = isTrain ? ("trains", "sky") : ("sky", "trains")
                return "\(Self.insert(elements, #""before":"\#(before)""#)),\(Self.move("\(own)/\(id)", other))"
            }.joined(separator: ",")
        }
        #expect(try outcome(of: tangle(6)).hasPrefix("trains["))
        #expect(try outcome(of: tangle(24)).hasPrefix("wrong-shape /edits/"))
    }

    @Test("give way to a request's own")
    func ofRequest() throws {
        let shape = try StateShape([(.idAt, "/k"), (.kindAt, "/sort")])
        let into = #""into":{"section":"trains"}"#
        #expect(
            try outcome(of: Self.insert(#"[{"k":"a","sort":"s","no":"a","type":"t"}]"#, into), shape: shape)
                .contains(#" a:s={"k":"a","sort":"s","no":"a","type":"s"}]"#))
        #expect(
            try outcome(of: Self.insert(#"[{"k":"a"}]"#, #""into":{"section":"notes"}"#), shape: shape)
                .contains(#"notes[notes/n1 a={"k":"a"}]"#))
        #expect(try outcome(of: Self.insert("[]", into), shape: .native) == "wrong-shape /edits/0/elements")
    }
}
