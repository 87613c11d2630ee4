// A list inside any JSON document, found by pointers. A walk follows several pointers at once, since a section's id and
// its items are in the same element; whatever no pointer leads into is skipped. All pointers of a walk start at the
// same element and have come equally far: a walk is a set of pointers, as bits, and a depth, so its steps do not
// allocate.

extension StateShape.Element {
    /// Whether an item is its element, unchanged: that is its content, and its id is a value in it.
    var isInPlace: Bool { childrenAt == nil && idAt.count == 1 && !isMap }
}

extension StateReader {
    /// What a walk through one element found.
    private struct Finding {
        /// -1 in a section or the document.
        let item: Int
        let level: Int
        /// Where in `foundIDs` the id is, or its parts.
        let firstID: Int
        var seenParts = 0
        var sawList = false
        /// The member or element that held the list, to be cut out of the content.
        var listMember: Range<Int>?
    }

    /// Walks along all `targets` of one element, whose id has so many parts. The caller drops these of `foundIDs`.
    @inline(__always)
    private mutating func walkElement(
        _ targets: Targets, of document: DocumentTargets, parts: Int, item: Int = -1, level: Int = -1, depth: Int
    ) throws(JSONError) -> Finding {
        var finding = Finding(item: item, level: level, firstID: foundIDs.count)
        for _ in 0..<parts { foundIDs.append(nil) }
        try walk(targets, targets.all, level: 0, document, &finding, depth: depth)
        return finding
    }

    /// Takes a document and reads the list that stands at `places` in it.
    mutating func readDocument(
        _ shape: StateShape, _ places: StateShape.Places, depth: Int, at root: String
    ) throws(JSONError) {
        keepsFirst = places.keepsFirst
        path = DocumentPointers(root: root, layout: DocumentPointers.Layout(places))
        builder.place.shape = shape
        let targets = DocumentTargets(places)
        let sections = places.sectionsAt
        scanner.skipSpace()
        let start = scanner.at
        if sections == nil { beginMain() }
        let finding = try walkElement(targets.document, of: targets, parts: 0, depth: depth)
        if sections == nil { builder.endSection() }
        if !finding.sawList {
            let detail = sections.map { "no sections at \($0)" } ?? "no items at \"\(places.items)\""
            note("not-found", detail, at: root + (sections ?? places.items).description)
        }
        if let list = finding.listMember { keep(places.rest, of: start..<scanner.at, without: list) }
    }

    // MARK: Elements

    private mutating func readSectionElement(_ targets: DocumentTargets, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        let section = builder.openSection
        let start = scanner.at
        let finding = try walkElement(targets.section, of: targets, parts: 1, depth: depth)
        if let id = foundIDs.removeLast() {
            builder.setID(ofSection: section, id)
        } else if finding.seenParts == 0 {
            note("missing-id", "no id at \"\(targets.places.sectionIDAt)\" in this section", at: .section(""))
        }
        if !finding.sawList {
            note("missing-items", "no items at \"\(targets.places.items)\" in this section", at: .section(""))
        }
        if let cut = finding.listMember {
            builder.setContent(ofSection: section, stored(start..<scanner.at, without: cut))
        }
    }

    private mutating func readItemElement(
        _ item: Int, level: Int, _ targets: DocumentTargets, depth: Int
    ) throws(JSONError) {
        scanner.skipSpace()
        let start = scanner.at
        let element = targets.places.element
        let finding = try walkElement(
            targets.item, of: targets, parts: element.idAt.count, item: item, level: level, depth: depth)
        defer { foundIDs.removeLast(element.idAt.count) }
        if let cut = finding.listMember {
            builder.setContent(ofItem: item, stored(start..<scanner.at, without: cut))
        } else if !finding.sawList {
            builder.setContent(ofItem: item, start..<scanner.at)
        }
        if element.isMap { return }
        // A part that was seen but is no id has been noted already.
        if finding.seenParts != 1 << element.idAt.count - 1 {
            for (part, pointer) in element.idAt.enumerated() where finding.seenParts & 1 << part == 0 {
                note("missing-id", "no id at \"\(pointer)\" in this element", at: .item(""))
            }
        } else if let id = element.idAt.count == 1 ? foundIDs[finding.firstID] : joinedID(from: finding.firstID) {
            builder.setID(ofItem: item, id)
        }
    }

    /// The last ids found, joined to one: each escaped as in a JSON Pointer, and slashes between them. Nil if one of
    /// them was invalid.
    private mutating func joinedID(from first: Int) -> FoundID? {
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for index in first..<foundIDs.count {
            guard let part = foundIDs[index] else { return nil }
            if index > first { text.append(UInt8(ascii: "/")) }
            if part.flags.contains(.escapedID) {
                JSONPointer.escape(store.bytes(at: part.start, part.count), into: &text)
            } else {
                JSONPointer.escape(scanner.text(part.start..<part.start + part.count), into: &text)
            }
        }
        guard text.count <= StateLimits.maxIDBytes else {
            noteLongID(text.count, at: .item(""))
            return nil
        }
        // Stored like an id written with escapes: token and text, behind the document. An id has no control characters.
        var token = [UInt8(ascii: "\"")]
        token.reserveCapacity(text.count + 8)
        for byte in text {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { token.append(UInt8(ascii: "\\")) }
            token.append(byte)
        }
        token.append(UInt8(ascii: "\""))
        let start = token.withUnsafeBytes { token in
            text.withUnsafeBytes { store.append(escapedID: token, text: $0) }
        }
        return FoundID(start: start, count: text.count, flags: .escapedID)
    }

    /// Stores an element without one of its members and a comma beside that; returns where.
    private mutating func stored(_ element: Range<Int>, without member: Range<Int>) -> Range<Int> {
        let cut = withComma(member)
        let start = store.append(scanner.text(element.lowerBound..<cut.lowerBound))
        _ = store.append(scanner.text(cut.upperBound..<element.upperBound))
        return start..<start + element.count - cut.count
    }

    /// A member or an element, and one comma beside it.
    func withComma(_ member: Range<Int>) -> Range<Int> {
        var after = member.upperBound
        while isSpace(scanner.byte(after)) { after += 1 }
        if scanner.byte(after) == UInt8(ascii: ",") { return member.lowerBound..<after + 1 }
        var before = member.lowerBound - 1
        while isSpace(scanner.byte(before)) { before -= 1 }
        return scanner.byte(before) == UInt8(ascii: ",") ? before..<member.upperBound : member
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    // MARK: The walk

    /// Takes a value that the first `level` tokens of the targets `open` lead to.
    private mutating func walk(
        _ goals: Targets, _ open: Targets.Bits, level: Int, _ targets: DocumentTargets, _ finding: inout Finding,
        depth: Int
    ) throws(JSONError) {
        scanner.skipSpace()
        let ending = goals.ending(open, after: level)
        if ending != 0 { return try arrive(goals.goals(ending), targets, &finding, depth: depth) }
        switch scanner.byte(scanner.at) {
        case _ where open == 0: try scanner.skipValue(depth: depth)
        case UInt8(ascii: "{"):
            try readObject(depth: depth + 1) { (reader, token) throws(JSONError) in
                let inner = goals.through(open, level, reader.scanner.string(token))
                try reader.walk(
                    goals, inner, from: token.start - 1, level: level + 1, targets, &finding, depth: depth + 1)
            }
        case UInt8(ascii: "["): try walkArray(goals, open, level: level, targets, &finding, depth: depth + 1)
        default: try scanner.skipValue(depth: depth)
        }
    }

    private mutating func walkArray(
        _ goals: Targets, _ open: Targets.Bits, level: Int, _ targets: DocumentTargets, _ finding: inout Finding,
        depth: Int
    ) throws(JSONError) {
        var index = 0
        try readArray(depth: depth) { (reader) throws(JSONError) in
            reader.scanner.skipSpace()
            let inner = goals.through(open, level, index)
            try reader.walk(
                goals, inner, from: reader.scanner.at, level: level + 1, targets, &finding, depth: depth)
            index += 1
        }
    }

    /// Takes a member or element that starts at `start`.
    @inline(__always)
    private mutating func walk(
        _ goals: Targets, _ open: Targets.Bits, from start: Int, level: Int, _ targets: DocumentTargets,
        _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        if open == 0 { return try scanner.skipValue(depth: depth) }
        try walk(goals, open, level: level, targets, &finding, depth: depth)
        if finding.sawList, finding.listMember == nil, goals.holdList(goals.ending(open, after: level)) {
            finding.listMember = start..<scanner.at
        }
    }

    /// Takes the value that some pointers lead to. An array or object is taken only as a list, and only once.
    private mutating func arrive(
        _ goals: some Sequence<Targets.Goal>, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        let start = scanner.at
        let isContainer = scanner.byte(start) == UInt8(ascii: "[") || scanner.byte(start) == UInt8(ascii: "{")
        for goal in goals where goal.isList || !isContainer {
            scanner.at = start
            try arrive(goal, targets, &finding, depth: depth)
        }
        guard isContainer else { return }
        for goal in goals where !goal.isList { refuseContainer(goal, &finding) }
        if scanner.at == start { try scanner.skipValue(depth: depth) }
    }

    private mutating func refuseContainer(_ goal: Targets.Goal, _ finding: inout Finding) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            note(
                "invalid-id", "an id must be a string or an integer",
                at: finding.item < 0 ? .section("") : .item(""))
        case .kind: noteKind()
        case .expanded: note("wrong-type", "expanded is true or false", at: .expanded)
        case .sections, .items, .children: preconditionFailure("a list may be an array or an object")
        }
    }

    private mutating func arrive(
        _ goal: Targets.Goal, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            let id = try readID(depth: depth, at: finding.item < 0 ? .section("") : .item(""))
            foundIDs[finding.firstID + part] = id
        case .kind: try readKindValue(of: finding.item, depth: depth)
        case .expanded:
            if try takeNull() { return }
            setExpanded(.item(finding.item), try readExpanded(depth: depth, at: .expanded))
        case .sections:
            finding.sawList = true
            try readSections(depth: depth) { (reader) throws(JSONError) in
                try reader.readSectionElement(targets, depth: depth + 1)
            }
        case .items:
            finding.sawList = true
            try readItemElements(targets, depth: depth)
        case .children:
            finding.sawList = true
            try readChildren(of: finding.item, level: finding.level + 1, targets, depth: depth)
        }
    }

    private mutating func readItemElements(_ targets: DocumentTargets, depth: Int) throws(JSONError) {
        guard !targets.places.element.isMap else {
            return try readMap(parent: -1, level: 0, depth: depth) { (reader, item) throws(JSONError) in
                try reader.readItemElement(item, level: 0, targets, depth: depth + 1)
            }
        }
        try readTopItems(depth: depth) { (reader, item) throws(JSONError) in
            try reader.readItemElement(item, level: 0, targets, depth: depth + 1)
        }
    }

    /// Null stands for none.
    private mutating func readChildren(
        of item: Int, level: Int, _ targets: DocumentTargets, depth: Int
    ) throws(JSONError) {
        if try takeNull() { return }
        if targets.places.element.isMap {
            try readMap(parent: item, level: level, depth: depth) { (reader, child) throws(JSONError) in
                try reader.readItemElement(child, level: level, targets, depth: depth + 1)
            }
        } else {
            try readItems(parent: item, level: level, depth: depth) { (reader, child) throws(JSONError) in
                try reader.readItemElement(child, level: level, targets, depth: depth + 1)
            }
        }
    }

    // MARK: Values

    /// Takes a string, or an integer, whose digits are the kind; null is none, all else a violation.
    private mutating func readKindValue(of item: Int, depth: Int) throws(JSONError) {
        if try takeNull() { return }
        let start = scanner.at
        switch scanner.byte(start) {
        case UInt8(ascii: "\""):
            _ = try scanner.takeString()
            return builder.setKind(ofItem: item, start: start)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if try scanner.takeNumber() {
                builder.place.hasStoredKinds = true
                let digits = scanner.text(start..<scanner.at)
                return builder.setKind(ofItem: item, start: store.append(string: digits) - 1)
            }
        default: try scanner.skipValue(depth: depth)
        }
        noteKind()
    }

    private mutating func noteKind() { note("wrong-type", "a kind must be a string or an integer", at: .kind) }

    /// Takes null, if it is next.
    private mutating func takeNull() throws(JSONError) -> Bool {
        guard scanner.byte(scanner.at) == UInt8(ascii: "n") else { return false }
        try scanner.takeLiteral("null")
        return true
    }
}
