// Rows and sections as answers write them (defaults left out), and updates of them, which may bring a patch in place of
// the content.

/// What an update says of a row or section: all of it anew, but where it brings a patch.
struct Changed<Value: Sendable>: Sendable {
    var value: Value
    var patch: JSONText?
}

extension ChangeText {
    /// `{"sections":[…]}` with rows.
    func rowList(_ place: Place) throws(ApplyError) -> RowList {
        var sections: [RowList.Section]?
        try members(of: place) { (name, value) throws(ApplyError) in
            guard name.isText("sections") else { throw unknownMember(name, value) }
            var read: [RowList.Section] = []
            try elements(of: value) { (element) throws(ApplyError) in read.append(try section(element)) }
            sections = read
        }
        return RowList(sections: try required(sections, "sections", place))
    }

    /// A section; its rows, if they are written.
    func section(_ place: Place) throws(ApplyError) -> RowList.Section {
        let changed = try changedSection(place)
        if changed.patch != nil { throw wrong("a patch without anything to change", place) }
        return changed.value
    }

    func changedSection(_ place: Place) throws(ApplyError) -> Changed<RowList.Section> {
        var id: ElementID?
        var changed = Changed(value: RowList.Section(id: ""))
        try members(of: place) { (name, value) throws(ApplyError) in
            if name.isText("id") {
                id = try self.id(value)
            } else if name.isText("content") {
                changed.value.content = text(value)
            } else if name.isText("patch") {
                changed.patch = text(value)
            } else if name.isText("expanded") {
                changed.value.isExpanded = try boolean(value)
            } else if name.isText("items") {
                try elements(of: value) { (row) throws(ApplyError) in changed.value.rows.append(try self.row(row)) }
            } else {
                throw unknownMember(name, value)
            }
        }
        changed.value.id = try required(id, "id", place)
        if changed.patch != nil, changed.value.content != nil { throw wrong("either content or a patch", place) }
        return changed
    }

    func row(_ place: Place) throws(ApplyError) -> RowList.Row {
        let changed = try changedRow(place)
        if changed.patch != nil { throw wrong("a patch without anything to change", place) }
        return changed.value
    }

    func changedRow(_ place: Place) throws(ApplyError) -> Changed<RowList.Row> {
        var id: ElementID?
        var changed = Changed(value: RowList.Row(id: ""))
        try members(of: place) { (name, value) throws(ApplyError) in
            if name.isText("id") {
                id = try self.id(value)
            } else if name.isText("content") {
                changed.value.content = text(value)
            } else if name.isText("patch") {
                changed.patch = text(value)
            } else if name.isText("kind") {
                changed.value.kind = try string(value)
            } else if name.isText("level") {
                changed.value.level = try integer(value)
            } else if name.isText("parent") {
                changed.value.parent = try optionalID(value)
            } else if name.isText("expanded") {
                changed.value.isExpanded = try boolean(value)
            } else if name.isText("children") {
                changed.value.childCount = try integer(value)
            } else {
                throw unknownMember(name, value)
            }
        }
        changed.value.id = try required(id, "id", place)
        if changed.patch != nil, changed.value.content != nil { throw wrong("either content or a patch", place) }
        return changed
    }

    /// `reload` or `reconfigure`.
    func redraw(_ place: Place) throws(ApplyError) -> Marks.Redraw {
        switch try string(place) {
        case "reload": return .reload
        case "reconfigure": return .reconfigure
        default: throw wrong("as is reload or reconfigure", place)
        }
    }
}

extension Changed {
    /// The content that an update leads to from the old one.
    func content(_ said: JSONText?, from old: JSONText?, at offset: Int) throws(ApplyError) -> JSONText? {
        guard let patch else { return said }
        guard let old else { throw ApplyError(.noContent, "a patch for what has no content", at: offset) }
        return old.merging(patch)
    }
}

extension Changed<RowList.Row> {
    /// The row after the update.
    func applied(to old: RowList.Row, at offset: Int) throws(ApplyError) -> RowList.Row {
        guard old.id == value.id else {
            throw ApplyError(.unknownID, "\"\(old.id)\" stands where \"\(value.id)\" is updated", at: offset)
        }
        var row = value
        row.content = try content(value.content, from: old.content, at: offset)
        return row
    }
}

extension Changed<RowList.Section> {
    /// The section after the update, with its rows as they are.
    func applied(to old: RowList.Section, at offset: Int) throws(ApplyError) -> RowList.Section {
        guard old.id == value.id else {
            throw ApplyError(.unknownID, "\"\(old.id)\" stands where \"\(value.id)\" is updated", at: offset)
        }
        guard value.rows.isEmpty else { throw ApplyError(.wrongShape, "a section's update has no items", at: offset) }
        var section = value
        section.content = try content(value.content, from: old.content, at: offset)
        section.rows = old.rows
        return section
    }
}
