// For NSDiffableDataSourceSnapshot, which takes final ids and stages by itself, but never sees contents: what shows
// differently is said by id, and the contents that are new come along.

import SnapshotKit

/// What a `diffable` changeset says: the list after it, and what is to be drawn again.
public struct ListArrangement: Sendable {
    /// The list after the changes.
    public internal(set) var list = RowList()
    /// Rows whose cell is to be made anew.
    public internal(set) var reload: [ElementID] = []
    /// Rows whose cell is to be filled again.
    public internal(set) var reconfigure: [ElementID] = []
    /// Sections that are to be made anew, header, cells and all.
    public internal(set) var reloadSections: [ElementID] = []
    /// Sections whose header is to be filled again; their cells stay as they are.
    public internal(set) var reconfigureSections: [ElementID] = []
}

extension RowList {
    /// This list after the `changes` of a `diffable` changeset, and what is to be drawn again. O(n).
    ///
    /// - Throws: `ApplyError` if an id is neither in this list nor among what the changes bring, or stands in the new
    ///   list twice; or if what is to be drawn again is named twice, or is not in both lists: a snapshot would end the
    ///   program over it.
    public func arrangement(_ changes: consuming [UInt8]) throws(ApplyError) -> ListArrangement {
        try arrangement(JSONSlice(checking: changes))
    }

    func arrangement(_ changes: JSONSlice) throws(ApplyError) -> ListArrangement {
        let members = try changes.object(
            [
                "sections", "reload", "reconfigure", "reloadSections", "reconfigureSections", "items",
                "sectionContents",
            ])
        var contents = Contents(of: self)
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
    /// Checks that what is to be drawn again was there, still is, and is named once.
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
            throw ApplyError(.namedTwice, "what is to be drawn again is named twice", at: offset)
        }
        for list in lists() where !named.isSubset(of: list) {
            throw ApplyError(.unknownID, "what is to be drawn again is not in both lists", at: offset)
        }
    }
}

/// Rows and sections by id: those of the list before, renewed by those that the changes bring.
private struct Contents {
    private var rows: [ElementID: RowList.Row] = [:]
    private var sections: [ElementID: RowList.Section] = [:]

    init(of list: RowList) {
        for var section in list.sections {
            for row in section.rows { rows[row.id] = row }
            section.rows = []
            sections[section.id] = section
        }
    }

    mutating func update(row: Updated<RowList.Row>) throws(ApplyError) {
        rows[row.id] = try row.applied(to: rows[row.id])
    }

    mutating func update(section: Updated<RowList.Section>) throws(ApplyError) {
        sections[section.id] = try section.applied(to: sections[section.id])
    }

    /// `{"id":…,"items":[ids]}` with what the ids stand for.
    func section(_ value: JSONSlice) throws(ApplyError) -> RowList.Section {
        let members = try value.object(["id", "items"])
        guard var section = sections[try members.required("id").asID()] else {
            throw value.error(.unknownID, "a section comes without its content")
        }
        for id in try members["items"]?.asIDs() ?? [] {
            guard let row = rows[id] else { throw value.error(.unknownID, "no row has the id \"\(id)\"") }
            section.rows.append(row)
        }
        return section
    }
}
