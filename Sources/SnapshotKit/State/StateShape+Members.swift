// A shape as members by name, in a query, a body or a record.

extension StateShape {
    /// A member of a shape other than the native one.
    public enum Member: String, Sendable, CaseIterable {
        case sectionsAt
        case sectionIDAt = "sectionIdAt"
        case itemsAt, idAt, kindAt, childrenAt, expandedAt, map, rest, duplicates

        /// Whether its value is a place, and nothing else.
        var isPointer: Bool { self != .map && self != .rest && self != .duplicates }
    }

    /// The largest number of parts of an id.
    public static let maxParts = 4

    /// The largest number of places in `rest`.
    public static let maxRest = 32
    /// The largest number of segments of a pointer: the default depth of JSON. A longer one leads nowhere.
    public static let maxSegments = 64

    /// Why members are not a valid shape.
    public struct Failure: Error, Equatable {
        /// The member at fault; nil if it is no single one.
        public let member: Member?
        /// A readable sentence.
        public let detail: String
    }

    /// The shape given by members, each with its value as text. `idAt` may occur several times.
    public init(_ members: [(Member, String)]) throws(Failure) {
        guard members.contains(where: \.0.isPointer) else {
            let names = Member.allCases.filter(\.isPointer).map(\.rawValue).joined(separator: ", ")
            throw Failure(member: nil, detail: "a shape has at least one of \(names)")
        }
        var places = Places()
        for (member, text) in members {
            switch member {
            case .sectionsAt: places.sectionsAt = try Self.pointer(member, text)
            case .sectionIDAt: places.sectionIDAt = try Self.pointer(member, text)
            case .itemsAt: places.itemsAt = try Self.pointer(member, text)
            case .idAt: break
            case .kindAt: places.element.kindAt = try Self.pointer(member, text)
            case .childrenAt: places.element.childrenAt = try Self.pointer(member, text)
            case .expandedAt: places.element.expandedAt = try Self.pointer(member, text)
            case .map: places.element.isMap = try Self.choice(member, text, ["false", "true"]) == 1
            case .rest:
                places.rest =
                    text.hasPrefix("/")
                    ? try places.rest.adding(Self.pointer(member, text))
                    : try Self.choice(member, text, ["false", "true"]) == 1 ? .all : .none
            case .duplicates: places.keepsFirst = try Self.choice(member, text, ["refuse", "first"]) == 1
            }
        }
        if case .members(let pointers) = places.rest, pointers.count > Self.maxRest {
            throw Failure(member: .rest, detail: "rest may name at most \(Self.maxRest) places")
        }
        let parts = members.filter { $0.0 == .idAt }
        if !parts.isEmpty {
            if places.element.isMap {
                throw Failure(member: .idAt, detail: "with map, member names are the ids: leave idAt out")
            }
            guard parts.count <= Self.maxParts else {
                throw Failure(member: .idAt, detail: "an id has at most \(Self.maxParts) parts")
            }
            var pointers: [JSONPointer] = []
            for (member, text) in parts { pointers.append(try Self.pointer(member, text)) }
            places.element.idAt = pointers
        }
        self.init(places)
    }

    private static func pointer(_ member: Member, _ text: String) throws(Failure) -> JSONPointer {
        guard let pointer = JSONPointer(text) else {
            throw Failure(
                member: member,
                detail: "\(member.rawValue) is a JSON Pointer, empty or starting with \"/\", not \"\(text)\"")
        }
        guard pointer.tokens.count <= maxSegments else {
            throw Failure(member: member, detail: "\(member.rawValue) has more than \(maxSegments) segments")
        }
        return pointer
    }

    private static func choice(_ member: Member, _ text: String, _ choices: [String]) throws(Failure) -> Int {
        guard let index = choices.firstIndex(of: text) else {
            throw Failure(
                member: member,
                detail: "\(member.rawValue) is one of \(choices.joined(separator: ", ")), not \"\(text)\"")
        }
        return index
    }
}

extension StateShape.Rest {
    /// These and one member more.
    fileprivate func adding(_ pointer: JSONPointer) -> StateShape.Rest {
        if case .members(let pointers) = self { .members(pointers + [pointer]) } else { .members([pointer]) }
    }
}

// MARK: JSON

extension StateShape {
    /// Reads an object of members.
    ///
    /// - Parameter pointer: where it is in the document.
    /// - Throws: `StateError.wrongShape`: each member that is wrong by itself, else what is wrong with them together.
    public init(_ value: JSONSlice, at pointer: String = "") throws(StateError) {
        guard let values = value.members else {
            throw .wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: "a shape must be an object")])
        }
        var violations = Violations(limit: Member.allCases.count)
        var members: [(Member, String)] = []
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let place = "\(pointer)/\(JSONPointer.escaped(name.utf8))"
            guard let member = Member(rawValue: name) else {
                let shown = Violations.shown(Array(name.utf8))
                violations.note("unknown-member", "a shape has no member \"\(shown)\"", at: place)
                continue
            }
            guard let texts = Self.texts(of: member, value) else {
                violations.note("wrong-type", "\(name) is \(member.expectation)", at: place)
                continue
            }
            let said = texts.map { (member, $0) }
            do throws(Failure) { _ = try StateShape(said + [(.itemsAt, "")]) } catch {
                violations.note("wrong-type", error.detail, at: place)
            }
            members += said
        }
        guard violations.list.isEmpty else { throw .wrongShape(violations.list) }
        do throws(Failure) { try self.init(members) } catch {
            let place = pointer + (error.member.map { "/" + $0.rawValue } ?? "")
            throw .wrongShape([Violation(pointer: place, code: "wrong-type", detail: error.detail)])
        }
    }

    /// A value as texts; nil if it is of no type that the member takes.
    private static func texts(of member: Member, _ value: JSONSlice) -> [String]? {
        switch member {
        case .map: return value.flag.map { ["\($0)"] }
        case .idAt: return value.string.map { [$0] } ?? value.strings.flatMap { $0.isEmpty ? nil : $0 }
        case .rest:
            if let flag = value.flag { return ["\(flag)"] }
            return value.string.map { [$0] } ?? value.strings
        default: return value.string.map { [$0] }
        }
    }

    /// Writes it as an object of members that reads back as an equal shape. A native one has none.
    public func write(into writer: inout JSONWriter) {
        var separator = UInt8(ascii: "{")
        for (member, texts) in members {
            writer.append(byte: separator)
            separator = UInt8(ascii: ",")
            writer.append(string: member.rawValue)
            writer.append(byte: UInt8(ascii: ":"))
            if texts == ["true"] {
                writer.append("true")
            } else if texts.count == 1 {
                writer.append(string: texts[0])
            } else {
                writer.append(array: texts) { $0.append(string: $1) }
            }
        }
        if separator == UInt8(ascii: "{") { writer.append(byte: separator) }
        writer.append(byte: UInt8(ascii: "}"))
    }

    /// Its members, with their values as text. `itemsAt` is always among them.
    private var members: [(Member, [String])] {
        guard let places else { return [] }
        let element = places.element
        var members: [(Member, [String])] = [(.itemsAt, [places.items.description])]
        let add = { (member: Member, pointer: JSONPointer?) in
            if let pointer { members.append((member, [pointer.description])) }
        }
        add(.sectionsAt, places.sectionsAt)
        if places.sectionsAt != nil { add(.sectionIDAt, places.sectionIDAt) }
        add(.kindAt, element.kindAt)
        add(.childrenAt, element.childrenAt)
        add(.expandedAt, element.expandedAt)
        members.append(element.isMap ? (.map, ["true"]) : (.idAt, element.idAt.map(\.description)))
        switch places.rest {
        case .none: break
        case .all: members.append((.rest, ["true"]))
        case .members(let pointers): members.append((.rest, pointers.map(\.description)))
        }
        if places.keepsFirst { members.append((.duplicates, ["first"])) }
        return members
    }

    /// Memory held, in bytes.
    public var footprint: Int {
        members.reduce(0) { $0 + $1.1.reduce(64) { $0 + 64 + 2 * $1.utf8.count } }
    }
}

extension StateShape.Member {
    /// What its value should be, in words.
    fileprivate var expectation: String {
        switch self {
        case .map: "true or false"
        case .idAt: "a JSON Pointer, or an array of up to \(StateShape.maxParts)"
        case .rest: "true, or a JSON Pointer, or an array of these"
        case .duplicates: "\"refuse\" or \"first\""
        default: "a JSON Pointer"
        }
    }
}
