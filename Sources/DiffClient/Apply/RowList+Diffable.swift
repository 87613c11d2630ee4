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
        var contents = Elements(of: self)
        for value in try members.list("items") { try contents.update(row: Updated(value)) }
        for value in try members.list("sectionContents") { try contents.update(section: Updated(value)) }
        var arrangement = ListArrangement()
        arrangement.list.content = content
        for value in try members.required("sections").asArray() {
            arrangement.list.sections.append(try contents.section(value))
        }
        try arrangement.list.requireUniqueIDs(at: changes.offset)
        arrangement.reload = try members["reload"]?.asIDs() ?? []
        arrangement.reconfigure = try members["reconfigure"]?.asIDs() ?? []
        arrangement.reloadSections = try members["reloadSections"]?.asIDs() ?? []
        arrangement.reconfigureSections = try members["reconfigureSections"]?.asIDs() ?? []
        try arrangement.requireRedrawable(from: self, at: changes.offset)
        return arrangement
    }
}

extension ListArrangement {
    /// Checks that ids to draw again are in both lists, and named once.
    fileprivate func requireRedrawable(from before: RowList, at offset: Int) throws(ApplyError) {
        try require(
            reload + reconfigure, in: [before, list].map { $0.sections.flatMap { $0.rows.lazy.map(\.id) } }, at: offset)
        try require(
            reloadSections + reconfigureSections, in: [before, list].map { $0.sections.map(\.id) }, at: offset)
    }

    private func require(_ ids: [ElementID], in lists: @autoclosure () -> [[ElementID]], at offset: Int)
        throws(ApplyError)
    {
        guard !ids.isEmpty else { return }
        let named = Set(ids)
        guard named.count == ids.count else {
            throw ApplyError(.namedTwice, "an id to redraw is named twice", at: offset)
        }
        for list in lists() where !named.isSubset(of: list) {
            throw ApplyError(.unknownID, "an id to redraw is not in both lists", at: offset)
        }
    }
}

extension Elements {
    fileprivate mutating func update(row: Updated<RowList.Row>) throws(ApplyError) {
        rows[row.id] = try row.applied(to: rows[row.id])
    }

    fileprivate mutating func update(section: Updated<RowList.Section>) throws(ApplyError) {
        sections[section.id] = try section.applied(to: sections[section.id])
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
