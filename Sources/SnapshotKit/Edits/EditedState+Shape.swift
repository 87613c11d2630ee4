// What a shape reads in a content follows an edit. Before and after an edit changes a content, the shape reads it: what
// it reads otherwise now follows, so that the next document says nothing new. What counts is the change: a row that is
// not in the section of its group stays there until its group changes. What an edit says itself wins, and is written
// into the content, where the next document will have it.

/// What an edit says itself about an item or a section: its kind, as a JSON string, whether it is expanded, and whether
/// the edit puts it into its section.
struct Said {
    var kind: [UInt8]?
    var isExpanded: Bool?
    var isPut = false
}

extension EditedState {
    /// Reads the content of a vertex, by the list's shape or that of its section; nil if there is none.
    func reader(of vertex: Int) -> ShapeReader? {
        if batch.shapes.sections.isEmpty { return listReader }
        return isSection(vertex) ? nil : section(above: vertex).flatMap { sectionReaders[id(ofSection: $0).text] }
    }

    /// Reads the elements of the edit, which is an insertion of some.
    var elementReader: ShapeReader? {
        batch.shapes.areOfSections ? batch.shapes.targets[index].flatMap { sectionReaders[$0] } : requestReader
    }

    /// Whether the edit's elements, if it has any, were read by the shape of the section that they go into. If not,
    /// they will be, unless the batch is too tangled.
    mutating func areElementsRead(below parent: Int, _ violations: inout Violations) -> Bool {
        guard edit.isOfElements, batch.shapes.areOfSections, let section = section(above: parent) else { return true }
        let id = id(ofSection: section).text
        if batch.shapes.targets[index] == id { return true }
        if batch.shapes.areCorrectable {
            misread[index] = id
        } else {
            violations.note(
                "wrong-shape", "the section that these elements go into follows from too many edits: name it by into",
                at: DocumentPlace(edit.offset))
        }
        return false
    }

    /// The section that a vertex is, or is below.
    private func section(above vertex: Int) -> Int? {
        var section = vertex
        while section > EditedTree.root, !isSection(section) { section = tree.parent(of: section) }
        return section > EditedTree.root ? section : nil
    }

    /// Whether a shape reads the content of a vertex.
    func reads(_ vertex: Int) -> Bool { reader(of: vertex).map { $0.hasSections || !isSection(vertex) } ?? false }

    private func isSection(_ vertex: Int) -> Bool {
        switch self.vertex(numbered: vertex) {
        case .oldSection, .newSection, .madeSection: true
        case .oldItem, .newItem: false
        }
    }

    /// Whether a vertex is an item of the top level.
    private func isRow(_ vertex: Int) -> Bool {
        let parent = tree.parent(of: vertex)
        return parent > EditedTree.root && !isSection(vertex) && isSection(parent)
    }

    /// What the shape, which there must be, reads in a content as it is now.
    mutating func readFields(of vertex: Int) -> ShapeFields {
        let reader = reader(of: vertex)!
        // A row may have come from a section of another shape.
        if let known = fields[vertex], known.reader === reader { return known.fields }
        let isSection = isSection(vertex)
        let read = withContent(of: vertex) { reader.fields(of: $0, isSection: isSection) }
        fields[vertex] = (reader, read)
        return read
    }

    // MARK: Following

    /// Follows an update that may have changed a content.
    mutating func follow(
        _ update: EditUpdate, on vertex: Int, from before: ShapeFields, _ violations: inout Violations
    ) {
        fields[vertex] = nil
        let addition = batch.additions[update.additions].first ?? batch.additions[update.appends].first
        let place =
            (update.content ?? update.patch).map { DocumentPlace(Int($0.lowerBound)) }
            ?? addition.map { DocumentPlace($0.offset, levelsUp: 1) } ?? batch.place(of: update.id)
        let said = Said(kind: update.kindStart.map(kind), isExpanded: update.isExpanded)
        follow(said, on: vertex, from: before, at: place, &violations)
    }

    /// Follows the insertion of a vertex of the batch, which is at its position.
    mutating func followInsertion(of vertex: Int, _ violations: inout Violations) {
        guard reads(vertex) else { return }
        let (node, payload) = record(of: vertex)
        let isInText = node.flags.contains(.hasContent) && !edit.isOfElements
        let place = isInText ? DocumentPlace(Int(payload.contentStart)) : batch.place(of: EditID(node))
        var said = Said(kind: node.flags.contains(.hasKind) ? kind(payload.kindStart) : nil)
        let index = vertex - firstNew
        let number = isSection(vertex) ? RecordIndex.section(index) : .item(index - batch.sections.count)
        if batch.mentioned.contains(number) { said.isExpanded = true }
        if node.flags.contains(.isCollapsed) { said.isExpanded = false }
        follow(said, on: vertex, from: nil, at: place, &violations)
        sayGroup(of: vertex, at: place, &violations)
    }

    private func kind(_ start: UInt32) -> [UInt8] {
        var cursor = JSONCursor(bytes + Int(start))
        return Array(cursor.takeValue())
    }

    /// Writes what an edit says itself into a content where a value stands, and has everything else follow.
    ///
    /// - Parameter before: what was read before; nil if the vertex is new.
    mutating func follow(
        _ said: Said, on vertex: Int, from before: ShapeFields?, at place: DocumentPlace, _ violations: inout Violations
    ) {
        write(said, into: vertex, at: place, &violations)
        let after = readFields(of: vertex)
        let old = before ?? ShapeFields()
        // Those of a new element were noted when it was read.
        let isRead = before == nil && edit.isOfElements && elementReader === reader(of: vertex)
        let what = isSection(vertex) ? "section" : "item"
        let advice = "keep the id in it, or delete this \(what) and insert another"
        for fault in after.faults where !isRead && !old.faults.contains(fault) {
            let isID = fault.code == "missing-id"
            if isID, before == nil { continue }
            violations.note(isID ? "id-changed" : "wrong-shape", fault.detail, advice: isID ? advice : nil, at: place)
        }
        if let id = after.id, id != old.id ?? ownID(of: vertex) {
            violations.note(
                "id-changed", "the content has the id \"\(Violations.shown(id))\" now", advice: advice, at: place)
        }
        if said.kind == nil, after.kind != old.kind { change(vertex) { $0.kind = .inContent(after.kind) } }
        if said.isExpanded == nil, after.isExpanded != old.isExpanded,
            let isExpanded = after.isExpanded ?? (keepsExpanded ? nil : true)
        {
            change(vertex) { $0.isCollapsed = !isExpanded }
        }
        // A row whose group has changed goes to the end of that section.
        if before != nil, !said.isPut, isRow(vertex), let group = after.group, group.id.text != old.group?.id.text,
            case let section = section(of: group), tree.parent(of: vertex) != section
        {
            tree.detach(vertex)
            put(vertex, in: Gap(parent: section))
        }
    }

    // MARK: Groups

    /// Whether the edit, an insertion, puts each row into the section of its group, by the list's shape or else by that
    /// of its elements.
    var goesByGroup: Bool {
        guard !edit.hasTarget, edit.subject == .items else { return false }
        return listReader?.isGrouped == true || edit.isOfElements && elementReader?.isGrouped == true
    }

    /// The end of the section of a new row's group.
    mutating func groupGap(of vertex: Int) -> Gap {
        let fields =
            listReader?.isGrouped == true
            ? readFields(of: vertex) : withContent(of: vertex) { elementReader!.fields(of: $0, isSection: false) }
        return Gap(parent: fields.group.map { section(of: $0) } ?? EditedTree.root)
    }

    /// The section of a group, which is made at the end if there is none.
    private mutating func section(of group: ShapeFields.Group) -> Int {
        if let section = find(.sections, group.id) { return section }
        let section = vertex(.madeSection(madeSections))
        madeSections += 1
        givenIDs.give(group.id, to: section, .sections)
        change(section) { $0.made = (group.content, nil) }
        put(section, in: Gap(parent: EditedTree.root))
        return section
    }

    /// Writes the group of the section that an edit has put a row into into its content, unless it has that group.
    mutating func sayGroup(of vertex: Int, at place: DocumentPlace, _ violations: inout Violations) {
        guard let element = listReader?.targets.mapping.element, let groupAt = element.groupAt,
            element.groupPrefix == nil, isRow(vertex)
        else { return }
        let before = readFields(of: vertex)
        let section = tree.parent(of: vertex)
        let id = id(ofSection: section)
        guard before.group?.id.text != id.text else { return }
        write(value(of: id, section), at: groupAt, into: vertex, place, &violations)
        follow(Said(isPut: true), on: vertex, from: before, at: place, &violations)
    }

    /// The value that puts a row into a section: its group if it has nothing else, or its id; nil for `none`.
    private func value(of id: GivenIDs.ID, _ section: Int) -> [UInt8]? {
        if id.text.elementsEqual(GroupValue.none) { return nil }
        if let value = withContent(of: section, { $0.groupAlone.map { Array($0) } }) { return value }
        if id.isInteger { return id.text }
        var writer = JSONWriter(capacity: id.text.count + 2)
        writer.append(string: id.text)
        return writer.bytes()
    }

    private func id(ofSection vertex: Int) -> GivenIDs.ID { givenIDs[vertex] ?? recordedID(of: vertex) }

    private func recordedID(of vertex: Int) -> GivenIDs.ID {
        let node = record(of: vertex).node
        let text = vertex < firstNew ? old.text.bytes(ofID: node) : text(EditID(node))
        return GivenIDs.ID(Array(text), isInteger: node.isInteger)
    }

    /// Whether a section goes since it has no rows, and is only there for its group.
    func ungroups(_ section: Int) -> Bool {
        guard let reader = listReader, reader.isGrouped, tree.first(in: section) < 0 else { return false }
        let id = id(ofSection: section).text
        return withContent(of: section) { reader.groups($0, intoSection: id) }
    }

    /// Whether some section goes, also after edits that change nothing. O(sections) of a list that is grouped.
    var ungroupsSections: Bool {
        listReader?.isGrouped == true && tree.children(of: EditedTree.root).contains(where: ungroups)
    }

    // MARK: Ids

    /// The id that a new item has in the end, unless that is the one it was read with: an element's may be within its
    /// section, the one with `gap`.
    mutating func givenID(of vertex: Int, in gap: Gap, _ violations: inout Violations) -> GivenIDs.ID? {
        if record(of: vertex).node.idCount == 0 { return GivenIDs.ID(newIDs.next(isTaken: isTaken)) }
        guard edit.isOfElements, elementReader?.scopesIDs == true, let section = section(above: gap.parent) else {
            return nil
        }
        let id = EditID(record(of: vertex).node)
        let names = [JSONPointer.escaped(self.id(ofSection: section).text), JSONPointer.escaped(text(id))]
        let text = Array(names.joined(separator: "/").utf8)
        if text.count <= StateLimits.maxIDBytes { return GivenIDs.ID(text) }
        violations.note("invalid-id", "with that of its section the id is too long", at: batch.place(of: id))
        return nil
    }

    /// Whether the state or the batch has, or had, an item of this id.
    private func isTaken(_ id: UnsafeRawBufferPointer) -> Bool {
        let hash = idHash(id.baseAddress!, id.count)
        return old.item(withID: id, hash: hash) != nil || givenIDs.vertex(.items, id) != nil
            || batch.nodeTable.first(hash) { isText(id, hash, of: batch.nodes[$0]) } != nil
    }

    /// The id that a vertex should have in its content.
    private func ownID(of vertex: Int) -> [UInt8] {
        // Of a new element, the one that was read.
        let id = recordedID(of: vertex).text
        guard reader(of: vertex)?.scopesIDs == true, givenIDs[vertex] == nil, !isSection(vertex),
            let slash = id.firstIndex(of: UInt8(ascii: "/"))
        else { return id }
        return JSONPointer("/" + String(decoding: id[(slash + 1)...], as: UTF8.self))?.tokens.first ?? id
    }

    func find(_ subject: Edit.Subject, _ id: GivenIDs.ID) -> Int? {
        id.text.withUnsafeBytes { find(subject, $0, id.hash) }
    }

    // MARK: Writing

    /// Writes what an edit says itself where a value stands that says otherwise.
    private mutating func write(
        _ said: Said, into vertex: Int, at place: DocumentPlace, _ violations: inout Violations
    ) {
        guard let mapping = reader(of: vertex)?.targets.mapping else { return }
        let isSection = isSection(vertex)
        if let kind = said.kind, let pointer = mapping.element.kindAt, !isSection,
            readFields(of: vertex).kind != kind, has(pointer, vertex)
        {
            write(kind, at: pointer, into: vertex, place, &violations)
        }
        let expandedAt = isSection ? mapping.sectionExpandedAt : mapping.element.expandedAt
        if let isExpanded = said.isExpanded, let pointer = expandedAt, readFields(of: vertex).isExpanded != isExpanded,
            has(pointer, vertex)
        {
            write(Array("\(isExpanded)".utf8), at: pointer, into: vertex, place, &violations)
        }
    }

    private func has(_ pointer: JSONPointer, _ vertex: Int) -> Bool {
        withContent(of: vertex) {
            !$0.isEmpty && PointerSet([pointer]).value(in: $0.baseAddress!, entersArrays: true) != nil
        }
    }

    /// Writes a value into a content, or nil for none, if it is an object that can hold it.
    private mutating func write(
        _ value: [UInt8]?, at pointer: JSONPointer, into vertex: Int, _ place: DocumentPlace,
        _ violations: inout Violations
    ) {
        guard takesRoom(vertex, place, &violations),
            let text = withContent(of: vertex, { JSONText(setting: value, at: pointer, in: $0) })
        else { return }
        madeBytes += text.count - (overrides[vertex]?.made?.text.count ?? 0)
        change(vertex) { $0.made = (text, nil) }
        fields[vertex] = nil
    }
}

/// Ids that vertices are given while edits are applied: those of sections that groups make, and of elements whose ids
/// follow from where they are put.
struct GivenIDs {
    struct ID {
        let text: [UInt8]
        let hash: UInt32
        let isInteger: Bool

        init(_ text: [UInt8], isInteger: Bool = false) {
            (self.text, self.isInteger) = (text, isInteger)
            hash = text.withUnsafeBytes { idHash($0.baseAddress!, $0.count) }
        }
    }

    private struct Key: Hashable {
        let subject: Edit.Subject
        let id: [UInt8]
    }

    private var ids: [Int: ID] = [:]
    private var vertices: [Key: Int] = [:]

    subscript(vertex: Int) -> ID? { ids.isEmpty ? nil : ids[vertex] }

    /// The vertex that was last given an id.
    func vertex(_ subject: Edit.Subject, _ id: UnsafeRawBufferPointer) -> Int? {
        vertices.isEmpty ? nil : vertices[Key(subject: subject, id: Array(id))]
    }

    mutating func give(_ id: ID, to vertex: Int, _ subject: Edit.Subject) {
        ids[vertex] = id
        vertices[Key(subject: subject, id: id.text)] = vertex
    }
}
