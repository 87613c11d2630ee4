// The value at `groupAt`: which group a row that is read belongs to, and the rows that were taken over.

extension StateParser {
    /// Takes the value that determines a row's group; returns the group's number, or nil, with a violation noted, if
    /// the value cannot be an id.
    mutating func readGroup(prefix: Int?, ofElementAt element: Int, depth: Int) throws(JSONError) -> Int? {
        if try takeNull() { return groupOfNone(at: element) }
        let start = scanner.at
        switch scanner.byte(start) {
        case UInt8(ascii: "\""):
            let token = try scanner.takeString()
            if token.isEscaped {
                let text = Array(StringText(scanner.base + token.start, token.count))
                return text.withUnsafeBytes { group(of: $0, prefix, nil, at: start, element) }
            }
            let text = scanner.text(token.start..<token.start + token.count)
            return group(
                of: text, prefix, FoundID(start: token.start, count: token.count, flags: []), at: start, element)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if try scanner.takeNumber() {
                let text = scanner.text(start..<scanner.at)
                return group(
                    of: text, prefix, FoundID(start: start, count: text.count, flags: .integerID), at: start, element)
            }
        default: try scanner.skipValue(depth: depth)
        }
        refuseGroup(at: DocumentPlace(start))
        return nil
    }

    mutating func refuseGroup(at place: DocumentPlace) {
        note("invalid-group", "the value at groupAt must be a string or an integer that is a valid id", at: place)
    }

    /// The group of the rows without one.
    mutating func groupOfNone(at element: Int) -> Int {
        Array("none".utf8).withUnsafeBytes { group(of: $0, nil, nil, at: element, element) } ?? 0
    }

    /// The group of a text, or of its first scalars.
    ///
    /// - Parameters:
    ///   - whole: where the text is in the document, if it is written there as it is.
    ///   - start: where the value is, and `element`, where the row is.
    private mutating func group(
        of text: UnsafeRawBufferPointer, _ prefix: Int?, _ whole: FoundID?, at start: Int, _ element: Int
    ) -> Int? {
        if text.isEmpty { return groupOfNone(at: element) }
        let id = UnsafeRawBufferPointer(rebasing: text.prefix(ofScalars: prefix ?? text.count))
        let place = groupedRow ?? itemCount - 1
        if let number = groups.number(of: id) {
            if place < groups.starts[number] {
                let found = whole.flatMap { id.count == text.count ? $0 : nil } ?? store.append(idText: id)
                groups.note(number, found, at: place)
            }
            return number
        }
        guard id.canBeID else {
            refuseGroup(at: DocumentPlace(start))
            return nil
        }
        // Omitted rows make no sections: if there may be any, sections are counted at the end.
        guard groups.count < limits.maxSections || keepsFirst || skipsInvalid else {
            exceed(
                "sections", limit: limits.maxSections, actual: limits.maxSections + 1, at: DocumentPlace(element))
            return nil
        }
        guard takesRoom(for: id.count, at: element) else { return nil }
        let found = whole.flatMap { id.count == text.count ? $0 : nil } ?? store.append(idText: id)
        return groups.insert(id, found, at: place)
    }

    /// Ends a document with groups: finds the groups of the rows taken over, unless all rows are in their known places
    /// and groups.
    mutating func endGroups() throws(JSONError) {
        guard let known, taken.count > 0, let element = builder.place.shape.places?.element else { return }
        // Then its rows are in their sections, as in a document without groups.
        isArranged = arrangeAsKnown(known)
        if !isArranged { try findGroups(ofKnown: known, prefix: element.groupPrefix) }
    }

    /// Finds the groups of rows taken over from the known state: those of one section have one group, whose id the
    /// first of them tells. O(rows).
    private mutating func findGroups(ofKnown known: KnownState, prefix: Int?) throws(JSONError) {
        defer { groupedRow = nil }
        for (run, shift) in zip(reusedRuns, taken.shifts) {
            var place = run.old
            while true {
                place = known.count(from: place, to: run.old + run.count, in: &taken)
                guard place < run.old + run.count else { break }
                let section = known.section(ofRowAt: place)
                groupedRow = place - run.old + run.new
                let element = section.element + Int(Int32(bitPattern: shift))
                let group = try readGroup(inElementAt: element, prefix: prefix)
                if taken.sections.count <= section.index {
                    let unknown = repeatElement((group: Int32(-1), count: UInt32(0)), count: section.index + 1)
                    taken.sections += unknown.dropFirst(taken.sections.count)
                }
                taken.sections[section.index].group = Int32(truncatingIfNeeded: group ?? groupOfNone(at: element))
            }
        }
    }

    private mutating func readGroup(
        inElementAt start: Int, prefix: Int?
    ) throws(JSONError) -> Int? {
        guard let value = groupPlace.value(in: scanner.base + start, entersArrays: true) else { return nil }
        let end = scanner.at
        scanner.at = value - scanner.base
        let group = try readGroup(prefix: prefix, ofElementAt: start, depth: 0)
        scanner.at = end
        return group
    }
}
