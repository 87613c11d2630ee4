// CONTRACT §10 on views, word by word, on nested values: written to be obviously right, and as slow as that.

/// A view as the tests carry it out.
struct NaiveView {
    private let members: [Text: Tree]

    init(_ view: Tree) {
        guard case .object(let members) = view else { fatalError("no view: \(view)") }
        self.members = members
    }

    func applied(to model: Model) -> Model {
        var model = model
        if let ids = list("sections") {
            model.sections.removeAll { section in !ids.contains { $0 == .string(section.id) } }
        }
        for index in model.sections.indices { model.sections[index].items = passing(model.sections[index].items) }
        if case .object(let group) = members["group"] {
            let items = sorted(model.sections.flatMap(\.items))
            model.sections = []
            for item in items {
                let (id, value) = Self.group(of: item, group)
                if !model.sections.contains(where: { $0.id == id }) {
                    model.sections.append(Model.Section(id: id, content: .object(["group": value])))
                }
                model.sections[model.sections.firstIndex { $0.id == id }!].items.append(item)
            }
        } else {
            for index in model.sections.indices { model.sections[index].items = sorted(model.sections[index].items) }
        }
        model.sections = sorted(model.sections)
        if case .token(let limit) = members["limit"] { cut(&model, to: Int(limit)!) }
        if members["emptySections"] == .token("false") { model.sections.removeAll { $0.items.isEmpty } }
        if case .object(let collapsed) = members["collapsed"] { Self.collapse(&model, collapsed) }
        if let fields = list("fields") {
            for index in model.sections.indices { Self.cut(&model.sections[index].items, fields) }
        }
        if let fields = list("sectionFields") {
            for index in model.sections.indices {
                model.sections[index].content = Self.cut(model.sections[index].content, fields)
            }
        }
        if let fields = list("listFields") { model.content = Self.cut(model.content, fields) }
        return model
    }

    private func list(_ name: Text) -> [Tree]? { members[name].flatMap { try? $0.elements() } }

    // MARK: sections

    /// The id of the section that an item goes into, and what it says of the group if the item is its first.
    private static func group(of item: Model.Item, _ group: [Text: Tree]) -> (id: Text, value: Tree) {
        guard case .string(let pointer) = group["at"] else { fatalError("no group") }
        let value = pointer == "/id" ? .string(item.id) : value(at: pointer.description, in: item)
        let text: String
        switch value {
        case .string(let string): text = string.description
        case .token(let token) where token != "null": text = token
        default: return ("none", .token("null"))
        }
        var (id, told) = (text, value!)
        if case .token(let prefix) = group["prefix"] {
            id = String(String.UnicodeScalarView(text.unicodeScalars.prefix(Int(prefix)!)))
            told = .string(Text(id))
        }
        if id.isEmpty || id.utf8.count > 2_048
            || id.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        {
            return ("none", .token("null"))
        }
        return (Text(id), told)
    }

    private func sorted(_ sections: [Model.Section]) -> [Model.Section] {
        sections.enumerated().sorted { one, other in
            for order in list("sectionOrder") ?? [] {
                guard case .object(let order) = order, case .string(let pointer) = order["at"] else { fatalError() }
                let values = [one.element, other.element].map { section -> Tree? in
                    if pointer == "/id" { return Self.id(section.id) }
                    return Self.value(at: pointer.description, in: Model.Item(id: "", content: section.content))
                }
                let sign = Self.compare(values[0], values[1])
                if sign != 0 { return (order["descending"] == .token("true")) == (sign > 0) }
            }
            return one.offset < other.offset
        }.map(\.element)
    }

    private static func collapse(_ model: inout Model, _ collapsed: [Text: Tree]) {
        let ids = { (name: Text) in collapsed[name].flatMap { try? $0.elements() } ?? [] }
        for index in model.sections.indices {
            if ids("sections").contains(.string(model.sections[index].id)) { model.sections[index].expanded = false }
            collapse(&model.sections[index].items, ids("items"))
        }
    }

    private static func collapse(_ items: inout [Model.Item], _ ids: [Tree]) {
        for index in items.indices {
            if ids.contains(.string(items[index].id)) { items[index].expanded = false }
            collapse(&items[index].items, ids)
        }
    }

    // MARK: where

    private func passing(_ items: [Model.Item]) -> [Model.Item] {
        items.filter { item in (list("where") ?? []).allSatisfy { Self.passes(item, $0) } }.map { item in
            var item = item
            item.items = passing(item.items)
            return item
        }
    }

    private static func passes(_ item: Model.Item, _ test: Tree) -> Bool {
        guard case .object(var test) = test else { fatalError("no test") }
        if let any = test["any"] { return ((try? any.elements()) ?? []).contains { passes(item, $0) } }
        guard case .string(let pointer) = test["at"] else { fatalError("no test") }
        var value = value(at: pointer.description, in: item)
        if pointer == "/id" {
            for name in ["is", "not"] as [Text] { test[name] = test[name].map(asID) }
            test["in"] = test["in"].map { .array(((try? $0.elements()) ?? []).map(asID)) }
            if test["has"] != nil { value = .string(item.id) }
        }
        if test["fold"] == .token("true") {
            value = value.map(folded)
            for name in ["is", "not", "has", "below", "above", "atMost", "atLeast"] as [Text] {
                test[name] = test[name].map(folded)
            }
            test["in"] = test["in"].map { .array(((try? $0.elements()) ?? []).map(folded)) }
        }
        if let operand = test["exists"] { return (value != nil) == (operand == .token("true")) }
        if let operand = test["not"] { return value.map { !isSame($0, operand) } ?? true }
        guard let value else { return false }
        if let operand = test["is"] { return isSame(value, operand) }
        if let operands = test["in"] { return ((try? operands.elements()) ?? []).contains { isSame(value, $0) } }
        if case .string(let part) = test["has"] {
            guard case .string(let text) = value else { return false }
            return part.bytes.isEmpty
                || text.bytes.indices.contains { text.bytes[$0...].starts(with: part.bytes) }
        }
        for (name, passes) in [
            ("below", { $0 < 0 }), ("above", { $0 > 0 }), ("atMost", { $0 <= 0 }), ("atLeast", { $0 >= 0 }),
        ] as [(Text, (Int) -> Bool)] {
            guard let operand = test[name] else { continue }
            return rank(value) == rank(operand) && passes(compare(value, operand))
        }
        fatalError("no test: \(test)")
    }

    private static func folded(_ value: Tree) -> Tree {
        if case .string(let text) = value { .string(Text(text.description.lowercased())) } else { value }
    }

    /// An id: the number that its text is, or a string.
    private static func id(_ text: Text) -> Tree {
        let digits = text.description.drop { $0 == "-" }
        let isInteger = text.description.count - digits.count < 2 && digits.allSatisfy { ("0"..."9").contains($0) }
        return isInteger && (digits == "0" || !(digits.first ?? "0" == "0"))
            ? .token(text.description) : .string(text)
    }

    private static func asID(_ value: Tree) -> Tree { if case .string(let text) = value { id(text) } else { value } }

    static func value(at pointer: String, in item: Model.Item) -> Tree? {
        let names = pointer.split(separator: "/").map { Text(String($0)) }
        switch names[0] {
        case "id": return id(item.id)
        case "kind": return item.kind.map { .string($0) }
        case "expanded": return .token(item.expanded ? "true" : "false")
        default:
            return names.dropFirst().reduce(item.content) { value, name in
                if case .object(let members) = value { members[name] } else { nil }
            }
        }
    }

    /// Whether two values are the same, numbers by value.
    static func isSame(_ one: Tree, _ other: Tree) -> Bool {
        switch (one, other) {
        case (.array(let one), .array(let other)):
            one.count == other.count && zip(one, other).allSatisfy { isSame($0, $1) }
        case (.object(let one), .object(let other)):
            one.count == other.count
                && one.allSatisfy { name, value in other[name].map { isSame(value, $0) } ?? false }
        case (.array, _), (_, .array), (.object, _), (_, .object): false
        default: compare(one, other) == 0
        }
    }

    // MARK: order

    private func sorted(_ items: [Model.Item]) -> [Model.Item] {
        let sorted = items.enumerated().sorted { one, other in
            for order in list("order") ?? [] {
                guard case .object(let order) = order, case .string(let pointer) = order["at"] else { fatalError() }
                let sign = Self.compare(
                    Self.value(at: pointer.description, in: one.element),
                    Self.value(at: pointer.description, in: other.element))
                if sign != 0 { return (order["descending"] == .token("true")) == (sign > 0) }
            }
            return one.offset < other.offset
        }
        return sorted.map { _, item in
            var item = item
            item.items = self.sorted(item.items)
            return item
        }
    }

    private static func rank(_ value: Tree?) -> Int {
        switch value {
        case nil: 0
        case .token("null"): 1
        case .token("false"): 2
        case .token("true"): 3
        case .token: 4
        case .string: 5
        case .array, .object: 6
        }
    }

    static func compare(_ one: Tree?, _ other: Tree?) -> Int {
        guard rank(one) == rank(other) else { return rank(one) < rank(other) ? -1 : 1 }
        switch (one, other) {
        case (.string(let one), .string(let other)): return one < other ? -1 : one == other ? 0 : 1
        case (.token(let one), .token(let other)) where rank(.token(one)) == 4:
            return compareNumbers(one, other)
        default: return 0
        }
    }

    /// By digits written out, with equally many before and after the point.
    private static func compareNumbers(_ one: String, _ other: String) -> Int {
        let (one, other) = (expanded(one), expanded(other))
        guard one.isNegative == other.isNegative else { return one.isNegative ? -1 : 1 }
        let sign = one.isNegative ? -1 : 1
        if one.digits == other.digits { return 0 }
        return one.digits.lexicographicallyPrecedes(other.digits) ? -sign : sign
    }

    private static func expanded(_ token: String) -> (isNegative: Bool, digits: [Character]) {
        let parts = token.lowercased().split(separator: "e")
        let mantissa = parts[0].drop { $0 == "-" }.split(separator: ".")
        let exponent = parts.count > 1 ? Int(parts[1])! : 0
        var digits = [Character](repeating: "0", count: 2_000)
        let all = mantissa.joined()
        for (index, digit) in all.enumerated() { digits[1_000 - mantissa[0].count - exponent + index] = digit }
        return (token.hasPrefix("-") && all.contains { $0 != "0" }, digits)
    }

    // MARK: limit and fields

    private func cut(_ model: inout Model, to limit: Int) {
        var left = limit
        for index in model.sections.indices {
            model.sections[index].items = Array(model.sections[index].items.prefix(left))
            left -= model.sections[index].items.count
        }
    }

    private static func cut(_ items: inout [Model.Item], _ fields: [Tree]) {
        for index in items.indices {
            items[index].content = cut(items[index].content, fields)
            cut(&items[index].items, fields)
        }
    }

    private static func cut(_ content: Tree?, _ fields: [Tree]) -> Tree? {
        let pointers = fields.map { field -> [Text] in
            guard case .string(let pointer) = field else { fatalError() }
            return pointer.description.split(separator: "/").map { Text(String($0)) }
        }.filter { $0[0] == "content" }.map { Array($0.dropFirst()) }
        if pointers.contains([]) { return content }
        guard !pointers.isEmpty, let content, case .object = content else { return nil }
        return members(content, pointers) ?? .object([:])
    }

    /// Nil if nothing is left.
    private static func members(_ value: Tree, _ pointers: [[Text]]) -> Tree? {
        if pointers.contains([]) { return value }
        guard case .object(let members) = value else { return nil }
        var shown: [Text: Tree] = [:]
        for (name, value) in members {
            let below = pointers.filter { $0.first == name }.map { Array($0.dropFirst()) }
            if !below.isEmpty { shown[name] = Self.members(value, below) }
        }
        return shown.isEmpty ? nil : .object(shown)
    }
}
