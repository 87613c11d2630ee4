extension StateParser {
    /// Takes the value that determines a row's group; returns the group's number, or nil if there is no room for it.
    mutating func readGroup(ofElementAt element: Int, depth: Int) throws(JSONError) -> Int? {
        scanner.skipSpace()
        let start = scanner.at
        try scanner.skipValue(depth: depth)
        let value = OrderedValue(at: scanner.base + start)
        return GroupValue.of(value, prefix: groupPrefix) { number(of: $0, value, ofElementAt: element) }
    }

    mutating func groupOfNone(at element: Int) -> Int {
        GroupValue.of(.absent, prefix: nil) { number(of: $0, .absent, ofElementAt: element) } ?? 0
    }

    private mutating func number(of group: GroupValue, _ value: OrderedValue, ofElementAt element: Int) -> Int? {
        if group.form == .unusable { hasUnusableGroups = true }
        let ordinal = groupedRow ?? itemCount - 1
        if let number = groups.number(of: group.id) {
            if ordinal < groups.starts[number] { groups.note(number, id(of: group, value), at: ordinal) }
            return number
        }
        // Omitted rows make no sections: if there may be any, sections are counted at the end.
        guard groups.count < limits.maxSections || keepsFirst || skipsInvalid else {
            exceed("sections", limit: limits.maxSections, actual: limits.maxSections + 1, at: DocumentPlace(element))
            return nil
        }
        // For the id and the content.
        guard takesRoom(for: 2 * group.id.count + GroupValue.headerBytes, at: element) else { return nil }
        return groups.insert(group.id, id(of: group, value), at: ordinal)
    }

    private mutating func id(of group: GroupValue, _ value: OrderedValue) -> FoundID {
        let flags: NodeFlags
        switch group.form {
        case .literal where group.id.isInteger: flags = .integerID
        case .string where value.rank == .string && !value.isEscaped && group.id.count == value.text.count: flags = []
        default: return store.append(idText: group.id)
        }
        return FoundID(start: group.id.baseAddress! - scanner.base, count: group.id.count, flags: flags)
    }

    /// Finds the groups of the rows taken over, unless the known arrangement can be reused. O(rows).
    mutating func endGroups() throws(JSONError) {
        guard let known, taken.count > 0 else { return }
        // Then its rows are in their sections, as in a document without groups.
        isArranged = arrangeAsKnown(known)
        if isArranged { return }
        defer { groupedRow = nil }
        // Rows of one section have one group, whose id the first of them tells.
        for (run, shift) in zip(sharedRuns, taken.shifts) {
            var ordinal = run.old
            while true {
                ordinal = known.count(from: ordinal, to: run.old + run.count, in: &taken)
                guard ordinal < run.old + run.count else { break }
                let item = known.item(at: ordinal)
                let section = Int(known.view.nodes[item].section)
                groupedRow = ordinal - run.old + run.new
                let element = Int(known.view.payloads[item].contentStart &+ shift)
                let group = try readGroup(inElementAt: element)
                while taken.sections.count <= section { taken.sections.append((group: -1, count: 0)) }
                taken.sections[section].group = Int32(truncatingIfNeeded: group ?? groupOfNone(at: element))
            }
        }
    }

    private mutating func readGroup(inElementAt start: Int) throws(JSONError) -> Int? {
        guard let value = groupPlace.value(in: scanner.base + start, entersArrays: true) else { return nil }
        let end = scanner.at
        scanner.at = value - scanner.base
        let group = try readGroup(ofElementAt: start, depth: 0)
        scanner.at = end
        return group
    }
}

// A section's content says what its first row does, so it is made once all rows are in their sections, whether they
// were read or taken over.

extension StateParser {
    /// Gives the sections from one on, which groups have made, their contents; and notes the first rows whose values
    /// could be no group. O(sections), and O(rows without a group) if there are or were such values.
    mutating func addHeaders(to builder: inout ColumnsBuilder, from first: Int, over text: TextRope) -> TextRope {
        guard !groupPlace.isEmpty else { return text }
        var buffer = TokenBuffer(base: text.count)
        unusableGroups = []
        text.withView { view in
            for index in builder.sections.indices {
                let (section, row) = (builder.sections[index], Int(builder.sections[index].firstItem))
                let id = view.bytes(ofID: section)
                if index >= first {
                    let form = formOfGroup(of: builder.nodes[row], builder.payloads[row], in: view)
                    builder.sections[index].setContent(buffer.append(headerOf: id, form))
                }
                if hasUnusableGroups, id.elementsEqual(GroupValue.none) {
                    noteUnusableGroups(in: section, of: builder, view)
                }
            }
        }
        builder.settings.hasUnusableGroups = !unusableGroups.isEmpty
        return text.appending(buffer)
    }

    private func formOfGroup(of row: Node, _ payload: Payload, in text: TextView) -> GroupValue.Form {
        guard row.flags.contains(.hasContent),
            let value = groupPlace.value(in: text.at(payload.contentStart), entersArrays: true)
        else { return .missing }
        return GroupValue.of(OrderedValue(at: value), prefix: groupPrefix) { $0.form }
    }

    private mutating func noteUnusableGroups(in section: SectionNode, of builder: ColumnsBuilder, _ text: TextView) {
        var row = Int(section.firstItem)
        while row < Int(section.endItem), unusableGroups.count < StateWarning.maxCount {
            if formOfGroup(of: builder.nodes[row], builder.payloads[row], in: text) == .unusable {
                // Rows without ids of their own, which are yet to be matched, are their elements.
                let offset =
                    elements == nil && builder.nodes[row].idCount > 0
                    ? idOffsets[Int(builder.nodes[row].idStart)] : Int(builder.payloads[row].contentStart)
                let place = DocumentPlace(
                    offset, levelsUp: builder.settings.levelsUpFromID, rest: groupPlace.pointers[0].description)
                unusableGroups.append(place)
            }
            row = Int(builder.nodes[row].end)
        }
    }
}
