// For NSDiffableDataSourceSnapshot, which takes final ids and does its own staging, but never sees contents: the
// changes name the ids to draw again, and bring the new contents.

import SnapshotKit

/// The list after a `diffable` changeset, and what to draw again.
public struct ListArrangement: Sendable {
    /// The list after the changes.
    public internal(set) var list: RowList
    /// Rows whose cells are to be replaced.
    public let reload: [ElementID]
    /// Rows whose cells are to be filled again.
    public let reconfigure: [ElementID]
    /// Sections whose header and cells are to be replaced.
    public let reloadSections: [ElementID]
    /// Sections whose headers are to be filled again; their cells stay.
    public let reconfigureSections: [ElementID]
}

extension RowList {
    /// This list after the `changes` of a `diffable` changeset, and what to draw again. O(n).
    ///
    /// - Throws: `ApplyError` if an id is unknown, or twice in the new list; or if an id to draw again is named twice
    ///   or not in both lists, which would crash a snapshot.
    public func arrangement(_ changes: consuming [UInt8]) throws(ApplyError) -> ListArrangement {
        try arrangement(JSONSlice(checking: changes))
    }

    func arrangement(_ changes: JSONSlice) throws(ApplyError) -> ListArrangement {
        let redrawn = ["reload", "reconfigure", "reloadSections", "reconfigureSections"]
        let members = try changes.object(["sections", "items", "sectionContents"] + redrawn)
        let before = Elements(of: self)
        var elements = before
        for value in try members.list("items") {
            let update = try Updated<Row>(value)
            elements.rows[update.id] = try update.applied(to: elements.rows[update.id])
        }
        for value in try members.list("sectionContents") {
            let update = try Updated<Section>(value)
            elements.sections[update.id] = try update.applied(to: elements.sections[update.id])
        }
        let sections = try members.required("sections").asArray().map(elements.section)
        let list = RowList(content: content, sections: sections)
        try list.requireUniqueIDs(at: changes.offset)
        let ids = try redrawn.map { (name) throws(ApplyError) in try members[name]?.asIDs() ?? [] }
        lazy var after = Elements(of: list)
        try changes.requireRedrawable(ids[0] + ids[1]) { before.rows[$0] != nil && after.rows[$0] != nil }
        try changes.requireRedrawable(ids[2] + ids[3]) { before.sections[$0] != nil && after.sections[$0] != nil }
        return ListArrangement(
            list: list, reload: ids[0], reconfigure: ids[1], reloadSections: ids[2], reconfigureSections: ids[3])
    }
}

extension JSONSlice {
    /// Checks that ids to draw again are named once, and in both lists.
    fileprivate func requireRedrawable(_ ids: [ElementID], _ isInBoth: (ElementID) -> Bool) throws(ApplyError) {
        if ids.firstRepeated != nil { throw error(.namedTwice, "an id to redraw is named twice") }
        if !ids.allSatisfy(isInBoth) { throw error(.unknownID, "an id to redraw is not in both lists") }
    }
}

/// Rows, and sections without their rows, by id.
struct Elements {
    var rows: [ElementID: RowList.Row] = [:]
    var sections: [ElementID: RowList.Section] = [:]

    init(of list: RowList) {
        for var section in list.sections {
            for row in section.rows { rows[row.id] = row }
            section.rows = []
            sections[section.id] = section
        }
    }

    /// The section of `{"id":…,"items":[ids]}`, with its rows.
    fileprivate func section(_ value: JSONSlice) throws(ApplyError) -> RowList.Section {
        let members = try value.object(["id", "items"])
        guard var section = sections[try members.required("id").asID()] else {
            throw value.error(.unknownID, "the content of a section is missing")
        }
        for id in try members["items"]?.asIDs() ?? [] {
            guard let row = rows[id] else { throw value.error(.unknownID, "no row has the id \"\(id)\"") }
            section.rows.append(row)
        }
        return section
    }
}
