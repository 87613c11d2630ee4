// What an edit is about, and where it puts it.

extension EditReader {
    /// Reads the array at `start` as the edit's operands.
    mutating func readOperands(
        of edit: inout Edit, _ subject: Edit.Subject, from start: Int, depth: Int
    ) throws(JSONError) {
        edit.subject = subject
        reader.scanner.at = start
        switch (edit.operation, subject) {
        case (.insert, .items): edit.operands = try readInsertedItems(depth: depth)
        case (.insert, .sections): edit.operands = try readInsertedSections(depth: depth)
        case (.update, _):
            let first = updates.count
            updates += try readElements(of: subject, depth: depth) { (reader, ordinal) throws(JSONError) in
                try reader.readEditUpdate(of: subject, ordinal, depth: depth + 1)
            }
            edit.operands = first..<updates.count
        default:
            let first = ids.count
            ids += try readElements(of: subject, depth: depth) { (reader, ordinal) throws(JSONError) in
                try reader.readEditID(depth: depth + 1, at: .element(ordinal, ""))
            }
            edit.operands = first..<ids.count
        }
    }

    private mutating func readInsertedItems(depth: Int) throws(JSONError) -> Range<Int> {
        reader.path = DocumentPointers(root: place.batch, edit: place.edit, layout: .items)
        let first = reader.builder.nodes.count
        reader.builder.beginSection()
        try reader.readItems(parent: -1, level: 0, depth: depth) { (reader, item) throws(JSONError) in
            try reader.readItem(item, level: 0, depth: depth + 1)
        }
        reader.builder.endSection()
        return first..<reader.builder.nodes.count
    }

    private mutating func readInsertedSections(depth: Int) throws(JSONError) -> Range<Int> {
        let first = reader.builder.sections.count
        reader.path = DocumentPointers(
            root: place.batch, edit: place.edit, firstSection: first, layout: .sections)
        try reader.readSections(depth: depth) { (reader) throws(JSONError) in
            try reader.readSection(depth: depth + 1, needsItems: false)
        }
        return first..<reader.builder.sections.count
    }

    /// Reads an array, but for elements that `read` has noted a violation of.
    private mutating func readElements<Element>(
        of subject: Edit.Subject, depth: Int, _ read: (inout StateReader, Int) throws(JSONError) -> Element?
    ) throws(JSONError) -> [Element] {
        reader.path = DocumentPointers(root: place.batch, edit: place.edit, member: subject.rawValue)
        var elements: [Element] = []
        var ordinal = 0
        try reader.readElements(depth: depth, of: subject.rawValue, at: .root) { (reader) throws(JSONError) in
            if let element = try read(&reader, ordinal) { elements.append(element) }
            ordinal += 1
        }
        return elements
    }

    // MARK: Destinations

    /// Where an edit puts its operands; nil if it does not say, or with a violation noted.
    mutating func readDestination(
        _ members: Members, of edit: Edit, depth: Int
    ) throws(JSONError) -> Edit.Destination? {
        let named = [Member.before, .after, .into].filter { members[$0] != nil }
        guard edit.operation.places else {
            for member in named + (members[.at] == nil ? [] : [.at]) {
                note(
                    "only insert and move take a position, not \(edit.operation.rawValue)", at: "/\(member.rawValue)")
            }
            return nil
        }
        if named.count > 1 {
            note("an edit has at most one of before, after and into")
            return nil
        }
        let end = members[.at].flatMap { word(at: $0, of: Edit.End.allCases) }
        if members[.at] != nil, end == nil { note("at is \"start\" or \"end\"", at: "/at") }
        guard let anchor = named.first, let start = members[anchor] else { return end.map { .at($0) } }
        reader.scanner.at = start
        if anchor == .into {
            if edit.subject == .sections {
                note("sections cannot be nested: use before, after or at", at: "/into")
                return nil
            }
            return try readParent(depth: depth).map { .into($0, end ?? .end) }
        }
        if members[.at] != nil { note("at is used with into, or alone", at: "/at") }
        reader.path = DocumentPointers(root: place("/\(anchor.rawValue)"))
        guard let id = try reader.readEditID(depth: depth, at: .root) else { return nil }
        return anchor == .before ? .before(id) : .after(id)
    }

    /// `{"section":id}`, `{"item":id}` or an id.
    private mutating func readParent(depth: Int) throws(JSONError) -> Edit.Parent? {
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "{") else {
            reader.path = DocumentPointers(root: place("/into"))
            return try reader.readEditID(depth: depth, at: .root).map { Edit.Parent(id: $0, subject: nil) }
        }
        var parents: [Edit.Parent] = []
        var count = 0
        try reader.readObject(depth: depth + 1) { [place] (reader, token) throws(JSONError) in
            let name = reader.scanner.string(token).string
            reader.path = DocumentPointers(root: place("/into/\(JSONPointer.escaped(name.utf8))"))
            count += 1
            guard name == "section" || name == "item" else {
                return try reader.refuse(
                    "unknown-member", "into has no member \"\(Violations.shown(Array(name.utf8)))\"", at: .root,
                    depth: depth + 1)
            }
            if let id = try reader.readEditID(depth: depth + 1, at: .root) {
                parents.append(Edit.Parent(id: id, subject: name == "item" ? .items : .sections))
            }
        }
        if count != 1 { note("into names one section or one item", at: "/into") }
        return parents.count == 1 ? parents[0] : nil
    }
}

extension StateReader {
    /// Takes an id on its own; nil, with a violation noted, for anything else.
    fileprivate mutating func readEditID(depth: Int, at place: Location) throws(JSONError) -> EditID? {
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
            try refuse("wrong-shape", "an update holds objects", at: .element(ordinal, ""), depth: depth)
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
                    "unknown-member", "a section has no kind", at: .element(ordinal, "/kind"), depth: depth + 1)
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
