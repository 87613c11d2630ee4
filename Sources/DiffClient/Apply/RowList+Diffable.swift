// For NSDiffableDataSourceSnapshot, which takes final ids and does its own staging, but never sees contents: the
// changes name the ids to draw again, and bring the new contents.

import SnapshotKit

/// The list after a `diffable` changeset, and what to draw again.
public struct ListArrangement: Sendable {
    /// The list after the changes.
    public internal(set) var list = RowList()
    /// Rows whose cells are to be replaced.
    public internal(set) var reload: [ElementID] = []
    /// Rows whose cells are to be filled again.
    public internal(set) var reconfigure: [ElementID] = []
    /// Sections whose header and cells are to be replaced.
    public internal(set) var reloadSections: [ElementID] = []
    /// Sections whose headers are to be filled again; their cells stay.
    public internal(set) var reconfigureSections: [ElementID] = []
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
        let members = try changes.object(
            [
                "sections", "reload", "reconfigure", "reloadSections", "reconfigureSections", "items",
                "sectionContents",
            ])
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
        var list = RowList(content: content, sections: [])
        for value in try members.required("sections").asArray() { list.sections.append(try elements.section(value)) }
        try list.requireUniqueIDs(at: changes.offset)
        let arrangement = ListArrangement(
            list: list, reload: try members["reload"]?.asIDs() ?? [],
            reconfigure: try members["reconfigure"]?.asIDs() ?? [],
            reloadSections: try members["reloadSections"]?.asIDs() ?? [],
            reconfigureSections: try members["reconfigureSections"]?.asIDs() ?? [])
        let rows = arrangement.reload + arrangement.reconfigure
        let sections = arrangement.reloadSections + arrangement.reconfigureSections
        if rows.isEmpty, sections.isEmpty { return arrangement }
        guard Set(rows).count == rows.count, Set(sections).count == sections.count else {
            throw changes.error(.namedTwice, "an id to redraw is named twice")
        }
        let after = Elements(of: list)
        guard rows.allSatisfy({ before.rows[$0] != nil && after.rows[$0] != nil }),
            sections.allSatisfy({ before.sections[$0] != nil && after.sections[$0] != nil })
        else { throw changes.error(.unknownID, "an id to redraw is not in both lists") }
        return arrangement
    }
}

/// Rows, and sections without them, by id.
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
