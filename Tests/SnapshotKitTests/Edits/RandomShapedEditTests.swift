import Testing

@testable import SnapshotKit

@Suite("Random edits of a list with a shape")
struct RandomShapedEditTests {
    @Test("After any batch the document in the shape's own form says nothing new", arguments: Effort.seeds(180))
    func documentsSayNothingNew(seed: UInt64) throws {
        var writer = try ShapedWriter(SplitMix64(seed: seed), shape: Int(seed) % ShapedWriter.shapes.count)
        // More where hardly any was accepted.
        for turn in 0..<80 where turn < 40 || writer.edited <= 8 { try writer.editOnce() }
        #expect(writer.edited > 8)
    }
}

/// Makes up a list with a shape, and edits whose contents can hold all that they say. What the contract leaves to the
/// next document is not drawn, or not compared.
private struct ShapedWriter {
    typealias Members = [StateShape.Member: String]

    static let shapes: [Members] = [
        [.idAt: "/id", .kindAt: "/k", .expandedAt: "/o", .childrenAt: "/sub"],
        [.groupAt: "/g", .kindAt: "/k", .expandedAt: "/o", .childrenAt: "/sub"],
        [.idAt: "/in/id", .groupAt: "/in/g", .childrenAt: "/in/sub", .kindAt: "/in/k", .expandedAt: "/o"],
        [.itemsAt: "/rows", .idAt: "/v/0", .groupAt: "/v/1", .kindAt: "/v/2"],
        [
            .sectionsAt: "/groups", .sectionIDAt: "/gid", .sectionExpandedAt: "/so", .itemsAt: "/rows",
            .childrenAt: "/sub",
        ],
        [.itemsAt: "/rows", .map: "true", .childrenAt: "/sub", .expandedAt: "/o", .kindAt: "/k"],
        [.itemsAt: "/rows", .map: "true", .groupAt: "/in/g", .kindAt: "/k"],
        [.idAt: "/t /no", .groupAt: "/g", .kindAt: "/t"],
        [.idScope: "section", .groupAt: "/g", .childrenAt: "/sub", .expandedAt: "/o"],
        [.idScope: "section", .sectionsAt: "/groups", .sectionIDAt: "/gid", .itemsAt: "/rows", .kindAt: "/k"],
        [.sectionsAt: "/groups", .sectionIDAt: "/gid", .sectionExpandedAt: "/so", .itemsAt: "/rows", .groupAt: "/g"],
        [.groupAt: "/g", .groupPrefix: "1", .kindAt: "/k"],
        [.sectionsAt: "/groups", .map: "true", .sectionExpandedAt: "/so", .itemsAt: "/rows", .expandedAt: "/o"],
    ]
    private static let groups: [Tree] = [
        .string("A"), .string("B"), .string("Ab"), .string(""), .null, .string("none"), .number(7), .string("7"),
    ]

    private var random: SplitMix64
    private let members: Members
    private let shape: StateShape
    private var head: Snapshot
    private var model: Model
    private let ids = (0..<18).map { String(UnicodeScalar(UInt8(97 + $0))) }
    private(set) var edited = 0

    init(_ random: SplitMix64, shape: Int) throws {
        self.random = random
        members = Self.shapes[shape]
        let listed = members.flatMap { member, text in text.split(separator: " ").map { (member, String($0)) } }
        // The root is written as no text.
        self.shape = try StateShape(listed.isEmpty ? [(.itemsAt, "")] : listed)
        (head, model) = (.empty, Model())
        var section = Model.Section(id: "main")
        section.items = ids.prefix(7).map { Model.Item(id: Text($0), content: content($0)) }
        model.sections = [section]
        if members[.sectionsAt] != nil {
            model.sections[0].content = sectionContent("main")
            model.sections.append(Model.Section(id: "A", content: sectionContent("A")))
        }
        head = try Snapshot(json: document, shape: self.shape)
        try adopt(withGroups(try Model(document: try TreeParser.tree(head.documentJSON()))))
    }

    /// The sections of groups have what grouping gives them for a content.
    private func withGroups(_ model: Model) -> Model {
        guard let place = members[.groupAt] else { return model }
        var model = model
        for index in model.sections.indices where model.sections[index].content == nil {
            let value = model.sections[index].items.first?.content.flatMap { $0[place] }
            let isNone = [nil, .null, .string("")].contains(value)
            let group = members[.groupPrefix] == nil ? value ?? .null : .string(model.sections[index].id)
            model.sections[index].content = .object(["group": isNone ? .null : group])
        }
        return model
    }

    private mutating func adopt(_ next: Model) throws {
        (model, head) = (next, try Snapshot(json: next.json))
    }

    mutating func editOnce() throws {
        let edits = "[" + (0...random.below(3)).map { _ in edit() }.joined(separator: ",") + "]"
        let (before, previous) = (model.json, (model, head))
        do throws(EditError) {
            let batch = try EditBatch(json: edits, shape: shape)
            head = try head.applying(batch, following: shape).snapshot
        } catch { return }
        edited += 1
        model = try Model(document: try TreeParser.tree(head.documentJSON()))
        // Rows that keep their ids until the next document may have one id there.
        guard members[.idScope] == nil || Set(rows.map { own($0.id) }).count == rows.count else {
            (model, head) = previous
            return
        }
        let next = try Model(document: try TreeParser.tree(Snapshot(json: document, shape: shape).documentJSON()))
        #expect(comparable(model) == comparable(next), "\(members) \(before) \(edits) \(document)")
        // Contents as grouping gives them from now on, and ids of their sections.
        if members[.idScope] != nil || members[.groupAt] != nil { try adopt(withGroups(next)) }
    }

    /// Without what the next document may say: the groups' values, as the first of their rows has them.
    private func comparable(_ model: Model) -> Model {
        var model = model
        for index in model.sections.indices {
            if case .object(let members)? = model.sections[index].content, Set(members.keys) == ["group"] {
                model.sections[index].content = nil
            }
            if members[.idScope] != nil { scopeless(&model.sections[index].items) }
        }
        return model
    }

    private func scopeless(_ items: inout [Model.Item]) {
        for index in items.indices {
            items[index].id = own(items[index].id)
            scopeless(&items[index].items)
        }
    }

    private func own(_ id: Text) -> Text { Text(String(id.description.split(separator: "/").last!)) }

    // MARK: Documents

    /// The list in the shape's own form.
    private var document: String {
        let isListed = members[.sectionsAt] != nil
        let items = members[.itemsAt] ?? ""
        guard members[.groupAt] == nil || isListed else { return put(list(model.sections.flatMap(\.items)), at: items) }
        guard isListed else { return put(list(model.sections.first { $0.id == "main" }?.items ?? []), at: items) }
        let isGrouped = members[.groupAt] != nil
        let heads = model.sections.filter { $0.content?["/group"] == nil && (!isGrouped || $0.content != nil) }
        let sections = heads.map { section in
            let content = section.content ?? .object([:])
            guard !isGrouped else { return (section.id, content.json) }
            return (section.id, write(content.setting("@rows", at: items), list(section.items), for: "@rows"))
        }
        let written = join(sections, isMap: members[.map] != nil)
        return isGrouped
            ? "{\"groups\":\(written),\"rows\":\(list(model.sections.flatMap(\.items)))}" : "{\"groups\":\(written)}"
    }

    private func put(_ list: String, at pointer: String) -> String {
        pointer.isEmpty ? list : "{\"\(pointer.dropFirst())\":\(list)}"
    }

    private func write(_ content: Tree, _ list: String, for mark: String) -> String {
        content.json.replacing("\"\(mark)\"", with: list)
    }

    private func list(_ items: [Model.Item]) -> String {
        let elements = items.map { item in
            let content = item.content ?? .object([:])
            guard let place = members[.childrenAt], !item.items.isEmpty else { return (item.id, content.json) }
            return (item.id, write(content.setting("@children", at: place), list(item.items), for: "@children"))
        }
        return join(elements, isMap: members[.map] != nil)
    }

    private func join(_ elements: [(Text, String)], isMap: Bool) -> String {
        isMap
            ? "{" + elements.map { "\(Tree.quoted($0)):\($1)" }.joined(separator: ",") + "}"
            : "[" + elements.map(\.1).joined(separator: ",") + "]"
    }

    // MARK: Contents

    private mutating func content(_ id: String) -> Tree {
        if members[.idAt] == "/v/0" {
            let values = Tree.array([.string(Text(id)), pick(Self.groups), kind()])
            return .object(["v": values, "n": .number(random.below(9))])
        }
        var content = Tree.object(["n": .number(random.below(9))])
        if members[.map] == nil {
            for (part, place) in (members[.idAt] ?? "/id").split(separator: " ").enumerated() {
                let isKind = part == 0 && members[.idAt] == "/t /no"
                content = content.setting(.string(Text(isKind ? "t" : id)), at: String(place))
            }
        }
        if let place = members[.kindAt], place != "/t" { content = content.setting(kind(), at: place) }
        if let place = members[.expandedAt] { content = content.setting(expansion(), at: place) }
        if let place = members[.groupAt], !random.once(in: 5) {
            content = content.setting(pick(Self.groups), at: place)
        }
        return content
    }

    private mutating func sectionContent(_ id: String) -> Tree {
        var content = Tree.object(["title": .number(random.below(9))])
        if let place = members[.sectionIDAt] { content = content.setting(.string(Text(id)), at: place) }
        if let place = members[.sectionExpandedAt] { content = content.setting(expansion(), at: place) }
        return content
    }

    private mutating func kind() -> Tree { pick([.string("x"), .string("y"), .number(3), .string("3"), .null]) }
    private mutating func expansion() -> Tree { pick([.token("true"), .token("false"), .null]) }
    private mutating func pick<Value>(_ values: [Value]) -> Value { values[random.below(values.count)] }

    // MARK: Edits

    private var rows: [Model.Item] { model.sections.flatMap { every($0.items) } }
    private func every(_ items: [Model.Item]) -> [Model.Item] { items.flatMap { [$0] + every($0.items) } }

    /// A JSON string, or an empty one where there is none.
    private mutating func someItem() -> String { Tree.quoted(rows.isEmpty ? "nobody" : pick(rows).id) }
    private mutating func someSection() -> String {
        Tree.quoted(model.sections.isEmpty ? "nobody" : pick(model.sections).id)
    }

    private mutating func edit() -> String {
        let isFlat = members[.childrenAt] == nil
        switch random.below(12) {
        case 0, 1, 2: return "{\"op\":\"update\",\"items\":[\(update())]}"
        case 3...4 where members[.groupPrefix] == nil:
            return "{\"op\":\"move\",\"items\":[\(someItem())]\(place(isFlat: isFlat, isNeeded: true))}"
        case 5, 6: return "{\"op\":\"insert\",\"items\":[\(newItems(isFlat))]\(place(isFlat: isFlat, isNeeded: false))}"
        case 7, 8: return "{\"op\":\"insert\",\"elements\":\(newElements())\(place(isFlat: isFlat, isNeeded: false))}"
        case 9: return "{\"op\":\"delete\",\"items\":[\(someItem())]}"
        case 10 where members[.expandedAt] != nil:
            return "{\"op\":\"\(pick(["expand", "collapse"]))\",\"items\":[\(someItem())]}"
        case 10...11 where members[.sectionExpandedAt] != nil && members[.groupAt] == nil: return sectionEdit()
        case 11 where random.once(in: 3): return "{\"op\":\"clear\",\"sections\":[\(someSection())]}"
        default: return "{\"op\":\"update\",\"items\":[\(update())]}"
        }
    }

    private mutating func sectionEdit() -> String {
        switch random.below(4) {
        case 0: return "{\"op\":\"\(pick(["expand", "collapse"]))\",\"sections\":[\(someSection())]}"
        case 1:
            let patch = "{\"so\":\(pick(["true", "false"]))}"
            return "{\"op\":\"update\",\"sections\":[{\"id\":\(someSection()),\"patch\":\(patch)}]}"
        case 2:
            let id = pick(["B", "C", "D"])
            return "{\"op\":\"insert\",\"sections\":[{\"id\":\"\(id)\",\"content\":\(sectionContent(id).json)}]}"
        default: return "{\"op\":\"delete\",\"sections\":[\(someSection())]}"
        }
    }

    private mutating func update() -> String {
        guard !rows.isEmpty else { return "{\"id\":\"nobody\"}" }
        let row = pick(rows)
        var said = "\"id\":\(Tree.quoted(row.id))"
        switch random.below(3) {
        case 0: said += ",\"content\":\(content(String(own(row.id).description)).json)"
        case 1 where members[.idAt] != "/v/0":
            var patch = Tree.object(["n": .number(random.below(9))])
            if let place = members[.groupAt], random.once(in: 2) { patch = patch.setting(pick(Self.groups), at: place) }
            if let place = members[.kindAt], place != "/t", random.once(in: 3) {
                patch = patch.setting(.string(pick(["x", "z"])), at: place)
            }
            if let place = members[.expandedAt], random.once(in: 3) {
                patch = patch.setting(.token(pick(["true", "false"])), at: place)
            }
            said += ",\"patch\":\(patch.json)"
        default: said += ",\"add\":{\"/n\":1}"
        }
        return "{\(said)\(sayings())}"
    }

    /// What an edit says itself.
    private mutating func sayings() -> String {
        var said = ""
        if let place = members[.kindAt], place != "/t", random.once(in: 4) {
            said += ",\"kind\":\"\(pick(["x", "3", "w"]))\""
        }
        if members[.expandedAt] != nil, random.once(in: 4) { said += ",\"expanded\":\(pick(["true", "false"]))" }
        return said
    }

    private mutating func free() -> String {
        let taken = Set(rows.map { own($0.id) })
        return pick(ids.filter { !taken.contains(Text($0)) || random.once(in: 60) } + ["zz"])
    }

    private mutating func newItems(_ isFlat: Bool) -> String {
        let id = free()
        let whole = members[.idScope] == nil ? members[.idAt] == "/t /no" ? "t/\(id)" : id : "x/\(id)"
        return "{\"id\":\"\(whole)\",\"content\":\(content(id).json)\(sayings())}"
    }

    private mutating func newElements() -> String {
        let (id, child) = (free(), free())
        var text = content(id).json
        if let place = members[.childrenAt], random.once(in: 2) {
            let children = join([(Text(child), content(child).json)], isMap: members[.map] != nil)
            text = write(Tree.json(text).setting("@children", at: place), children, for: "@children")
        }
        return join([(Text(id), text)], isMap: members[.map] != nil)
    }

    private mutating func place(isFlat: Bool, isNeeded: Bool) -> String {
        if members[.groupPrefix] != nil { return "" }
        switch random.below(6) {
        case 0: return ",\"before\":\(someItem())"
        case 1: return ",\"after\":\(someItem())"
        case 2, 3: return ",\"into\":{\"section\":\(someSection())}"
        case 4 where !isFlat: return ",\"into\":{\"item\":\(someItem())},\"at\":\"start\""
        default: return isNeeded ? ",\"at\":\"start\"" : ""
        }
    }
}

extension Tree {
    /// The value at a pointer through objects and arrays.
    fileprivate subscript(pointer: String) -> Tree? {
        pointer.split(separator: "/").reduce(Optional(self)) { value, name in
            switch value {
            case .object(let members)?: members[Text(String(name))]
            case .array(let elements)?: Int(name).flatMap { $0 < elements.count ? elements[$0] : nil }
            default: nil
            }
        }
    }

    /// The value with another one at a pointer through objects.
    fileprivate func setting(_ value: Tree, at pointer: String) -> Tree {
        guard let name = pointer.split(separator: "/").first else { return value }
        var members: [Text: Tree] = [:]
        if case .object(let own) = self { members = own }
        let rest = String(pointer.dropFirst(name.count + 1))
        members[Text(String(name))] = (members[Text(String(name))] ?? .object([:])).setting(value, at: rest)
        return .object(members)
    }

    fileprivate func setting(_ mark: Text, at pointer: String) -> Tree { setting(.string(mark), at: pointer) }
}
