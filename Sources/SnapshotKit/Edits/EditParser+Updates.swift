// What an update changes. A content is replaced as a whole, or changed by intents, which mean the same whatever others
// have done to it meanwhile: a merge patch, amounts added to numbers, and texts put behind others.

extension StateParser {
    /// What an element of an update may have.
    private enum UpdateMember: String, CaseIterable { case id, content, patch, add, append, kind, expanded, items }

    /// Takes an object that names what to change.
    mutating func readEditUpdate(
        of subject: Edit.Subject, _ additions: inout [EditAddition], depth: Int
    ) throws(JSONError) -> EditUpdate? {
        scanner.skipSpace()
        let place = here
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            try refuse("wrong-shape", "each element of an update must be an object", depth: depth)
            return nil
        }
        var id: FoundID?
        var (hasID, hasIntents) = (false, false)
        var update = EditUpdate()
        try readObject(depth: depth + 1) { (reader, name) throws(JSONError) in
            guard let member = reader.scanner.string(name).word(of: UpdateMember.allCases) else {
                let what = subject == .items ? "item" : "section"
                return try reader.refuseUnknown(name, of: what, depth: depth + 1)
            }
            if member == .patch || member == .add || member == .append { hasIntents = true }
            switch member {
            case .id:
                hasID = true
                id = try reader.readID(depth: depth + 1)
            case .content: update.content = try reader.readRange(depth: depth + 1)
            case .patch: update.patch = try reader.readRange(depth: depth + 1)
            case .add: update.additions = try reader.readAdditions(of: member, into: &additions, depth: depth + 1)
            case .append: update.appends = try reader.readAdditions(of: member, into: &additions, depth: depth + 1)
            case .expanded: update.isExpanded = try reader.readExpanded(depth: depth + 1)
            case .kind where subject == .items:
                update.kindStart = try reader.readKind(depth: depth + 1).map { UInt32(truncatingIfNeeded: $0) }
            case .kind: try reader.refuse("unknown-member", "a section has no kind", depth: depth + 1)
            case .items:
                try reader.refuse(
                    "wrong-shape", "an update cannot change items: insert, move or delete them", depth: depth + 1)
            }
        }
        if !hasID { note("wrong-shape", "an update needs an id", at: place) }
        if let content = update.content, hasIntents {
            note(
                "wrong-shape", "a content is either replaced, or changed by patch, add and append",
                at: DocumentPlace(Int(content.lowerBound)))
        }
        guard let id else { return nil }
        update.id = editID(id)
        return update
    }

    private mutating func readRange(depth: Int) throws(JSONError) -> Range<UInt32> {
        let range = try readContent(depth: depth)
        return UInt32(truncatingIfNeeded: range.lowerBound)..<UInt32(truncatingIfNeeded: range.upperBound)
    }

    /// Takes an object of pointers with the amounts, or the texts, to add there; `depth` counts the arrays and objects
    /// around it, as around the content.
    private mutating func readAdditions(
        of member: UpdateMember, into additions: inout [EditAddition], depth: Int
    ) throws(JSONError) -> Range<Int> {
        let first = additions.count
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            let values = member == .add ? "numbers" : "strings"
            try refuse("wrong-shape", "\(member.rawValue) must be an object of pointers with \(values)", depth: depth)
            return first..<first
        }
        try readObject(depth: depth + 1) { (reader, name) throws(JSONError) in
            let pointer = reader.scanner.string(name)
            let path = reader.readPath(pointer, at: name.start, room: reader.scanner.maxDepth - depth)
            let addend = try member == .add ? reader.readAmount(depth: depth + 1) : reader.readText(depth: depth + 1)
            if let path, let addend { additions.append(EditAddition(offset: name.start, path: path, addend: addend)) }
        }
        return first..<additions.count
    }

    /// Stores the reference tokens of a pointer as an array, and returns where; nil, with a violation noted, if it is
    /// no pointer or has more tokens than `room`.
    private mutating func readPath(_ name: JSONString, at offset: Int, room: Int) -> UInt32? {
        // Counted first, since the tokens of a long pointer take many times its memory.
        guard name.text.count(where: { $0 == UInt8(ascii: "/") }) <= room else {
            note("limit-exceeded", "the pointer leads deeper than \(room) levels", at: DocumentPlace(offset))
            return nil
        }
        guard let pointer = JSONPointer(name.string) else {
            note("wrong-shape", "a JSON Pointer is empty or starts with /", at: DocumentPlace(offset))
            return nil
        }
        let stored = store.append { writer in
            writer.append(array: pointer.tokens) { $0.append(string: $1) }
            return true
        }
        return stored.map { UInt32(truncatingIfNeeded: $0.lowerBound) }
    }

    /// Takes the number to add; nil, with a violation noted, for anything else.
    private mutating func readAmount(depth: Int) throws(JSONError) -> EditAddition.Addend? {
        let range = try readContent(depth: depth)
        let (token, place) = (scanner.text(range), DocumentPlace(range.lowerBound))
        guard let first = token.first, first == UInt8(ascii: "-") || first.isDigit else {
            note("not-a-number", "only a number can be added", at: place)
            return nil
        }
        guard let amount = ExactDecimal(token) else {
            note("limit-exceeded", EditedState.tooManyDigits, at: place)
            return nil
        }
        return .amount(amount)
    }

    /// Takes the text to append; nil, with a violation noted, for anything else.
    private mutating func readText(depth: Int) throws(JSONError) -> EditAddition.Addend? {
        let range = try readContent(depth: depth)
        if scanner.text(range).first == UInt8(ascii: "\"") {
            return .text(UInt32(truncatingIfNeeded: range.lowerBound))
        }
        note("not-a-string", "only a string can be appended", at: DocumentPlace(range.lowerBound))
        return nil
    }
}
