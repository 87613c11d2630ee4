// What an edit is about, and where it puts it.

extension EditReader {
    /// Reads the array at `start` as the edit's operands.
    mutating func readOperands(of edit: inout Edit, from start: Int, at place: EditPointer, depth: Int)
        throws(JSONError)
    {
        guard let subject = edit.subject else { return }
        reader.scanner.at = start
        switch (edit.operation, subject) {
        case (.insert, .items): edit.operands = try readInsertedItems(at: place, depth: depth)
        case (.insert, .sections): edit.operands = try readInsertedSections(at: place, depth: depth)
        case (.update, _): edit.operands = try readUpdates(of: subject, at: place, depth: depth)
        default: edit.operands = try readIDs(of: subject, at: place, depth: depth)
        }
    }

    private mutating func readInsertedItems(at place: EditPointer, depth: Int) throws(JSONError) -> Range<Int> {
        reader.path = DocumentPointers(root: place.batch, edit: place.edit, items: "/items")
        let first = reader.builder.nodes.count
        reader.builder.beginSection()
        try reader.readItems(parent: -1, level: 0, depth: depth) { (reader, item) throws(JSONError) in
            try reader.readItem(item, level: 0, depth: depth + 1)
        }
        reader.builder.endSection()
        return first..<reader.builder.nodes.count
    }

    private mutating func readInsertedSections(at place: EditPointer, depth: Int) throws(JSONError) -> Range<Int> {
        let first = reader.builder.sections.count
        reader.path = DocumentPointers(
            root: place.batch, edit: place.edit, sections: "/sections", items: "/items", firstSection: first)
        try reader.readSections(depth: depth) { (reader) throws(JSONError) in
            try reader.readSection(depth: depth + 1, needsItems: false)
        }
        return first..<reader.builder.sections.count
    }

    private mutating func readIDs(of subject: Edit.Subject, at place: EditPointer, depth: Int) throws(JSONError)
        -> Range<
            Int
        >
    {
        reader.path = DocumentPointers(root: place.batch, edit: place.edit, member: subject.rawValue)
        var read: [EditID] = []
        var ordinal = 0
        try reader.readElements(depth: depth, of: subject.rawValue, at: .root) { (reader) throws(JSONError) in
            if let id = try reader.readEditID(depth: depth + 1, at: .element(ordinal, "")) { read.append(id) }
            ordinal += 1
        }
        ids += read
        return ids.count - read.count..<ids.count
    }

    // MARK: Updates

    private mutating func readUpdates(
        of subject: Edit.Subject, at place: EditPointer, depth: Int
    ) throws(JSONError) -> Range<Int> {
        reader.path = DocumentPointers(root: place.batch, edit: place.edit, member: subject.rawValue)
        var read: [EditUpdate] = []
        var ordinal = 0
        try reader.readElements(depth: depth, of: subject.rawValue, at: .root) { (reader) throws(JSONError) in
            if let update = try reader.readEditUpdate(of: subject, ordinal, depth: depth + 1) { read.append(update) }
            ordinal += 1
        }
        updates += read
        return updates.count - read.count..<updates.count
    }

    // MARK: Places

    /// Where an edit puts its operands; violations are noted.
    mutating func readPlace(
        _ members: Members, of edit: Edit, at place: EditPointer, depth: Int
    ) throws(JSONError) -> Edit.Place {
        let named = [Member.before, .after, .into].filter { members[$0] != nil }
        guard edit.operation.places else {
            for member in named + (members[.at] == nil ? [] : [.at]) {
                reader.note(
                    "wrong-shape", "only insert and move take a position, not \(edit.operation.rawValue)",
                    at: place("/\(member.rawValue)"))
            }
            return .unsaid
        }
        if named.count > 1 {
            reader.note("wrong-shape", "an edit has at most one of before, after and into", at: place())
            return .unsaid
        }
        let isAtStart = isAtStart(members, at: place)
        guard let anchor = named.first, let start = members[anchor] else {
            return isAtStart.map { $0 ? .start : .end } ?? .unsaid
        }
        reader.scanner.at = start
        if anchor == .into {
            if edit.subject == .sections {
                reader.note("wrong-shape", "sections cannot be nested: use before, after or at", at: place("/into"))
                return .unsaid
            }
            return try readParent(at: place, depth: depth).map { .into($0, atStart: isAtStart ?? false) }
                ?? .unsaid
        }
        if members[.at] != nil {
            reader.note("wrong-shape", "at is used with into, or alone", at: place("/at"))
        }
        reader.path = DocumentPointers(root: place("/\(anchor.rawValue)"))
        guard let id = try reader.readEditID(depth: depth, at: .root) else { return .unsaid }
        return anchor == .before ? .before(id) : .after(id)
    }

    private mutating func isAtStart(_ members: Members, at place: EditPointer) -> Bool? {
        guard let start = members[.at] else { return nil }
        switch word(at: start, of: Edit.End.allCases) {
        case .start: return true
        case .end: return false
        case nil:
            reader.note("wrong-shape", "at is \"start\" or \"end\"", at: place("/at"))
            return nil
        }
    }

    /// `{"section":id}`, `{"item":id}` or an id.
    private mutating func readParent(at place: EditPointer, depth: Int) throws(JSONError) -> Edit.Parent? {
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "{") else {
            reader.path = DocumentPointers(root: place("/into"))
            return try reader.readEditID(depth: depth, at: .root).map { .either($0) }
        }
        var parents: [Edit.Parent] = []
        var count = 0
        try reader.readObject(depth: depth + 1) { (reader, token) throws(JSONError) in
            let name = reader.scanner.string(token).string
            reader.path = DocumentPointers(root: place("/into/\(JSONPointer.escaped(name.utf8))"))
            count += 1
            switch name {
            case "section": parents += try reader.readEditID(depth: depth + 1, at: .root).map { [.section($0)] } ?? []
            case "item": parents += try reader.readEditID(depth: depth + 1, at: .root).map { [.item($0)] } ?? []
            default:
                try reader.refuse(
                    "unknown-member", "into has no member \"\(Violations.shown(Array(name.utf8)))\"", at: .root,
                    depth: depth + 1)
            }
        }
        if count != 1 { reader.note("wrong-shape", "into names one section or one item", at: place("/into")) }
        return parents.count == 1 ? parents[0] : nil
    }
}

extension StateReader {
    /// Takes an id on its own; nil, with a violation noted, if something else stands here.
    fileprivate mutating func readEditID(depth: Int, at place: Place) throws(JSONError) -> EditID? {
        scanner.skipSpace()
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try readID(depth: depth, at: place).map(editID)
        default:
            try refuse("wrong-shape", "an id must be a string or an integer", at: place, depth: depth)
            return nil
        }
    }

    /// Takes an object that names what is to change, the element `ordinal` of its array.
    fileprivate mutating func readEditUpdate(
        of subject: Edit.Subject, _ ordinal: Int, depth: Int
    ) throws(JSONError) -> EditUpdate? {
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            try refuse(
                "wrong-shape", "an update holds objects", at: .element(ordinal, ""), depth: depth)
            return nil
        }
        var id: FoundID?
        var update = EditUpdate(id: EditID(start: 0, count: 0, hash: 0))
        let what = subject == .items ? "item" : "section"
        let seen = try readMembers(depth: depth + 1, of: what, at: .element(ordinal, "")) {
            (reader, member) throws(JSONError) in
            switch member {
            case .id: id = try reader.readID(depth: depth + 1, at: .element(ordinal, "/id"))
            case .content:
                let range = try reader.readContent(depth: depth + 1)
                update.content =
                    UInt32(truncatingIfNeeded: range.lowerBound)..<UInt32(truncatingIfNeeded: range.upperBound)
            case .expanded:
                update.isExpanded = try reader.readExpanded(depth: depth + 1, at: .element(ordinal, "/expanded"))
            case .kind where subject == .items:
                update.kindStart = try reader.readKind(depth: depth + 1, at: .element(ordinal, "/kind"))
                    .map { UInt32(truncatingIfNeeded: $0) }
            case .kind:
                try reader.refuse(
                    "unknown-member", "a section has no kind", at: .element(ordinal, "/kind"),
                    depth: depth + 1)
            case .items:
                try reader.refuse(
                    "wrong-shape", "an update cannot change items: insert, move or delete them",
                    at: .element(ordinal, "/items"), depth: depth + 1)
            }
        }
        if seen & StateMember.id.bit == 0 {
            note("wrong-shape", "an update needs an id", at: .element(ordinal, ""))
        }
        guard let id else { return nil }
        update.id = editID(id)
        return update
    }

    private func editID(_ id: FoundID) -> EditID {
        EditID(
            start: UInt32(truncatingIfNeeded: id.start), count: UInt16(truncatingIfNeeded: id.count),
            hash: id.flags.contains(.escapedID)
                ? store.idHash(at: id.start, id.count) : idHash(scanner.base + id.start, id.count))
    }
}
