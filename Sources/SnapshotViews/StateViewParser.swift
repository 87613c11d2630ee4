// Read strictly: a half-understood view shows what nobody asked for. Everything read is written in canonical form.

import SnapshotKit

extension StateView {
    /// Reads a view. O(bytes).
    ///
    /// - Parameters:
    ///   - json: an object, in the form of `json`.
    ///   - hidesContents: whether to leave out contents of sections and of the list unless the view names their
    ///     members, as for a token's view.
    /// - Throws: `StateViewError`; the first error.
    public init(json: [UInt8], hidesContents: Bool = false) throws(StateViewError) {
        let text: JSONText
        do throws(JSONError) { text = try JSONText(json) } catch { throw .json(error) }
        try self.init(text.slice, hidesContents: hidesContents)
    }

    /// Reads a view from text.
    public init(json: String, hidesContents: Bool = false) throws(StateViewError) {
        try self.init(json: Array(json.utf8), hidesContents: hidesContents)
    }

    /// Reads a view in a document, where `pointer` says.
    public init(_ value: JSONSlice, at pointer: String = "", hidesContents: Bool = false) throws(StateViewError) {
        var reader = ViewParser(members: try ViewMembers(value, at: pointer, "a view", Self.names))
        self = try reader.read(hidesContents: hidesContents)
    }

    fileprivate static let names = [
        "sections", "where", "order", "group", "sectionOrder", "emptySections", "collapsed", "limit", "fields",
        "sectionFields", "listFields",
    ]
}

/// The members of an object, all of them known.
private struct ViewMembers {
    let pointer: String
    private let values: [String: JSONSlice]

    init(_ value: JSONSlice, at pointer: String, _ what: String, _ names: [String]) throws(StateViewError) {
        let values = try value.members.needed("\(what) must be an object", at: pointer)
        if let unknown = values.keys.filter({ !names.contains($0) }).min() {
            throw .refusal(
                "unknown-member", "\(what) has no member \"\(Violations.shown(Array(unknown.utf8)))\"",
                at: "\(pointer)/\(JSONPointer.escaped(unknown.utf8))")
        }
        (self.pointer, self.values) = (pointer, values)
    }

    subscript(name: String) -> JSONSlice? { values[name] }

    /// The value that `read` makes of a member, which must be of a form; nil if it is missing.
    private func value<Value>(
        _ name: String, _ form: String, _ read: (JSONSlice) -> Value?
    ) throws(StateViewError) -> Value? {
        guard let slice = values[name] else { return nil }
        return try read(slice).needed("\(name) must be \(form)", at: "\(pointer)/\(name)")
    }

    func list(_ name: String, _ what: String) throws(StateViewError) -> [JSONSlice]? {
        try value(name, "an array of \(what)", \.elements)
    }

    func flag(_ name: String) throws(StateViewError) -> Bool? { try value(name, "true or false", \.flag) }

    func count(_ name: String, atLeast least: Int) throws(StateViewError) -> Int? {
        try value(name, "a whole number, \(least) or more") { $0.integer.flatMap { $0 < least ? nil : $0 } }
    }

    func ids(_ name: String) throws(StateViewError) -> Set<[UInt8]>? {
        guard let elements = try list(name, "ids") else { return nil }
        var ids: Set<[UInt8]> = []
        for (index, element) in elements.enumerated() {
            let pointer = "\(pointer)/\(name)/\(index)"
            ids.insert(try element.idText.needed("an id must be a string or an integer", at: pointer))
        }
        return ids
    }

    /// The place in an item, or in what is given by its places, that the member `at` points to.
    func place(
        _ what: String, in whole: String = "an item", places: [ItemPointer] = [.id, .kind, .expanded]
    ) throws(StateViewError) -> ItemPointer {
        let text = try (values["at"]?.string).needed(
            "\(what) needs a member \"at\", a JSON Pointer to its value", at: "\(pointer)/at")
        return try ItemPointer(text, ofWhat: whole, places: places, at: "\(pointer)/at")
    }
}

extension Optional {
    /// The value; without one, its type was wrong.
    fileprivate func needed(
        _ detail: @autoclosure () -> String, at pointer: @autoclosure () -> String
    ) throws(StateViewError) -> Wrapped {
        guard let self else { throw .refusal("wrong-type", detail(), at: pointer()) }
        return self
    }
}

extension StateViewError {
    fileprivate static func refusal(_ code: String, _ detail: String, at pointer: String) -> StateViewError {
        .invalid(Violation(pointer: pointer, code: code, detail: detail))
    }
}

extension ItemPointer {
    fileprivate init(
        _ text: String, ofWhat what: String, places: [ItemPointer], at pointer: String
    ) throws(StateViewError) {
        guard let parsed = JSONPointer(text), let place = ItemPointer(parsed),
            place.inside != nil || places.contains(place)
        else {
            let names = places.map { "\($0.pointer), " }.joined()
            throw .refusal(
                "wrong-pointer",
                "\"\(Violations.shown(Array(text.utf8)))\" points to nothing in \(what): use \(names)/content "
                    + "or a place below it", at: pointer)
        }
        guard parsed.tokens.count <= StateShape.maxSegments else {
            throw .refusal("wrong-pointer", "the pointer has more than \(StateShape.maxSegments) segments", at: pointer)
        }
        self = place
    }

    /// From the content on; nil for any other place.
    fileprivate var inside: JSONPointer? { if case .content(let inside) = self { inside.pointers[0] } else { nil } }
}

private struct ViewParser {
    let members: ViewMembers
    private var parts = StateView.Parts()
    private var testCount = 0
    private var writer = JSONWriter()

    init(members: ViewMembers) { self.members = members }

    mutating func read(hidesContents: Bool) throws(StateViewError) -> StateView {
        writer.append("{")
        parts.sections = try members.ids("sections")
        if let ids = parts.sections { write(name: "sections", sorted: ids) }
        _ = try readTests(members, "where")
        parts.orders = try readOrders("order")
        try readGroup()
        parts.sectionOrders = try readOrders("sectionOrder", of: "a section", places: [.id])
        if try members.flag("emptySections") == false {
            parts.hidesEmptySections = true
            write(name: "emptySections")
            writer.append("false")
        }
        try readCollapsed()
        parts.limit = try members.count("limit", atLeast: 0)
        if let limit = parts.limit { write(name: "limit", limit) }
        parts.kept.items = try readFields("fields", of: "an item", [.id, .kind, .expanded])
        parts.kept.sections = try readFields(
            "sectionFields", of: "a section", [.id, .expanded], default: hidesContents && parts.group == nil ? [] : nil)
        parts.kept.list = try readFields("listFields", of: "a list", [], default: hidesContents ? [] : nil)
        writer.append("}")
        return StateView(parts, json: exchange(&writer, with: JSONWriter(capacity: 0)).bytes())
    }

    private mutating func write(name: String) {
        writer.separate()
        writer.append(string: name)
        writer.append(":")
    }

    private mutating func write(name: String, _ number: Int) {
        write(name: name)
        writer.append(number)
    }

    private mutating func write(name: String, sorted strings: some Sequence<[UInt8]>) {
        write(name: name)
        writer.append(array: strings.asSet) { $0.append(string: $1) }
    }

    private func pointer(_ name: String, _ index: Int) -> String { "\(members.pointer)/\(name)/\(index)" }

    private func check(_ count: Int, _ limit: Int, _ name: String, _ what: String) throws(StateViewError) {
        guard count <= limit else {
            throw .limitExceeded(what: what, limit: limit, actual: count, pointer: "\(members.pointer)/\(name)")
        }
    }

    /// Reads a list with `read`, which writes each element. In a set, neither order nor repetition means anything.
    private mutating func readEach<Part>(
        _ members: ViewMembers, _ name: String, _ what: String, atMost limit: Int, isSet: Bool = false,
        _ read: (inout ViewParser, JSONSlice, String) throws(StateViewError) -> Part
    ) throws(StateViewError) -> [Part] {
        guard let elements = try members.list(name, what), !elements.isEmpty else { return [] }
        try check(elements.count, limit, name, what)
        write(name: name)
        var whole = exchange(&writer, with: JSONWriter(capacity: 0))
        var (parts, texts): ([Part], [[UInt8]]) = ([], [])
        for (index, element) in elements.enumerated() {
            parts.append(try read(&self, element, "\(members.pointer)/\(name)/\(index)"))
            texts.append(exchange(&writer, with: JSONWriter(capacity: 0)).bytes())
        }
        whole.append(array: isSet ? texts.asSet : texts) { $0.append($1) }
        writer = whole
        return parts
    }

    // MARK: Tests

    /// The signs of the comparison that pass.
    private static let comparisons = ["below": -1 ... -1, "above": 1...1, "atMost": -1...0, "atLeast": 0...1]
    private static let operators = ["is", "not", "in", "below", "above", "atMost", "atLeast", "has", "exists"]

    private mutating func readTests(_ members: ViewMembers, _ name: String) throws(StateViewError) -> Int {
        try readEach(members, name, "tests", atMost: StateView.maxTests, isSet: true) {
            (reader, test, pointer) throws(StateViewError) in try reader.readTest(test, at: pointer)
        }.count
    }

    /// The depth of nested tests is bounded by their number.
    private mutating func readTest(_ element: JSONSlice, at pointer: String) throws(StateViewError) {
        testCount += 1
        guard testCount <= StateView.maxTests else {
            throw .limitExceeded(
                what: "tests", limit: StateView.maxTests, actual: testCount, pointer: "\(members.pointer)/where")
        }
        if element.members?["any"] != nil {
            let test = try ViewMembers(element, at: pointer, "a test with any", ["any"])
            writer.append("{")
            let start = parts.tests.addAny()
            if try readTests(test, "any") == 0 { writer.append("\"any\":[]") }
            parts.tests.endAny(from: start)
            writer.append("}")
            return
        }
        let test = try ViewMembers(element, at: pointer, "a test", ["at", "fold"] + Self.operators)
        let place = try test.place("a test")
        let names = Self.operators.filter { test[$0] != nil }
        guard names.count == 1, let operand = test[names[0]] else {
            throw .refusal(
                "wrong-shape", "a test must have exactly one of \(Self.operators.joined(separator: ", "))", at: pointer)
        }
        let folds = try test.flag("fold") ?? false
        try addTest(names[0], operand, at: place, folds: folds, pointer: "\(pointer)/\(names[0])")
        writer.append("{\"at\":")
        writer.append(string: place.pointer.description)
        write(name: names[0])
        let canonical = { (value: JSONSlice) in
            var writer = JSONWriter(capacity: 0)
            writer.append(canonical: folds ? value.folded : value, byValue: place != .id)
            return writer.bytes()
        }
        // The values of `in` are a set.
        if names[0] == "in", let values = operand.elements {
            writer.append(array: values.map(canonical).asSet) { $0.append($1) }
        } else {
            writer.append(canonical(operand))
        }
        writer.append(folds ? ",\"fold\":true}" : "}")
    }

    private mutating func addTest(
        _ name: String, _ operand: JSONSlice, at place: ItemPointer, folds: Bool, pointer: String
    ) throws(StateViewError) {
        switch name {
        case "is", "not": parts.tests.add(isAmong: [operand], name == "is", at: place, folds: folds)
        case "in":
            let values = try operand.elements.needed("in must be an array of values", at: pointer)
            parts.tests.add(isAmong: values, true, at: place, folds: folds)
        case "has":
            let text = try operand.string.needed("has must be a string", at: pointer)
            let part = folds ? operand.folded.string.map { Array($0.utf8) } ?? [] : Array(text.utf8)
            parts.tests.add(has: part, at: place, folds: folds)
        case "exists":
            parts.tests.add(exists: try operand.flag.needed("exists must be true or false", at: pointer), at: place)
        default:
            let text = folds ? operand.folded.json : operand.json
            let rank = text.withBytes { OrderedValue(at: $0.baseAddress!).rank }
            guard rank == .number || rank == .string else {
                throw .refusal("wrong-type", "\(name) must be a number or a string", at: pointer)
            }
            parts.tests.add(signs: Self.comparisons[name]!, comparedTo: text, at: place, folds: folds)
        }
    }

    // MARK: Orders and groups

    private mutating func readOrders(
        _ name: String, of what: String = "an item", places: [ItemPointer] = [.id, .kind, .expanded]
    ) throws(StateViewError) -> [StateView.Order] {
        try readEach(members, name, "orders", atMost: StateView.maxOrders) {
            (reader, element, pointer) throws(StateViewError) in
            let order = try ViewMembers(element, at: pointer, "an order", ["at", "descending"])
            let place = try order.place("an order", in: what, places: places)
            let isDescending = try order.flag("descending") ?? false
            reader.writer.append("{\"at\":")
            reader.writer.append(string: place.pointer.description)
            reader.writer.append(isDescending ? ",\"descending\":true}" : "}")
            return StateView.Order(place: place, isDescending: isDescending)
        }
    }

    private mutating func readGroup() throws(StateViewError) {
        guard let value = members["group"] else { return }
        let group = try ViewMembers(value, at: "\(members.pointer)/group", "a group", ["at", "prefix"])
        let place = try group.place("a group")
        let prefix = try group.count("prefix", atLeast: 1)
        parts.group = StateView.Group(place: place, prefix: prefix)
        write(name: "group")
        writer.append("{\"at\":")
        writer.append(string: place.pointer.description)
        if let prefix { write(name: "prefix", prefix) }
        writer.append("}")
    }

    private mutating func readCollapsed() throws(StateViewError) {
        guard let value = members["collapsed"] else { return }
        let collapsed = try ViewMembers(value, at: "\(members.pointer)/collapsed", "collapsed", ["sections", "items"])
        parts.collapsed = (try collapsed.ids("sections") ?? [], try collapsed.ids("items") ?? [])
        let (sections, items) = parts.collapsed
        try check(sections.count + items.count, StateView.maxCollapsed, "collapsed", "collapsed ids")
        if sections.isEmpty, items.isEmpty { return }
        write(name: "collapsed")
        writer.append("{")
        if !sections.isEmpty { write(name: "sections", sorted: sections) }
        if !items.isEmpty { write(name: "items", sorted: items) }
        writer.append("}")
    }

    /// The members of a content that are shown; nil for all.
    private mutating func readFields(
        _ name: String, of what: String, _ places: [ItemPointer], default standard: [JSONSlice]? = nil
    ) throws(StateViewError) -> PointerSet? {
        guard let elements = try members.list(name, "JSON Pointers") ?? standard else { return nil }
        try check(elements.count, StateView.maxFields, name, "fields")
        var fields: Set<ItemPointer> = []
        for (index, element) in elements.enumerated() {
            let text = try element.string.needed("a field must be a JSON Pointer", at: pointer(name, index))
            fields.insert(try ItemPointer(text, ofWhat: what, places: places, at: pointer(name, index)))
        }
        let inside = fields.compactMap(\.inside)
        if inside.contains(.root) { return nil }
        write(name: name, sorted: fields.filter { $0.inside != nil }.map { Array($0.pointer.description.utf8) })
        return PointerSet(inside)
    }
}

extension JSONSlice {
    /// A string without its case; any other value as it is.
    fileprivate var folded: JSONSlice {
        json.withBytes { bytes in
            let value = OrderedValue(at: bytes.baseAddress!)
            guard value.rank == .string else { return self }
            var writer = JSONWriter()
            let room = TextRoom()
            withExtendedLifetime(room) { writer.append(string: value.withoutCase(in: room).string.text) }
            return JSONText(accepted: writer.bytes()).slice
        }
    }

    /// The text of an id; nil for any other value.
    fileprivate var idText: [UInt8]? {
        if let string { return Array(string.utf8) }
        let digits = text
        let magnitude = digits.first == UInt8(ascii: "-") ? digits.dropFirst() : digits[...]
        return magnitude.allSatisfy(\.isDigit) ? digits : nil
    }
}

extension Sequence<[UInt8]> {
    /// The texts in one order, each once.
    fileprivate var asSet: [[UInt8]] { Set(self).sorted { $0.lexicographicallyPrecedes($1) } }
}
