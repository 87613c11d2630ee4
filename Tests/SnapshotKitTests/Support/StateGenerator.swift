/// Seeded random states, and states derived from others by a few changes.
struct StateGenerator {
    /// What the states are made of.
    struct Shape: Sendable {
        var items = 12
        var sections = 4
        /// One item in this many goes below another one; 0 for flat lists.
        var nestsOnceIn = 0
        /// Whether items and sections may be collapsed; a state that shows everything takes shorter ways through a
        /// diff.
        var collapses = true
        /// Changes between a state and the next.
        var changes = 4
        /// The possible contents of items, sections and the list.
        var contents = StateGenerator.contents
    }

    private(set) var random: SplitMix64
    private let shape: Shape

    init(seed: UInt64, shape: Shape) {
        random = SplitMix64(seed: seed)
        self.shape = shape
    }

    /// A state of some of the possible ids.
    mutating func state() -> Model {
        var model = Model()
        if random.once(in: 3) { model.content = newContent() }
        for section in 0..<shape.sections where !random.once(in: 3) {
            insertSection(Text("S\(section)"), into: &model)
        }
        guard !model.sections.isEmpty else { return model }
        for item in 0..<shape.items where !random.once(in: 3) { place(newItem(Text("i\(item)")), in: &model) }
        return model
    }

    /// The state after some changes.
    mutating func next(after model: Model) -> Model {
        var model = model
        for _ in 0..<1 + random.below(shape.changes) { change(&model) }
        if random.once(in: 4) { model.content = model.content?.withMember(newContent()) ?? newContent() }
        return model
    }

    // MARK: Changes

    private mutating func change(_ model: inout Model) {
        let ids = model.itemIDs
        switch random.below(ids.isEmpty ? 3 : 12) {
        case 0: changeSections(&model)
        case 1, 2:
            let free = (0..<shape.items).map { Text("i\($0)") }.filter { !ids.contains($0) }
            if !free.isEmpty, !model.sections.isEmpty { place(newItem(free[random.below(free.count)]), in: &model) }
        case 3, 4: _ = model.remove(ids[random.below(ids.count)])
        case 5, 6, 7:
            if let item = model.remove(ids[random.below(ids.count)]) { place(item, in: &model) }
        case 8: lift(ids[random.below(ids.count)], in: &model)
        default:
            let (part, content, kind, collapses) = (random.below(6), newContent(), newKind(), shape.collapses)
            model.change(ids[random.below(ids.count)]) { item in
                switch part {
                case 0: item.kind = kind
                case 1 where collapses, 2 where collapses: item.expanded.toggle()
                default: item.content = item.content?.withMember(content) ?? content
                }
            }
        }
    }

    /// Deletes an item and puts its children in its place.
    private mutating func lift(_ id: Text, in model: inout Model) {
        for section in model.sections.indices {
            guard let at = model.sections[section].items.firstIndex(where: { $0.id == id }) else { continue }
            let children = model.sections[section].items[at].items
            model.sections[section].items.replaceSubrange(at...at, with: children)
        }
    }

    private mutating func changeSections(_ model: inout Model) {
        guard !model.sections.isEmpty else { return insertSection("S0", into: &model) }
        let at = random.below(model.sections.count)
        switch random.below(6) {
        case 0:
            let gone = model.sections.remove(at: at)
            guard !model.sections.isEmpty else { return }
            for item in gone.items where random.once(in: 2) { place(item, in: &model) }
        case 1:
            let free = (0..<shape.sections).map { Text("S\($0)") }.filter { model.sectionIDs.contains($0) == false }
            if !free.isEmpty { insertSection(free[random.below(free.count)], into: &model) }
        case 2, 3:
            let moved = model.sections.remove(at: at)
            model.sections.insert(moved, at: random.below(model.sections.count + 1))
        case 4: model.sections[at].content = newContent()
        default: if shape.collapses { model.sections[at].expanded.toggle() }
        }
    }

    private mutating func insertSection(_ id: Text, into model: inout Model) {
        let section = Model.Section(id: id, content: newContent(), expanded: isExpanded(butOnceIn: 5))
        model.sections.insert(section, at: random.below(model.sections.count + 1))
    }

    private mutating func place(_ item: Model.Item, in model: inout Model) {
        let section = random.below(model.sections.count)
        place(item, in: &model.sections[section].items, level: 0)
    }

    private mutating func place(_ item: Model.Item, in items: inout [Model.Item], level: Int) {
        if shape.nestsOnceIn > 0, level < 3, !items.isEmpty, random.once(in: shape.nestsOnceIn) {
            place(item, in: &items[random.below(items.count)].items, level: level + 1)
        } else {
            items.insert(item, at: random.below(items.count + 1))
        }
    }

    // MARK: Parts

    private mutating func newItem(_ id: Text) -> Model.Item {
        Model.Item(id: id, content: newContent(), kind: newKind(), expanded: isExpanded(butOnceIn: 3))
    }

    private mutating func isExpanded(butOnceIn times: Int) -> Bool {
        shape.nestsOnceIn == 0 || !random.once(in: times) || !shape.collapses
    }

    private mutating func newKind() -> Text? { random.once(in: 4) ? Text(random.once(in: 2) ? "tall" : "wide") : nil }

    static let contents: [Tree?] = [
        nil, nil, .null, .token("1"), .token("1.0"), .token("1e400"), .string("é"), .array([.null, .token("true")]),
        .json(#"{"title":"One","count":1,"tags":["a","b"],"place":{"lat":1.50,"lon":-2}}"#),
        .json(#"{"title":"One and more of it","count":1,"place":{"lat":1.50,"lon":-2,"of":"\u00e9/~"}}"#),
        .json(
            #"{"title":"One and more of it, \"and\" more","count":1,"place":{"lat":1.50,"lon":-2,"of":"é/~ and more"}}"#
        ),
        .json(#""a text of its own""#), .json(#""a text of its own, which has grown""#),
        .json(#"{"title":"Two","count":1,"tags":["a"],"place":{"lat":1.5,"lon":-2},"note":null}"#),
        .json(#"{"a/b":1,"m~n":{"":[1,{"x":"y"}]},"\"\\":"\u0001"}"#), .json("{}"), .json("[]"),
    ]

    private mutating func newContent() -> Tree? { shape.contents[random.below(shape.contents.count)] }
}

extension Tree {
    /// This content with one member changed, if both are objects; else the other one.
    fileprivate func withMember(_ other: Tree?) -> Tree? {
        guard case .object(var members) = self, let other else { return other }
        members["changed"] = other
        return .object(members)
    }
}

// MARK: Items of a model, wherever they stand

extension Model {
    var sectionIDs: [Text] { sections.map(\.id) }

    /// All ids, hidden ones included, depth first.
    var itemIDs: [Text] { sections.flatMap { $0.items.flatMap(\.ids) } }

    /// Takes an item out, with its children.
    mutating func remove(_ id: Text) -> Item? {
        for section in sections.indices {
            if let item = Item.remove(id, from: &sections[section].items) { return item }
        }
        return nil
    }

    mutating func change(_ id: Text, by change: (inout Item) -> Void) {
        for section in sections.indices { Item.change(id, in: &sections[section].items, by: change) }
    }
}

extension Model.Item {
    var ids: [Text] { [id] + items.flatMap(\.ids) }

    fileprivate static func remove(_ id: Text, from items: inout [Self]) -> Self? {
        if let at = items.firstIndex(where: { $0.id == id }) { return items.remove(at: at) }
        for index in items.indices {
            if let item = remove(id, from: &items[index].items) { return item }
        }
        return nil
    }

    fileprivate static func change(_ id: Text, in items: inout [Self], by change: (inout Self) -> Void) {
        for index in items.indices {
            if items[index].id == id { change(&items[index]) }
            Self.change(id, in: &items[index].items, by: change)
        }
    }
}
