// A list inside any JSON document: pointers say where it stands. The walk goes down several pointers at once, since a
// section's id and its items stand in the same element; what no pointer leads into is skipped as a value. All pointers
// of a walk start at the same element and have come as far: a walk is a set of pointers, as bits, and a depth, so no
// step of it allocates.

extension StateShape.Element {
    /// Whether all that an item is stands in its element as it is: its content is the element, and its id a value
    /// there.
    var isInPlace: Bool { childrenAt == nil && idAt.count == 1 && !isMap }
}

extension StateReader {
    /// As many parts of an id as a shape may name. No array, which each item would allocate, nor one of fixed size,
    /// which Apple's systems know since 2025 only.
    private struct IDParts {
        private var parts: (FoundID?, FoundID?, FoundID?, FoundID?)

        subscript(_ index: Int) -> FoundID? {
            get {
                switch index {
                case 0: parts.0
                case 1: parts.1
                case 2: parts.2
                default: parts.3
                }
            }
            set {
                switch index {
                case 0: parts.0 = newValue
                case 1: parts.1 = newValue
                case 2: parts.2 = newValue
                default: parts.3 = newValue
                }
            }
        }
    }

    /// What a walk through one element found.
    private struct Finding {
        /// -1 in a section or the document.
        let item: Int
        let level: Int
        /// The id, or its parts.
        var ids = IDParts()
        var seenParts = 0
        var sawList = false
        /// The member or element that held the list, to be cut out of the content.
        var listMember: Range<Int>?

        init(item: Int = -1, level: Int = -1) { (self.item, self.level) = (item, level) }
    }

    /// Takes a document and reads the list that stands at `places` in it.
    mutating func readDocument(
        _ shape: StateShape, _ places: StateShape.Places, depth: Int, at root: String
    ) throws(JSONError) {
        let element = places.element
        keepsFirst = places.keepsFirst
        path = DocumentPointers(
            root: root, sections: places.sectionsAt?.description, items: places.items.description,
            sectionID: places.sectionIDAt.description,
            itemID: element.isMap || element.idAt.count > 1 ? "" : element.idAt[0].description,
            children: element.childrenAt?.description ?? "", isMap: element.isMap)
        let targets = DocumentTargets(shape, places)
        var finding = Finding()
        scanner.skipSpace()
        let start = scanner.at
        if let sections = places.sectionsAt {
            try walk(targets.document, targets.document.all, level: 0, targets, &finding, depth: depth)
            if !finding.sawList { note("not-found", "no sections at \(sections)", at: root + sections.description) }
        } else {
            builder.beginSection()
            builder.setID(ofSection: 0, start: DocumentText.mainStart(scanner.end), count: 4, flags: [])
            try walk(targets.document, targets.document.all, level: 0, targets, &finding, depth: depth)
            builder.endSection()
            if !finding.sawList {
                note("not-found", "no items at \"\(places.items)\"", at: root + places.items.description)
            }
        }
        if let list = finding.listMember { keep(places.rest, of: start..<scanner.at, without: list) }
    }

    // MARK: Elements

    private mutating func readSectionElement(_ targets: DocumentTargets, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        let section = builder.openSection
        let start = scanner.at
        var finding = Finding()
        try walk(targets.section, targets.section.all, level: 0, targets, &finding, depth: depth)
        if let id = finding.ids[0] {
            builder.setID(ofSection: section, start: id.start, count: id.count, flags: id.flags)
        } else if finding.seenParts == 0 {
            note("missing-id", "no id at \"\(targets.places.sectionIDAt)\" in this section", at: .section(""))
        }
        if !finding.sawList {
            note("missing-items", "no items at \"\(targets.places.items)\" in this section", at: .section(""))
        }
        if let cut = finding.listMember {
            let content = stored(start..<scanner.at, without: cut)
            builder.setContent(ofSection: section, start: content.start, count: content.count)
        }
    }

    private mutating func readItemElement(
        _ item: Int, level: Int, _ targets: DocumentTargets, depth: Int
    ) throws(JSONError) {
        scanner.skipSpace()
        let start = scanner.at
        var finding = Finding(item: item, level: level)
        try walk(targets.item, targets.item.all, level: 0, targets, &finding, depth: depth)
        if let cut = finding.listMember {
            let content = stored(start..<scanner.at, without: cut)
            builder.setContent(ofItem: item, start: content.start, count: content.count)
        } else if !finding.sawList {
            builder.setContent(ofItem: item, start: start, count: scanner.at - start)
        }
        let element = targets.places.element
        if element.isMap { return }
        // What was seen and is no id was told there.
        if finding.seenParts != 1 << element.idAt.count - 1 {
            for (part, pointer) in element.idAt.enumerated() where finding.seenParts & 1 << part == 0 {
                note("missing-id", "no id at \"\(pointer)\" in this element", at: .item(""))
            }
        } else if let id = element.idAt.count == 1 ? finding.ids[0] : joined(finding.ids, element.idAt.count) {
            builder.setID(ofItem: item, start: id.start, count: id.count, flags: id.flags)
        }
    }

    /// Several ids as one: each as in a JSON Pointer, and a slash between. Nil where one was told to be none.
    private mutating func joined(_ parts: IDParts, _ count: Int) -> FoundID? {
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for index in 0..<count {
            guard let part = parts[index] else { return nil }
            if index > 0 { text.append(UInt8(ascii: "/")) }
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
        // As if it had been written with escapes: its token stands beside its text, behind the document. An id has no
        // control characters.
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

    /// Where an element stands without one of its members, and without one comma beside that.
    private mutating func stored(_ element: Range<Int>, without member: Range<Int>) -> (start: Int, count: Int) {
        let cut = withComma(member)
        let start = store.append(scanner.text(element.lowerBound..<cut.lowerBound))
        _ = store.append(scanner.text(cut.upperBound..<element.upperBound))
        return (start, element.count - cut.count)
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

    /// Takes a value, along the targets of `open`, of which `level` tokens are behind it.
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
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "]")) { return }
        var index = 0
        repeat {
            scanner.skipSpace()
            let inner = goals.through(open, level, index)
            try walk(goals, inner, from: scanner.at, level: level + 1, targets, &finding, depth: depth)
            index += 1
        } while try scanner.takesComma(or: UInt8(ascii: "]"))
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

    /// Takes the value at the end of pointers. One that is an array or an object is only taken for a list, and once.
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
        for goal in goals where !goal.isList { refuseContainer(goal, targets, &finding) }
        if scanner.at == start { try scanner.skipValue(depth: depth) }
    }

    private mutating func refuseContainer(
        _ goal: Targets.Goal, _ targets: DocumentTargets, _ finding: inout Finding
    ) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            note(
                "invalid-id", "an id must be a string or an integer",
                at: finding.item < 0 ? .section("") : .item(""))
        case .kind: noteKind(targets)
        case .expanded: noteExpanded(targets)
        case .sections, .items, .children: preconditionFailure("a list may be an array or an object")
        }
    }

    private mutating func arrive(
        _ goal: Targets.Goal, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            finding.ids[part] = try readID(depth: depth, at: finding.item < 0 ? .section("") : .item(""))
        case .kind: try readKindValue(of: finding.item, targets, depth: depth)
        case .expanded:
            switch try readExpandedValue(targets, depth: depth) {
            case false: builder.collapse(item: finding.item)
            case true: said?.items.insert(finding.item)
            case nil: break
            }
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
            builder.place = ElementPlace(room: scanner.maxDepth - depth, shape: targets.shape)
            return try readMap(parent: -1, level: 0, depth: depth) { (reader, item) throws(JSONError) in
                try reader.readItemElement(item, level: 0, targets, depth: depth + 1)
            }
        }
        try readTopItems(depth: depth, shape: targets.shape) { (reader, item) throws(JSONError) in
            try reader.readItemElement(item, level: 0, targets, depth: depth + 1)
        }
    }

    /// Null stands for none.
    private mutating func readChildren(
        of item: Int, level: Int, _ targets: DocumentTargets, depth: Int
    ) throws(JSONError) {
        if scanner.byte(scanner.at) == UInt8(ascii: "n") { return try scanner.takeLiteral("null") }
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
    private mutating func readKindValue(of item: Int, _ targets: DocumentTargets, depth: Int) throws(JSONError) {
        let start = scanner.at
        switch scanner.byte(start) {
        case UInt8(ascii: "\""):
            _ = try scanner.takeString()
            return builder.setKind(ofItem: item, start: start)
        case UInt8(ascii: "n"): return try scanner.takeLiteral("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if try scanner.takeNumber() {
                builder.place.hasStoredKinds = true
                let digits = scanner.text(start..<scanner.at)
                return builder.setKind(ofItem: item, start: store.append(string: digits) - 1)
            }
        default: try scanner.skipValue(depth: depth)
        }
        noteKind(targets)
    }

    /// Takes true or false; null is neither, all else a violation.
    private mutating func readExpandedValue(_ targets: DocumentTargets, depth: Int) throws(JSONError) -> Bool? {
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "t"):
            try scanner.takeLiteral("true")
            return true
        case UInt8(ascii: "n"): try scanner.takeLiteral("null")
        case UInt8(ascii: "f"):
            try scanner.takeLiteral("false")
            return false
        default:
            try scanner.skipValue(depth: depth)
            noteExpanded(targets)
        }
        return nil
    }

    private mutating func noteKind(_ targets: DocumentTargets) {
        noteType("a kind must be a string or an integer", at: targets.places.element.kindAt)
    }

    private mutating func noteExpanded(_ targets: DocumentTargets) {
        noteType("expanded is true or false", at: targets.places.element.expandedAt)
    }

    private mutating func noteType(_ detail: String, at place: JSONPointer?) {
        if violations.isFull { return }
        let pointer = pointer(.item("")) + (place?.description ?? "")
        note("wrong-type", detail, at: pointer)
    }
}
