// A list inside any JSON document, found by pointers. A walk follows several at once, since a section's id and its
// items are in the same element; whatever no pointer leads into is skipped.

extension StateShape.Element {
    /// Whether an item is its element, unchanged, and its id is a value in it.
    var isVerbatim: Bool { childrenAt == nil && idAt.count <= 1 && !isMap && !scopesIDs }
}

extension ParseSettings {
    /// From the id of one part, which is not the name of a member, up to the element.
    var levelsUpFromID: Int {
        guard let element = shape.mapping?.element, !element.isMap, element.idAt.count == 1 else { return 0 }
        return element.idAt[0].tokens.count
    }
}

extension StateParser {
    /// The result of a walk through one element.
    private struct Finding {
        let start: Int
        /// -1 in a section or the document.
        let item: Int
        let level: Int
        var id: FoundID?
        /// The parts of an id that has several.
        var parts: [FoundID?] = []
        var seenParts = 0
        /// The lists that were found, and those whose way is blocked by a string, a number or a boolean.
        var lists: PointerPlace.Numbers = 0
        var blocked: PointerPlace.Numbers = 0
        /// The member or element that held a list, to be cut out of the content, and the one that held another.
        var listMember: Range<Int>?
        var otherListMember: Range<Int>?
        var group: Int?

        var sawList: Bool { lists != 0 }
    }

    @inline(__always)
    private mutating func walkElement(
        _ targets: Targets, of document: DocumentTargets, parts: Int = 1, item: Int = -1, level: Int = -1, depth: Int
    ) throws(JSONError) -> Finding {
        scanner.skipSpace()
        var finding = Finding(start: scanner.at, item: item, level: level)
        if parts > 1 { finding.parts = Array(repeating: nil, count: parts) }
        try targets.pointers.withRoot { (root) throws(JSONError) in
            try walk(targets, root, document, &finding, depth: depth)
        }
        return finding
    }

    /// Takes a document and reads the list at `mapping` in it.
    mutating func readDocument(_ shape: StateShape, _ mapping: StateShape.FieldMapping, depth: Int) throws(JSONError) {
        if mapping.keepsFirst { keepsFirst = true }
        if mapping.skipsInvalid { skipsInvalid = true }
        builder.settings.shape = shape
        let targets = DocumentTargets(mapping)
        let groupAt = mapping.element.groupAt
        (groupPlace, groupPrefix) = (PointerSet(groupAt.map { [$0] } ?? []), mapping.element.groupPrefix)
        hasUnusableGroups = known?.view.columns.settings.hasUnusableGroups ?? false
        if mapping.element.continuesHead, elements == nil {
            elements = ElementReading(
                known?.head?.value ?? ElementHead(sequence: 0), groupAt: groupAt,
                hasHead: known?.view.nodes.isEmpty != true)
        }
        let hasMain = mapping.sectionsAt == nil && groupAt == nil
        if hasMain { beginMain() }
        let finding = try walkElement(targets.document, of: targets, depth: depth)
        if hasMain {
            builder.endSection()
            if mapping.element.scopesIDs { scopeIDs(ofItemsFrom: 0, inSection: Array("main".utf8), at: finding.start) }
        }
        try endGroups()
        let advice = scanner.adviceIfEncodedTwice(at: root)
        for (list, pointer) in targets.document.pointers.pointers.enumerated()
        where finding.lists & 1 << list == 0 && (finding.blocked & 1 << list != 0 || !mapping.takesMissing) {
            let what = pointer == mapping.sectionsAt ? "sections" : "items"
            note(
                "not-found", "no \(what) at \"\(pointer)\"", advice: advice,
                at: DocumentPlace(root, rest: pointer.description))
        }
        if !mapping.takesMissing, sectionsWithItems == 0 {
            for start in sectionsWithoutItems { noteMissingItems(mapping, at: start) }
        }
        let members = [finding.otherListMember, finding.listMember].compactMap { $0 }
        if !members.isEmpty || !finding.sawList { keep(mapping.rest, of: root..<scanner.at, without: members) }
    }

    private mutating func noteMissingItems(_ mapping: StateShape.FieldMapping, at section: Int) {
        note("missing-items", "no items at \"\(mapping.items)\" in this section", at: DocumentPlace(section))
    }

    mutating func readSectionElement(_ targets: DocumentTargets, depth: Int) throws(JSONError) {
        let section = builder.openSection
        let finding = try walkElement(targets.section, of: targets, depth: depth)
        let start = finding.start
        if let id = finding.id {
            builder.setID(ofSection: section, id)
        } else if finding.seenParts == 0, !targets.mapping.sectionsAreMap {
            note("missing-id", "no id at \"\(targets.mapping.sectionIDAt)\" in this section", at: DocumentPlace(start))
        }
        // With groups, its items are elsewhere.
        if !targets.isGrouped {
            let record = builder.sections[section]
            if targets.scopesIDs, record.idCount > 0 {
                scopeIDs(ofItemsFrom: Int(record.firstItem), inSection: bytes(ofID: record), at: start)
            }
            if finding.blocked != 0 {
                noteMissingItems(targets.mapping, at: start)
            } else if finding.sawList {
                sectionsWithItems += 1
            } else {
                sectionsWithoutItems.append(start)
            }
        }
        if let content = content(of: finding) { builder.setContent(ofSection: section, content) }
    }

    mutating func readItemElement(_ item: Int, level: Int, _ targets: DocumentTargets, depth: Int) throws(JSONError) {
        let finding = try walkElement(
            targets.item, of: targets, parts: targets.idParts, item: item, level: level, depth: depth)
        let start = finding.start
        defer {
            if level == 0, targets.isGrouped { endRow(item, finding.group, scopesIDs: targets.scopesIDs, at: start) }
        }
        if let content = content(of: finding) { builder.setContent(ofItem: item, content) }
        if targets.idParts == 0 { return }
        // A part that was seen but is no id has already been noted.
        if finding.seenParts != 1 << targets.idParts - 1 {
            for (part, pointer) in targets.mapping.element.idAt.enumerated() where finding.seenParts & 1 << part == 0 {
                note("missing-id", "no id at \"\(pointer)\" in this element", at: DocumentPlace(start))
            }
        } else if let id = targets.idParts == 1 ? finding.id : joinedID(of: finding.parts, at: start) {
            builder.setID(ofItem: item, id)
        }
    }

    /// The parts of an id, each escaped as in a JSON Pointer, joined by slashes. Nil if one of them was invalid.
    private mutating func joinedID(of parts: [FoundID?], at start: Int) -> FoundID? {
        guard hasRoom else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for (index, part) in parts.enumerated() {
            guard let part else { return nil }
            if index > 0 { text.append(UInt8(ascii: "/")) }
            JSONPointer.escape(bytes(of: part)) { text.append($0) }
        }
        guard text.count <= StateLimits.maxIDBytes else {
            noteLongID(text.count, at: DocumentPlace(start))
            return nil
        }
        guard takesRoom(for: text.count, at: start) else { return nil }
        return text.withUnsafeBytes { storeID($0, writtenAt: start) }
    }

    /// The text of an id, in the document or stored after it.
    func bytes(of id: FoundID) -> [UInt8] {
        id.start >= store.start
            ? store.bytes(at: id.start, id.count) : Array(scanner.text(id.start..<id.start + id.count))
    }

    func bytes(ofID record: some IdentifiedRecord) -> [UInt8] {
        bytes(of: FoundID(start: Int(record.idStart), count: Int(record.idCount), flags: []))
    }

    /// Where the content of an element is: the element itself, or stored without its list and an adjacent comma. Nil if
    /// the element is the list, or if there is no room.
    @inline(__always)
    private mutating func content(of finding: Finding) -> Range<Int>? {
        let element = finding.start..<scanner.at
        guard let member = finding.listMember else { return finding.sawList ? nil : element }
        let cut = Self.withComma(member, in: scanner.base)
        guard takesRoom(for: element.count - cut.count, at: element.lowerBound) else { return nil }
        let start = store.append(scanner.text(element.lowerBound..<cut.lowerBound))
        _ = store.append(scanner.text(cut.upperBound..<element.upperBound))
        return start..<start + element.count - cut.count
    }

    /// A member or an element of text, and one adjacent comma.
    static func withComma(_ member: Range<Int>, in text: UnsafeRawPointer) -> Range<Int> {
        let byte = { (at: Int) in text.load(fromByteOffset: at, as: UInt8.self) }
        let isSpace = { (at: Int) in [0x20, 0x0A, 0x0D, 0x09].contains(byte(at)) }
        var after = member.upperBound
        while isSpace(after) { after += 1 }
        if byte(after) == UInt8(ascii: ",") { return member.lowerBound..<after + 1 }
        var before = member.lowerBound - 1
        while isSpace(before) { before -= 1 }
        return byte(before) == UInt8(ascii: ",") ? before..<member.upperBound : member
    }

    // MARK: Groups and scopes

    private mutating func endRow(_ item: Int, _ group: Int?, scopesIDs: Bool, at start: Int) {
        let group = group ?? groupOfNone(at: start)
        groups.append(group)
        // Without room for its group there may be none at all.
        if scopesIDs, excess == nil {
            builder.endItem(item)
            scopeIDs(ofItemsFrom: item, inSection: groups.text(of: group), at: start)
        }
    }

    /// Prefixes the ids of all items from one on with the id of their section. O(bytes).
    ///
    /// - Parameter elementOffset: of the section or, with groups, of the first item.
    mutating func scopeIDs(ofItemsFrom first: Int, inSection section: [UInt8], at elementOffset: Int) {
        var start: [UInt8] = []
        JSONPointer.escape(section) { start.append($0) }
        start.append(UInt8(ascii: "/"))
        for item in first..<builder.nodes.count where builder.nodes[item].idCount > 0 {
            var text = start
            JSONPointer.escape(bytes(ofID: builder.nodes[item])) { text.append($0) }
            let offset = idOffsets[Int(builder.nodes[item].idStart)]
            let here = DocumentPlace(offset, levelsUp: builder.settings.levelsUpFromID)
            if text.count > StateLimits.maxIDBytes, skipsInvalid {
                builder.clearID(.item(item))
                skipped.append(.item(item + taken.count), at: here, behind: skipped.count)
                continue
            }
            guard takesRoom(for: text.count, at: elementOffset) else { return }
            if text.count > StateLimits.maxIDBytes {
                note(
                    "invalid-id",
                    "an id may have at most 2,048 bytes; with that of its section this one has \(text.count)", at: here)
            }
            builder.setID(ofItem: item, text.withUnsafeBytes { storeID($0, writtenAt: offset) })
        }
    }

    // MARK: The walk

    private mutating func walk(
        _ goals: Targets, _ place: PointerPlace, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        scanner.skipSpace()
        if place.isEnd {
            finding.lists |= place.ending & goals.lists
            return try arrive(at: place, goals, targets, &finding, depth: depth)
        }
        switch scanner.byte(scanner.at) {
        case _ where place.isAside: try scanner.skipValue(depth: depth)
        case UInt8(ascii: "{"):
            try readObject(depth: depth + 1) { (reader, token) throws(JSONError) in
                let inner = place.below(reader.scanner.string(token))
                try reader.walk(goals, inner, from: token.start - 1, targets, &finding, depth: depth + 1)
            }
        case UInt8(ascii: "["):
            var index = 0
            try readArray(depth: depth + 1) { (reader) throws(JSONError) in
                reader.scanner.skipSpace()
                let inner = place.below(index)
                try reader.walk(goals, inner, from: reader.scanner.at, targets, &finding, depth: depth + 1)
                index += 1
            }
        default:
            let isNull = scanner.byte(scanner.at) == UInt8(ascii: "n")
            if !isNull { finding.blocked |= place.passing & goals.lists }
            try scanner.skipValue(depth: depth)
        }
    }

    @inline(__always)
    private mutating func walk(
        _ goals: Targets, _ place: PointerPlace, from start: Int, _ targets: DocumentTargets,
        _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        if place.isAside { return try scanner.skipValue(depth: depth) }
        try walk(goals, place, targets, &finding, depth: depth)
        if finding.lists & place.ending != 0 {
            finding.otherListMember = finding.listMember
            finding.listMember = start..<scanner.at
        }
    }

    /// Takes the value that some pointers lead to. An array or object is taken only as a list, and only once.
    @inline(__always)
    private mutating func arrive(
        at place: PointerPlace, _ goals: Targets, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        let start = scanner.at
        let isContainer = scanner.byte(start) == UInt8(ascii: "[") || scanner.byte(start) == UInt8(ascii: "{")
        var left = isContainer ? place.ending & goals.lists : place.ending
        while let goal = goals.takeFirst(of: &left) {
            scanner.at = start
            try arrive(goal, targets, &finding, depth: depth)
        }
        guard isContainer else { return }
        if scanner.at == start { try scanner.skipValue(depth: depth) }
        left = place.ending & ~goals.lists
        while let goal = goals.takeFirst(of: &left) { refuseContainer(goal, &finding, at: DocumentPlace(start)) }
    }

    private mutating func refuseContainer(_ goal: Targets.Goal, _ finding: inout Finding, at place: DocumentPlace) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            let advice = violations.isFull ? nil : idAdvice(part, of: finding.item, in: place.offset)
            note("invalid-id", "an id must be a string or an integer", advice: advice, at: DocumentPlace(finding.start))
        case .kind: noteKind(at: place)
        case .expanded: note("wrong-type", "expanded must be true or false", at: place)
        case .group: if finding.level == 0 { hasUnusableGroups = true }
        case .sections, .items, .children: preconditionFailure("a list may be an array or an object")
        }
    }

    /// Which value may be the id, in an object that was read in place of one; `item` is -1 for a section.
    private func idAdvice(_ part: Int, of item: Int, in start: Int) -> String? {
        var cursor = JSONCursor(scanner.base + start)
        guard cursor.byte == UInt8(ascii: "{"), cursor.enter(), let mapping = builder.settings.shape.mapping
        else { return nil }
        let name = JSONPointer.escaped(Violations.shown(Array(cursor.takeName().text)).utf8)
        guard cursor.byte == UInt8(ascii: "\"") || cursor.byte.isDigit else { return nil }
        let member: StateShape.Member = item < 0 ? .sectionIDAt : .idAt
        let pointer = item < 0 ? mapping.sectionIDAt : mapping.element.idAt[part]
        return "name the value in this object, \(member.rawValue)=\(pointer)/\(name)"
    }

    private mutating func arrive(
        _ goal: Targets.Goal, _ targets: DocumentTargets, _ finding: inout Finding, depth: Int
    ) throws(JSONError) {
        switch goal {
        case .id(let part):
            finding.seenParts |= 1 << part
            let id = try readID(depth: depth, ofElementAt: finding.start)
            if finding.parts.isEmpty { finding.id = id } else { finding.parts[part] = id }
        case .kind: try readKindValue(of: finding.item, depth: depth)
        case .expanded:
            if try takeNull() { return }
            let isExpanded = try readExpanded(depth: depth)
            setExpanded(finding.item < 0 ? .section(builder.openSection) : .item(finding.item), isExpanded)
        case .group where finding.level > 0: try scanner.skipValue(depth: depth)
        case .group: finding.group = try readGroup(ofElementAt: finding.start, depth: depth)
        case .sections:
            let reading = { (reader: inout StateParser) throws(JSONError) in
                try reader.readSectionElement(targets, depth: depth + 1)
            }
            if targets.mapping.sectionsAreMap {
                try readSectionMap(depth: depth, reading: reading)
            } else {
                try readSections(depth: depth, reading: reading)
            }
        case .items: try readItemElements(targets, depth: depth)
        case .children: try readItemElements(below: finding.item, level: finding.level + 1, targets, depth: depth)
        }
    }

    /// Takes the elements of a list below `parent` (-1: the section) into the open section.
    mutating func readItemElements(
        below parent: Int = -1, level: Int = 0, _ targets: DocumentTargets, depth: Int
    ) throws(JSONError) {
        func read(_ reader: inout StateParser, _ item: Int) throws(JSONError) {
            try reader.readItemElement(item, level: level, targets, depth: depth + 1)
        }
        if targets.isMap {
            try readMap(parent: parent, level: level, depth: depth, reading: read)
        } else if parent < 0 {
            try readTopItems(depth: depth, reading: read)
        } else {
            try readItems(parent: parent, level: level, depth: depth, reading: read)
        }
    }

    /// Takes a string, or an integer, whose digits are the kind. Null is no kind; anything else is a violation.
    private mutating func readKindValue(of item: Int, depth: Int) throws(JSONError) {
        if try takeNull() { return }
        let start = scanner.at
        switch scanner.byte(start) {
        case UInt8(ascii: "\""):
            _ = try scanner.takeString()
            return builder.setKind(ofItem: item, start: start)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if try scanner.takeNumber() {
                guard takesRoom(for: scanner.at - start, at: start) else { return }
                builder.settings.hasStoredKinds = true
                let digits = scanner.text(start..<scanner.at)
                return builder.setKind(ofItem: item, start: store.append(string: digits) - 1)
            }
        default: try scanner.skipValue(depth: depth)
        }
        noteKind(at: DocumentPlace(start))
    }

    private mutating func noteKind(at place: DocumentPlace) {
        note("wrong-type", "a kind must be a string or an integer", at: place)
    }
}

/// What a walk through one value looks for, and where.
private struct Targets {
    /// What is at a place.
    enum Goal {
        case id(part: Int), kind, expanded, group
        /// Lists, whose elements are walked through in turn.
        case sections, items, children

        var isList: Bool {
            switch self {
            case .id, .kind, .expanded, .group: false
            case .sections, .items, .children: true
            }
        }
    }

    /// In the order of the goals.
    let pointers: PointerSet
    private let goals: [Goal]
    let lists: PointerPlace.Numbers

    /// - Parameter targets: lists last, since whatever else is at the place of one is read before it.
    init(_ targets: [(Goal, JSONPointer?)]) {
        let targets = targets.compactMap { goal, pointer in pointer.map { (goal: goal, pointer: $0) } }
        goals = targets.map(\.goal)
        pointers = PointerSet(targets.map(\.pointer))
        lists = targets.indices.reduce(0) { targets[$1].goal.isList ? $0 | 1 << $1 : $0 }
    }

    @inline(__always)
    func takeFirst(of numbers: inout PointerPlace.Numbers) -> Goal? {
        if numbers == 0 { return nil }
        defer { numbers &= numbers - 1 }
        return goals[numbers.trailingZeroBitCount]
    }
}

/// What to look for in a document, in its sections and in its items.
final class DocumentTargets {
    let mapping: StateShape.FieldMapping
    fileprivate let document: Targets
    fileprivate let section: Targets
    fileprivate let item: Targets
    fileprivate let idParts: Int
    let isMap: Bool
    let isGrouped: Bool
    fileprivate let scopesIDs: Bool

    init(_ mapping: StateShape.FieldMapping) {
        self.mapping = mapping
        let element = mapping.element
        isGrouped = element.groupAt != nil
        (idParts, isMap) = (element.isMap ? 0 : element.idAt.count, element.isMap)
        scopesIDs = element.scopesIDs
        document = Targets([
            (.sections, mapping.sectionsAt), (.items, mapping.sectionsAt == nil || isGrouped ? mapping.items : nil),
        ])
        section = Targets([
            (.id(part: 0), mapping.sectionsAreMap ? nil : mapping.sectionIDAt), (.expanded, mapping.sectionExpandedAt),
            (.items, isGrouped ? nil : mapping.items),
        ])
        let ids = element.isMap ? [] : element.idAt.enumerated().map { (Targets.Goal.id(part: $0), Optional($1)) }
        item = Targets(
            ids + [
                (.kind, element.kindAt), (.expanded, element.expandedAt), (.group, element.groupAt),
                (.children, element.childrenAt),
            ])
    }
}
