// Reading changes. The text is validated once as JSON; then members and elements are read on demand. Unknown members
// are refused: a client must not show what it has not understood.

import SnapshotKit

/// The members of an object in a changeset.
struct Members: Sendable {
    let owner: JSONSlice
    fileprivate let values: [String: JSONSlice]

    subscript(name: String) -> JSONSlice? { values[name] }

    func required(_ name: String) throws(ApplyError) -> JSONSlice {
        guard let value = values[name] else { throw owner.wrong("\(name) is missing") }
        return value
    }

    func list(_ name: String) throws(ApplyError) -> [JSONSlice] { try values[name]?.asArray() ?? [] }

    /// The content after an update, which has the new content, or what has changed of it.
    func content(after old: JSONText?) throws(ApplyError) -> JSONText? {
        let (patch, texts) = (values["patch"], values["append"])
        guard patch != nil || texts != nil else { return values["content"]?.json }
        if values["content"] != nil { throw owner.wrong("an update has content, or what has changed of it, not both") }
        guard let old else { throw owner.error(.noContent, "a patch for an element without content") }
        let patched = patch.map { old.merging($0.json) } ?? old
        guard let texts else { return patched }
        guard let grown = patched.appending(texts.json) else {
            throw texts.wrong("there are no such strings to append to")
        }
        return grown
    }
}

extension JSONSlice {
    init(checking json: consuming [UInt8]) throws(ApplyError) {
        do throws(JSONError) { self = try JSONText(json).slice } catch {
            throw ApplyError(.notJSON, error.reason.rawValue, at: error.offset)
        }
    }

    /// The members of an object, which may have only these.
    func object(_ names: [String]) throws(ApplyError) -> Members {
        guard let values = members else { throw wrong("an object is expected") }
        for (name, value) in values where !names.contains(name) { throw value.wrong("unknown member \"\(name)\"") }
        return Members(owner: self, values: values)
    }

    func asArray() throws(ApplyError) -> [JSONSlice] { try expect(elements, "an array") }
    func asString() throws(ApplyError) -> String { try expect(string, "a string") }
    func asInteger() throws(ApplyError) -> Int { try expect(integer, "a whole number") }

    /// A row's level. The limit is that of all states: code that recurses by level must not overflow its stack.
    fileprivate func asLevel() throws(ApplyError) -> Int {
        try expect(integer.flatMap { (0..<StateLimits.none.maxNesting).contains($0) ? $0 : nil }, "a level")
    }

    fileprivate func asBoolean() throws(ApplyError) -> Bool { try expect(flag, "true or false") }

    func asID() throws(ApplyError) -> ElementID {
        if let string { return ElementID(string) }
        let token = String(decoding: text, as: UTF8.self)
        guard token.utf8.allSatisfy({ "-0123456789".utf8.contains($0) }) else { throw wrong("an id is expected") }
        return ElementID(verbatimInteger: token)
    }

    func asIDs() throws(ApplyError) -> [ElementID] {
        try asArray().map { (element) throws(ApplyError) in try element.asID() }
    }

    func asRedraw() throws(ApplyError) -> Marks.Redraw {
        switch try asString() {
        case "reload": .reload
        case "reconfigure": .reconfigure
        default: throw wrong("as must be reload or reconfigure")
        }
    }

    private func expect<Value>(_ value: Value?, _ what: String) throws(ApplyError) -> Value {
        guard let value else { throw wrong("\(what) is expected") }
        return value
    }

    /// The error for a value that is not of the dialect.
    func wrong(_ detail: String) -> ApplyError { error(.wrongShape, detail) }

    func error(_ reason: ApplyError.Reason, _ detail: String) -> ApplyError { ApplyError(reason, detail, at: offset) }
}

// MARK: - Rows and sections
//
// Rows and sections leave out their defaults, and updates may have what has changed in place of a content.

/// A row or a section.
protocol ListElement: Sendable {
    var id: ElementID { get }
    var content: JSONText? { get set }

    /// Its name in changes.
    static var name: String { get }
    /// The members of an element, whether new or updated.
    static var members: [String] { get }
    /// The additional members of a new element.
    static var membersOfNew: [String] { get }

    init(_ members: Members) throws(ApplyError)
}

extension ListElement {
    init(_ value: JSONSlice) throws(ApplyError) { try self.init(try value.object(Self.members + Self.membersOfNew)) }
}

/// An update of a row or section: the new element, or the element without its content, and what has changed of that.
struct Updated<Element: Sendable>: Sendable {
    private let element: Element
    private let members: Members
}

extension Updated where Element: ListElement {
    init(_ value: JSONSlice) throws(ApplyError) {
        members = try value.object(Element.members + ["patch", "append"])
        element = try Element(members)
    }

    var id: ElementID { element.id }

    /// The element after the update; a section without its rows.
    func applied(to old: Element?) throws(ApplyError) -> Element {
        if let old, old.id != id {
            throw members.owner.error(.unknownID, "\"\(old.id)\" stands where \"\(id)\" is updated")
        }
        var element = element
        element.content = try members.content(after: old?.content)
        return element
    }
}

extension RowList.Row: ListElement {
    static let name = "item"
    static let members = ["id", "content", "kind", "level", "parent", "expanded", "children"]
    static let membersOfNew: [String] = []

    init(_ members: Members) throws(ApplyError) {
        self.init(id: try members.required("id").asID(), content: members["content"]?.json)
        kind = try members["kind"]?.asString()
        level = try members["level"]?.asLevel() ?? level
        if let value = members["parent"], !value.isNull { parent = try value.asID() }
        isExpanded = try members["expanded"]?.asBoolean() ?? isExpanded
        childCount = try members["children"]?.asInteger() ?? childCount
    }
}

extension RowList.Section: ListElement {
    static let name = "section"
    static let members = ["id", "content", "expanded"]
    static let membersOfNew = ["items"]

    init(_ members: Members) throws(ApplyError) {
        self.init(id: try members.required("id").asID(), content: members["content"]?.json)
        isExpanded = try members["expanded"]?.asBoolean() ?? isExpanded
        rows = try members.list("items").map(RowList.Row.init)
    }
}
