// A list inside any JSON document: pointers say where it stands. The walk goes down several pointers at once, since a
// section's id and its items stand in the same element; what no pointer leads into is skipped as a value.

extension StateReader {
    /// What stands at the end of a pointer.
    private enum Goal {
        case sections, items(section: Int), id
    }

    /// A pointer on the way: what remains of it.
    private struct Trail {
        var rest: ArraySlice<[UInt8]>
        var goal: Goal
    }

    /// What a walk through one element found.
    private struct Finding {
        var id: FoundID?
        var sawID = false
        var sawItems = false
        /// The member or element that held the items, to be cut out of a section's content.
        var itemsMember: Range<Int>?
    }

    /// Takes a document and reads the list that stands at `places` in it.
    mutating func readDocument(_ places: StateShape.Places, depth: Int, at root: String) throws(JSONError) {
        path = DocumentPointers(
            root: root, sections: places.sections?.description, items: places.items.description,
            sectionID: places.sectionID.description, itemID: places.itemID.description)
        var finding = Finding()
        if let sections = places.sections {
            try walk([Trail(rest: sections.tokens[...], goal: .sections)], places, &finding, depth: depth)
            if !finding.sawItems { note("not-found", "no sections at \(sections)", at: root + sections.description) }
        } else {
            builder.beginSection()
            builder.setID(ofSection: 0, start: DocumentText.mainStart(scanner.end), count: 4, flags: [])
            try walk([Trail(rest: places.items.tokens[...], goal: .items(section: 0))], places, &finding, depth: depth)
            builder.endSection()
            if !finding.sawItems {
                note("not-found", "no items at \"\(places.items)\"", at: root + places.items.description)
            }
        }
    }

    // MARK: Elements

    private mutating func readSectionElement(_ places: StateShape.Places, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        let section = builder.openSection
        let start = scanner.at
        var finding = Finding()
        let trails = [
            Trail(rest: places.sectionID.tokens[...], goal: .id),
            Trail(rest: places.items.tokens[...], goal: .items(section: section)),
        ]
        try walk(trails, places, &finding, depth: depth)
        if let id = finding.id {
            builder.setID(ofSection: section, start: id.start, count: id.count, flags: id.flags)
        } else if !finding.sawID {
            note("missing-id", "no id at \"\(places.sectionID)\" in this section", at: .section(""))
        }
        if !finding.sawItems {
            note("missing-items", "no items at \"\(places.items)\" in this section", at: .section(""))
        }
        if let cut = finding.itemsMember { setContent(ofSection: section, start..<scanner.at, without: cut) }
    }

    private mutating func readItemElement(_ item: Int, _ places: StateShape.Places, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        let start = scanner.at
        var finding = Finding()
        try walk([Trail(rest: places.itemID.tokens[...], goal: .id)], places, &finding, depth: depth)
        builder.setContent(ofItem: item, start: start, count: scanner.at - start)
        if let id = finding.id {
            builder.setID(ofItem: item, start: id.start, count: id.count, flags: id.flags)
        } else if !finding.sawID {
            note("missing-id", "no id at \"\(places.itemID)\" in this element", at: .item(""))
        }
    }

    /// A section's content: its element without the member that holds the items, and without one comma beside it.
    private mutating func setContent(ofSection section: Int, _ element: Range<Int>, without member: Range<Int>) {
        var cut = member
        var after = cut.upperBound
        while isSpace(scanner.byte(after)) { after += 1 }
        if scanner.byte(after) == UInt8(ascii: ",") {
            cut = cut.lowerBound..<after + 1
        } else {
            var before = cut.lowerBound - 1
            while isSpace(scanner.byte(before)) { before -= 1 }
            if scanner.byte(before) == UInt8(ascii: ",") { cut = before..<cut.upperBound }
        }
        let start = store.append(scanner.text(element.lowerBound..<cut.lowerBound))
        _ = store.append(scanner.text(cut.upperBound..<element.upperBound))
        builder.setContent(ofSection: section, start: start, count: element.count - cut.count)
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

    // MARK: The walk

    private mutating func walk(
        _ trails: [Trail], _ places: StateShape.Places, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        if let arrived = trails.first(where: { $0.rest.isEmpty }) {
            return try arrive(arrived.goal, places, &finding, depth: depth)
        }
        scanner.skipSpace()
        switch scanner.byte(scanner.at) {
        case _ where trails.isEmpty: try scanner.skipValue(depth: depth)
        case UInt8(ascii: "{"): try walkObject(trails, places, &finding, depth: depth + 1)
        case UInt8(ascii: "["): try walkArray(trails, places, &finding, depth: depth + 1)
        default: try scanner.skipValue(depth: depth)
        }
    }

    private mutating func walkObject(
        _ trails: [Trail], _ places: StateShape.Places, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        try readObject(depth: depth) { (reader, token) throws(JSONError) in
            let name = reader.scanner.string(token)
            try reader.walkChild(trails, places, &finding, start: token.start - 1, depth: depth) { name.isText($0) }
        }
    }

    private mutating func walkArray(
        _ trails: [Trail], _ places: StateShape.Places, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "]")) { return }
        var index = 0
        repeat {
            scanner.skipSpace()
            try walkChild(trails, places, &finding, start: scanner.at, depth: depth) { $0.arrayIndex == index }
            index += 1
        } while try scanner.takesComma(or: UInt8(ascii: "]"))
    }

    /// Walks on into a member or element that starts at `start`, along the trails whose next token it `matches`.
    private mutating func walkChild(
        _ trails: [Trail], _ places: StateShape.Places, _ finding: inout Finding, start: Int, depth: Int,
        matches: ([UInt8]) -> Bool
    ) throws(JSONError) {
        guard trails.contains(where: { matches($0.rest.first!) }) else { return try scanner.skipValue(depth: depth) }
        let inner = trails.compactMap { trail in
            matches(trail.rest.first!) ? Trail(rest: trail.rest.dropFirst(), goal: trail.goal) : nil
        }
        try walk(inner, places, &finding, depth: depth)
        if finding.sawItems, finding.itemsMember == nil, inner.contains(where: { $0.rest.isEmpty }) {
            finding.itemsMember = start..<scanner.at
        }
    }

    private mutating func arrive(
        _ goal: Goal, _ places: StateShape.Places, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        switch goal {
        case .id:
            finding.sawID = true
            let isSection = ordinalsAreEmpty
            finding.id = try readID(depth: depth, at: isSection ? .section("") : .item(""))
        case .items:
            finding.sawItems = true
            try readTopItems(depth: depth, itemID: places.itemID) { (reader, item) throws(JSONError) in
                try reader.readItemElement(item, places, depth: depth + 1)
            }
        case .sections:
            finding.sawItems = true
            try readSections(depth: depth) { (reader) throws(JSONError) in
                try reader.readSectionElement(places, depth: depth + 1)
            }
        }
    }
}
