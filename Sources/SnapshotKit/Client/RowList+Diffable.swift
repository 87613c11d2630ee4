// For NSDiffableDataSourceSnapshot, which takes final ids and stages by itself, but never sees contents: what shows
// differently is said by id, and the contents that are new come along.

/// What a `diffable` changeset says: the list after it, and what is to be drawn again.
public struct Arrangement: Sendable {
    /// The list after the changes.
    public internal(set) var list = RowList()
    /// Rows whose cell is to be made anew.
    public internal(set) var reload: [ElementID] = []
    /// Rows whose cell is to be filled again.
    public internal(set) var reconfigure: [ElementID] = []
    /// Sections whose header is to be drawn again.
    public internal(set) var reloadSections: [ElementID] = []
}

extension RowList {
    /// This list after the `changes` of a `diffable` changeset, and what is to be drawn again. O(n).
    ///
    /// - Throws: `ApplyError` if an id is neither in this list nor among what the changes bring, or stands in the new
    ///   list twice; or if what is to be drawn again is named twice, or is not in both lists: a snapshot would end the
    ///   program over it.
    public func arrangement(_ changes: consuming [UInt8]) throws(ApplyError) -> Arrangement {
        try ChangeText.read(changes) { (text) throws(ApplyError) in
            var arrangement = Arrangement()
            var contents = Contents(of: self)
            var sections: ChangeText.Place?
            // Contents first, wherever they stand: the final ids refer to them.
            try text.members(of: text.root) { (name, value) throws(ApplyError) in
                if name.isText("sections") {
                    sections = value
                } else if name.isText("reload") {
                    arrangement.reload = try text.ids(value)
                } else if name.isText("reconfigure") {
                    arrangement.reconfigure = try text.ids(value)
                } else if name.isText("reloadSections") {
                    arrangement.reloadSections = try text.ids(value)
                } else if name.isText("items") {
                    try text.elements(of: value) { (place) throws(ApplyError) in
                        try contents.takeRow(try text.changedRow(place), at: text.offset(place))
                    }
                } else if name.isText("sectionContents") {
                    try text.elements(of: value) { (place) throws(ApplyError) in
                        try contents.takeSection(try text.changedSection(place), at: text.offset(place))
                    }
                } else {
                    throw text.unknownMember(name, value)
                }
            }
            let place = try text.required(sections, "sections", text.root)
            try text.elements(of: place) { (place) throws(ApplyError) in
                arrangement.list.sections.append(try contents.section(place, text))
            }
            try arrangement.list.requireUniqueIDs(at: text.offset(place))
            try arrangement.requireRedrawable(from: self, at: text.offset(text.root))
            return arrangement
        }
    }
}

extension Arrangement {
    /// Checks that what is to be drawn again was there, still is, and is named once.
    fileprivate func requireRedrawable(from before: RowList, at offset: Int) throws(ApplyError) {
        try require(
            reload + reconfigure, in: [before, list].map { $0.sections.flatMap { $0.rows.lazy.map(\.id) } }, at: offset)
        try require(reloadSections, in: [before, list].map { $0.sections.map(\.id) }, at: offset)
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

    mutating func takeRow(_ changed: Changed<RowList.Row>, at offset: Int) throws(ApplyError) {
        let id = changed.value.id
        rows[id] = try changed.applied(to: rows[id] ?? RowList.Row(id: id), at: offset)
    }

    mutating func takeSection(_ changed: Changed<RowList.Section>, at offset: Int) throws(ApplyError) {
        let id = changed.value.id
        sections[id] = try changed.applied(to: sections[id] ?? RowList.Section(id: id), at: offset)
    }

    /// `{"id":…,"items":[ids]}` with what the ids stand for.
    func section(_ place: ChangeText.Place, _ text: ChangeText) throws(ApplyError) -> RowList.Section {
        var id: ElementID?
        var found: [RowList.Row] = []
        try text.members(of: place) { (name, value) throws(ApplyError) in
            if name.isText("id") {
                id = try text.id(value)
            } else if name.isText("items") {
                for id in try text.ids(value) {
                    guard let row = rows[id] else {
                        throw ApplyError(.unknownID, "no row has the id \"\(id)\"", at: text.offset(value))
                    }
                    found.append(row)
                }
            } else {
                throw text.unknownMember(name, value)
            }
        }
        guard var section = sections[try text.required(id, "id", place)] else {
            throw ApplyError(.unknownID, "a section comes without its content", at: text.offset(place))
        }
        section.rows = found
        return section
    }
}

extension ChangeText {
    fileprivate func ids(_ place: Place) throws(ApplyError) -> [ElementID] {
        var ids: [ElementID] = []
        try elements(of: place) { (element) throws(ApplyError) in ids.append(try id(element)) }
        return ids
    }
}
