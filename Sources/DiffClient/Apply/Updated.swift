// Reading rows and sections, whose defaults are left out, and their updates, which may have a patch in place of a
// content.

import SnapshotKit

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
        if patch != nil, element.content != nil { throw value.wrong("either content or a patch") }
    }

    var id: ElementID { element.id }

    /// The element after the update; a section without its rows.
    func applied(to old: Element?) throws(ApplyError) -> Element {
        if let old, old.id != id {
            throw ApplyError(.unknownID, "\"\(old.id)\" stands where \"\(id)\" is updated", at: offset)
        }
        guard let patch else { return element }
        guard let content = old?.content else {
            throw ApplyError(.noContent, "a patch for what has no content", at: offset)
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
