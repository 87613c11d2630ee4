/// Where a state is in a JSON document.
public struct StateShape: Sendable, Equatable {
    /// One reference, since shapes are copied often and most are native.
    private let box: Boxed<FieldMapping>?

    /// Pointers into a document of any shape; nil for the library's own.
    public var mapping: FieldMapping? { box?.value }

    /// The library's own shape: an object with `sections`, an object with `items`, or an array of items.
    public static let native = StateShape()

    private init() { box = nil }

    /// Any JSON document, with the list at these places: each whole element is an item's content.
    public init(_ mapping: FieldMapping) {
        var mapping = mapping
        // A place that is omitted equals its default.
        mapping.itemsAt = mapping.items
        if mapping.sectionsAt == nil {
            (mapping.sectionIDAt, mapping.sectionExpandedAt, mapping.sectionsAreMap) = (.id, nil, false)
        }
        if mapping.element.groupAt == nil { mapping.element.groupPrefix = nil }
        box = Boxed(mapping)
    }

    /// Whether both have the same places.
    public static func == (one: StateShape, other: StateShape) -> Bool {
        one.box === other.box || one.mapping == other.mapping
    }

    /// Whether an element is read the same way in both.
    func hasElements(of other: StateShape) -> Bool { box === other.box || mapping?.element == other.mapping?.element }

    package var continuesHead: Bool { mapping?.element.continuesHead ?? false }

    /// Any JSON document, with the list at these places, as in `FieldMapping`; an item's id is at `idAt`.
    public static func pointers(
        sectionsAt: JSONPointer? = nil, sectionIDAt: JSONPointer? = nil, itemsAt: JSONPointer? = nil,
        idAt: JSONPointer? = nil
    ) -> StateShape {
        var mapping = FieldMapping()
        (mapping.sectionsAt, mapping.itemsAt) = (sectionsAt, itemsAt)
        if let sectionIDAt { mapping.sectionIDAt = sectionIDAt }
        if let idAt { mapping.element.idAt = [idAt] }
        return StateShape(mapping)
    }

    /// Where the list is in a document, and how its elements become items.
    public struct FieldMapping: Sendable, Equatable {
        /// The array of sections; nil for one section with the id `main` and no content.
        public var sectionsAt: JSONPointer?
        /// A section's id, from its element.
        public var sectionIDAt = JSONPointer.id
        /// Whether a section's rows are shown: a boolean, from its element.
        public var sectionExpandedAt: JSONPointer?
        /// Whether sections are the members of an object, with their names as ids, instead of an array's elements.
        public var sectionsAreMap = false
        /// The items, from a section's element (nil: at `/items`), or from the document (nil: the document itself).
        /// Always from the document if the elements say which section they belong to.
        public var itemsAt: JSONPointer?
        /// How an element of these is read.
        public var element = Element()
        /// Whether the first of several elements with one id is taken; otherwise the document is refused.
        public var keepsFirst = false
        /// Whether a list that does not exist, or whose container does not, is an empty one; otherwise the document is
        /// refused.
        public var takesMissing = false
        /// Whether an element without a usable id is left out; otherwise the document is refused.
        public var skipsInvalid = false
        /// Which part of the document becomes the state's own content.
        public var rest = Rest.none

        /// The document is the list, and its elements have an `id`.
        public init() {}

        /// Where the items are, given or by default.
        var items: JSONPointer { itemsAt ?? (sectionsAt == nil ? .root : JSONPointer(tokens: [Array("items".utf8)])) }
    }

    /// How an element becomes an item; the pointers start at the element.
    public struct Element: Sendable, Equatable {
        /// The parts of its id. Several are joined by `/`; within each, `~` is then written `~0` and `/` is `~1`.
        /// Without any, elements have no ids: each continues an item of the head, and has its id, or is new. Then they
        /// may be any JSON, but have no children.
        public var idAt = [JSONPointer.id]
        /// Its kind: a string or an integer.
        public var kindAt: JSONPointer?
        /// Its children, which are elements like itself.
        public var childrenAt: JSONPointer?
        /// Whether its children are shown: a boolean.
        public var expandedAt: JSONPointer?
        /// Whether elements are the members of an object, with their names as ids, instead of an array's elements. An
        /// array instead counts as an object of its indexes, in which nulls are holes.
        public var isMap = false
        /// The id of the section it belongs to: a string or an integer. If missing or empty, the section is `none`.
        /// Sections are in the order of their first elements, after those listed at `sectionsAt`. Ignored in children,
        /// which stay with their parents.
        public var groupAt: JSONPointer?
        /// How many leading Unicode scalars of the value at `groupAt` are the section's id; nil for all.
        public var groupPrefix: Int?
        /// Whether ids are unique within their section only. An item's id is then its section's, a slash and its own,
        /// with `~` in each written `~0` and `/` written `~1`.
        public var scopesIDs = false

        /// Whether elements have no ids of their own, and continue those of the head.
        package var continuesHead: Bool { idAt.isEmpty }

        /// An element with an `id`.
        public init() {}
    }

    /// Which part of a document, besides its list, becomes the list's own content.
    public enum Rest: Sendable, Equatable {
        case none
        /// All of it except the value at `itemsAt` or `sectionsAt`.
        case all
        /// Of that, these members.
        case members([JSONPointer])
    }
}

// MARK: - Members by name
//
// A shape as members by name, in a query, a body or a record.

extension StateShape {
    /// A member of a shape other than the native one.
    public enum Member: String, Sendable, CaseIterable {
        case sectionsAt
        case sectionIDAt = "sectionIdAt"
        case itemsAt, idAt, idBy, kindAt, childrenAt, expandedAt, sectionExpandedAt, groupAt, groupPrefix
        case idScope, map, rest, duplicates, missing, invalid

        /// Those that say where sections are: without meaning in a document of one section.
        package static let ofSections: Set<Member> = [
            .sectionsAt, .sectionIDAt, .sectionExpandedAt, .groupAt, .groupPrefix,
        ]

        /// Whether its value is a place, or takes that of an id.
        fileprivate var isPointer: Bool {
            ![.groupPrefix, .idScope, .map, .rest, .duplicates, .missing, .invalid].contains(self)
        }

        /// Whether it is about ids that elements have themselves, or about their children.
        fileprivate var excludesIDBy: Bool {
            [.idAt, .map, .childrenAt, .idScope, .duplicates, .invalid].contains(self)
        }

        /// The expected value, in words.
        fileprivate var expectation: String {
            switch self {
            case .map: "true or false"
            case .groupPrefix: "a whole number, 1 or more"
            case .idBy: "\"match\""
            case .idScope: "\"state\" or \"section\""
            case .idAt: "a JSON Pointer or an array of up to \(maxParts) of them"
            case .rest: "true, a JSON Pointer or an array of JSON Pointers"
            case .duplicates: "\"refuse\" or \"first\""
            case .missing: "\"refuse\" or \"empty\""
            case .invalid: "\"refuse\" or \"skip\""
            default: "a JSON Pointer"
            }
        }
    }

    /// The largest number of parts of an id.
    public static let maxParts = 4

    /// The largest number of places in `rest`.
    public static let maxRest = 32
    /// The largest number of segments of a pointer: the default depth of JSON. A longer one leads nowhere.
    public static let maxSegments = 64
    /// The largest number of bytes of a pointer, since each error and warning repeats it.
    public static let maxPointerBytes = 2_048

    /// Why members are not a valid shape.
    public struct Failure: Error, Equatable {
        /// The member at fault; nil if no single one is.
        public let member: Member?
        /// A readable sentence.
        public let detail: String
    }

    /// The shape given by members, each with its value as text. `idAt` may occur several times.
    public init(_ members: [(Member, String)]) throws(Failure) {
        guard members.contains(where: \.0.isPointer) else {
            let names = Member.allCases.filter(\.isPointer).map(\.rawValue).joined(separator: ", ")
            throw Failure(member: nil, detail: "a shape must have at least one of \(names)")
        }
        var mapping = FieldMapping()
        for (member, text) in members {
            switch member {
            case .sectionsAt: mapping.sectionsAt = try Self.pointer(member, text)
            case .sectionIDAt: mapping.sectionIDAt = try Self.pointer(member, text)
            case .itemsAt: mapping.itemsAt = try Self.pointer(member, text)
            case .idAt: break
            case .idBy: mapping.element.idAt = try Self.choice(member, text, ["match"]) == 0 ? [] : [.id]
            case .kindAt: mapping.element.kindAt = try Self.pointer(member, text)
            case .childrenAt: mapping.element.childrenAt = try Self.pointer(member, text)
            case .expandedAt: mapping.element.expandedAt = try Self.pointer(member, text)
            case .sectionExpandedAt: mapping.sectionExpandedAt = try Self.pointer(member, text)
            case .groupAt: mapping.element.groupAt = try Self.pointer(member, text)
            case .groupPrefix:
                guard let count = Int(text), count > 0 else { throw Self.wrong(member, text, member.expectation) }
                mapping.element.groupPrefix = count
            case .idScope: mapping.element.scopesIDs = try Self.choice(member, text, ["state", "section"]) == 1
            case .missing: mapping.takesMissing = try Self.choice(member, text, ["refuse", "empty"]) == 1
            case .invalid: mapping.skipsInvalid = try Self.choice(member, text, ["refuse", "skip"]) == 1
            case .map: mapping.element.isMap = try Self.choice(member, text, ["false", "true"]) == 1
            case .rest where text.hasPrefix("/"):
                let others: [JSONPointer] = if case .members(let others) = mapping.rest { others } else { [] }
                mapping.rest = .members(others + [try Self.pointer(member, text)])
            case .rest: mapping.rest = try Self.choice(member, text, ["false", "true"]) == 1 ? .all : .none
            case .duplicates: mapping.keepsFirst = try Self.choice(member, text, ["refuse", "first"]) == 1
            }
        }
        if case .members(let pointers) = mapping.rest, pointers.count > Self.maxRest {
            throw Failure(member: .rest, detail: "rest may name at most \(Self.maxRest) places")
        }
        if mapping.element.groupPrefix != nil, mapping.element.groupAt == nil {
            throw Failure(member: .groupPrefix, detail: "groupPrefix needs groupAt, whose value it shortens")
        }
        if mapping.element.groupAt != nil, mapping.sectionsAt != nil, mapping.itemsAt == nil {
            throw Failure(member: .groupAt, detail: "itemsAt is required with groupAt and sectionsAt")
        }
        if mapping.element.continuesHead, let other = members.first(where: { $0.0.excludesIDBy }) {
            throw Failure(member: .idBy, detail: "idBy cannot be combined with \(other.0.rawValue)")
        }
        // With a place for ids, lists stay lists.
        let isMap = mapping.element.isMap
        mapping.sectionsAreMap = isMap && !members.contains { $0.0 == .sectionIDAt }
        let parts = members.filter { $0.0 == .idAt }
        mapping.element.isMap = isMap && parts.isEmpty
        guard parts.count <= Self.maxParts else {
            throw Failure(member: .idAt, detail: "an id may have at most \(Self.maxParts) parts")
        }
        if !parts.isEmpty {
            mapping.element.idAt = try parts.map { (part) throws(Failure) in try Self.pointer(part.0, part.1) }
        }
        self.init(mapping)
    }

    /// A value that is none of those expected.
    private static func wrong(_ member: Member, _ text: String, _ expected: String) -> Failure {
        let shown = Violations.shown(Array(text.utf8))
        return Failure(member: member, detail: "\(member.rawValue) must be \(expected), not \"\(shown)\"")
    }

    private static func pointer(_ member: Member, _ text: String) throws(Failure) -> JSONPointer {
        guard text.utf8.count <= maxPointerBytes else {
            throw Failure(member: member, detail: "\(member.rawValue) has more than \(maxPointerBytes) bytes")
        }
        guard let pointer = JSONPointer(text) else {
            throw wrong(member, text, "a JSON Pointer, empty or starting with \"/\"")
        }
        guard pointer.tokens.count <= maxSegments else {
            throw Failure(member: member, detail: "\(member.rawValue) has more than \(maxSegments) segments")
        }
        return pointer
    }

    private static func choice(_ member: Member, _ text: String, _ choices: [String]) throws(Failure) -> Int {
        guard let index = choices.firstIndex(of: text) else {
            throw wrong(member, text, "one of \(choices.joined(separator: ", "))")
        }
        return index
    }

    // MARK: JSON

    /// Reads an object of members, at a pointer in its document.
    ///
    /// - Throws: `StateError.wrongShape`: each member that is wrong by itself, else what is wrong with their
    ///   combination.
    public init(_ value: JSONSlice, at pointer: String = "") throws(StateError) {
        guard let values = value.members else {
            throw .wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: "a shape must be an object")])
        }
        var violations: [Violation] = []
        let note = { (code: String, detail: String, pointer: String) in
            guard violations.count < Member.allCases.count else { return }
            violations.append(Violation(pointer: pointer, code: code, detail: detail))
        }
        var members: [(Member, String)] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let memberPointer = "\(pointer)/\(JSONPointer.escaped(name.utf8))"
            guard let member = Member(rawValue: name) else {
                let shown = Violations.shown(Array(name.utf8))
                note("unknown-member", "a shape has no member \"\(shown)\"", memberPointer)
                continue
            }
            guard let texts = Self.texts(of: member, value) else {
                note("wrong-type", "\(name) must be \(member.expectation)", memberPointer)
                continue
            }
            let added = texts.map { (member, $0) }
            // Together with what it may need, so that only its own mistakes are reported here.
            do throws(Failure) { _ = try StateShape([(.itemsAt, ""), (.groupAt, "")] + added) } catch {
                note("wrong-type", error.detail, memberPointer)
            }
            members += added
        }
        guard violations.isEmpty else { throw .wrongShape(violations) }
        do throws(Failure) { try self.init(members) } catch {
            let memberPointer = pointer + (error.member.map { "/" + $0.rawValue } ?? "")
            throw .wrongShape([Violation(pointer: memberPointer, code: "wrong-type", detail: error.detail)])
        }
    }

    /// A value as texts; nil if its type is none that the member takes.
    private static func texts(of member: Member, _ value: JSONSlice) -> [String]? {
        switch member {
        case .map: return value.flag.map { ["\($0)"] }
        case .groupPrefix: return value.integer.map { ["\($0)"] }
        case .idAt: return value.string.map { [$0] } ?? value.strings.flatMap { $0.isEmpty ? nil : $0 }
        case .rest:
            if let flag = value.flag { return ["\(flag)"] }
            return value.string.map { [$0] } ?? value.strings
        default: return value.string.map { [$0] }
        }
    }

    /// Writes it as an object of members that reads back as an equal shape. A native one has none.
    public func write(into writer: inout JSONWriter) {
        writer.append("{")
        for (member, texts) in members {
            writer.separate()
            writer.append(string: member.rawValue)
            writer.append(byte: UInt8(ascii: ":"))
            if texts == ["true"] || member == .groupPrefix {
                writer.append(verbatim: texts[0])
            } else if texts.count == 1 {
                writer.append(string: texts[0])
            } else {
                writer.append(array: texts) { $0.append(string: $1) }
            }
        }
        writer.append("}")
    }

    /// Its members, with their values as text. `itemsAt` is always among them.
    private var members: [(Member, [String])] {
        guard let mapping else { return [] }
        let element = mapping.element
        var members: [(Member, [String])] = [(.itemsAt, [mapping.items.description])]
        let add = { (member: Member, pointer: JSONPointer?) in
            if let pointer { members.append((member, [pointer.description])) }
        }
        add(.sectionsAt, mapping.sectionsAt)
        if mapping.sectionsAt != nil, !mapping.sectionsAreMap { add(.sectionIDAt, mapping.sectionIDAt) }
        add(.sectionExpandedAt, mapping.sectionExpandedAt)
        add(.kindAt, element.kindAt)
        add(.childrenAt, element.childrenAt)
        add(.expandedAt, element.expandedAt)
        add(.groupAt, element.groupAt)
        if let prefix = element.groupPrefix { members.append((.groupPrefix, ["\(prefix)"])) }
        if element.scopesIDs { members.append((.idScope, ["section"])) }
        if element.isMap || mapping.sectionsAreMap { members.append((.map, ["true"])) }
        if element.continuesHead {
            members.append((.idBy, ["match"]))
        } else if !element.isMap {
            members.append((.idAt, element.idAt.map(\.description)))
        }
        switch mapping.rest {
        case .none: break
        case .all: members.append((.rest, ["true"]))
        case .members(let pointers): members.append((.rest, pointers.map(\.description)))
        }
        if mapping.keepsFirst { members.append((.duplicates, ["first"])) }
        if mapping.takesMissing { members.append((.missing, ["empty"])) }
        if mapping.skipsInvalid { members.append((.invalid, ["skip"])) }
        return members
    }

    /// Its members, one for each value, without a place of items that is the default.
    package var essentials: [(Member, String)] {
        let isList = mapping.map { $0.sectionsAt == nil && !$0.element.isMap } ?? true
        return members.flatMap { member, texts in texts.map { (member, $0) } }
            .filter { !isList || $0.0 != .itemsAt || !$0.1.isEmpty }
    }

    /// Memory held, in bytes.
    public var footprint: Int { members.reduce(0) { $0 + $1.1.reduce(64) { $0 + 64 + 2 * $1.utf8.count } } }
}
