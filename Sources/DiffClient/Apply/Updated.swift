// Reading changes. The text is validated once as JSON; then members and elements are read on demand. Unknown members
// are refused: a client must not show what it has not understood.

import SnapshotKit

/// The members of an object in a changeset.
struct Members {
    let owner: JSONSlice
    fileprivate let values: [String: JSONSlice]

    subscript(name: String) -> JSONSlice? { values[name] }

    /// A member that must be there.
    func required(_ name: String) throws(ApplyError) -> JSONSlice {
        guard let value = values[name] else { throw owner.wrong("\(name) is missing") }
        return value
    }

    /// The elements of an optional array.
    func list(_ name: String) throws(ApplyError) -> [JSONSlice] { try values[name]?.asArray() ?? [] }
}

extension JSONSlice {
    /// Validates a text.
    init(checking json: consuming [UInt8]) throws(ApplyError) {
        do throws(JSONError) {
            self = try JSONText(json).slice
        } catch {
            throw ApplyError(.notJSON, error.reason.rawValue, at: error.offset)
        }
    }

    /// The members of an object that has no others than those named.
    func object(_ names: [String]) throws(ApplyError) -> Members {
        guard let values = members else { throw wrong("an object is expected") }
        for (name, value) in values where !names.contains(name) {
            throw value.wrong("unknown member \"\(name)\"")
        }
        return Members(owner: self, values: values)
    }

    func asArray() throws(ApplyError) -> [JSONSlice] { try expect(elements, "an array") }
    func asString() throws(ApplyError) -> String { try expect(string, "a string") }
    func asInteger() throws(ApplyError) -> Int { try expect(integer, "a whole number") }
    func asBoolean() throws(ApplyError) -> Bool { try expect(flag, "true or false") }

    func asID() throws(ApplyError) -> ElementID {
        if let string { return ElementID(string) }
        let token = String(decoding: text, as: UTF8.self)
        guard token.utf8.allSatisfy({ "-0123456789".utf8.contains($0) }) else { throw wrong("an id is expected") }
        return ElementID(verbatimInteger: token)
    }

    func asIDs() throws(ApplyError) -> [ElementID] {
        var ids: [ElementID] = []
        for element in try asArray() { ids.append(try element.asID()) }
        return ids
    }

    /// `reload` or `reconfigure`.
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
// Reading rows and sections, whose defaults are left out, and their updates, which may have a patch in place of a
// content.

/// A row or a section.
protocol ListElement: Sendable {
    var id: ElementID { get }
    var content: JSONText? { get set }

    /// The members of an element, whether new or updated.
    static var members: [String] { get }
    /// The additional members of a new element.
    static var membersOfNew: [String] { get }

    init(_ members: Members) throws(ApplyError)
}

extension ListElement {
    /// Reads a new element.
    init(_ value: JSONSlice) throws(ApplyError) { try self.init(try value.object(Self.members + Self.membersOfNew)) }
}

/// An update of a row or section: the new element, or all but its content, with a patch for that.
struct Updated<Element: Sendable>: Sendable {
    private let element: Element
    private let patch: JSONText?
    private let offset: Int
}

extension Updated where Element: ListElement {
    init(_ value: JSONSlice) throws(ApplyError) {
        let members = try value.object(Element.members + ["patch"])
        element = try Element(members)
        patch = members["patch"]?.json
        offset = value.offset
        if patch != nil, element.content != nil { throw value.wrong("an update has content or a patch, not both") }
    }

    var id: ElementID { element.id }

    /// The element after the update; a section without its rows.
    func applied(to old: Element?) throws(ApplyError) -> Element {
        if let old, old.id != id {
            throw ApplyError(.unknownID, "\"\(old.id)\" stands where \"\(id)\" is updated", at: offset)
        }
        guard let patch else { return element }
        guard let content = old?.content else {
            throw ApplyError(.noContent, "a patch for an element without content", at: offset)
        }
        var element = element
        element.content = content.merging(patch)
        return element
    }
}

extension RowList.Row: ListElement {
    static let members = ["id", "content", "kind", "level", "parent", "expanded", "children"]
    static let membersOfNew: [String] = []

    init(_ members: Members) throws(ApplyError) {
        self.init(id: try members.required("id").asID(), content: members["content"]?.json)
        kind = try members["kind"]?.asString()
        level = try members["level"]?.asInteger() ?? level
        if let value = members["parent"], !value.isNull { parent = try value.asID() }
        isExpanded = try members["expanded"]?.asBoolean() ?? isExpanded
        childCount = try members["children"]?.asInteger() ?? childCount
    }
}

extension RowList.Section: ListElement {
    static let members = ["id", "content", "expanded"]
    static let membersOfNew = ["items"]

    init(_ members: Members) throws(ApplyError) {
        self.init(id: try members.required("id").asID(), content: members["content"]?.json)
        isExpanded = try members["expanded"]?.asBoolean() ?? isExpanded
        for row in try members.list("items") { rows.append(try RowList.Row(row)) }
    }
}
