// The library's own shape, {"sections":[{"id","content","expanded","items":[…]}]}, its shorthands, and nothing else. An
// unknown member is refused, since it would vanish silently.

/// Members that sections and items may have.
enum StateMember: UInt8, CaseIterable {
    case id, content, kind, expanded, items

    fileprivate static let names: [StaticString] = ["id", "content", "kind", "expanded", "items"]

    var bit: UInt8 { 1 << rawValue }
}

extension StateParser {
    /// Takes a state in the library's own shape; `depth` counts the arrays and objects around it.
    mutating func readState(depth: Int) throws(JSONError) {
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "["): try readMain(depth: depth)
        case UInt8(ascii: "{"): try readStateObject(depth: depth + 1)
        default: try refuse("wrong-type", "a state must be an array or an object", depth: depth)
        }
    }

    /// Begins the section `main` of a document without sections.
    mutating func beginMain() {
        builder.beginSection()
        builder.setID(ofSection: 0, FoundID(start: DocumentText.mainStart(scanner.end), count: 4, flags: []))
    }

    /// Takes an array of items as the only section, `main`.
    mutating func readMain(depth: Int) throws(JSONError) {
        beginMain()
        try readTopItems(depth: depth) { (reader, item) throws(JSONError) in
            try reader.readItem(item, level: 0, depth: depth + 1)
        }
        builder.endSection()
    }

    private mutating func readStateObject(depth: Int) throws(JSONError) {
        var holdsList = false
        try readObject(depth: depth) { (reader, name) throws(JSONError) in
            if reader.scanner.string(name).isText("content") { return try reader.readListContent(depth: depth) }
            guard let list = reader.scanner.string(name).word(of: StateList.allCases) else {
                return try reader.refuseUnknown(name, of: "state", depth: depth)
            }
            guard !holdsList else {
                return try reader.refuse(
                    "ambiguous-state", "a state must have sections or items, not both", levelsUp: 1, depth: depth)
            }
            holdsList = true
            try reader.readList(list, depth: depth)
        }
        if !holdsList { note("missing-sections", "a state needs sections or items", at: DocumentPlace(root)) }
    }

    mutating func readListContent(depth: Int) throws(JSONError) {
        builder.list = ListContent(try readContent(depth: depth))
    }

    mutating func readList(_ list: StateList, depth: Int) throws(JSONError) {
        switch list {
        case .sections:
            try readSections(depth: depth) { (reader) throws(JSONError) in try reader.readSection(depth: depth + 1) }
        case .items: try readMain(depth: depth)
        }
    }

    /// Takes a section, which may have no items, into the open one.
    mutating func readSection(depth: Int) throws(JSONError) {
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            return try refuse("wrong-type", "a section must be an object", depth: depth)
        }
        let (section, place) = (builder.openSection, here)
        let seen = try readMembers(depth: depth + 1, of: "section") { (reader, member) throws(JSONError) in
            switch member {
            case .id:
                guard let id = try reader.readID(depth: depth + 1) else { return }
                reader.builder.setID(ofSection: section, id)
            case .content: reader.builder.setContent(ofSection: section, try reader.readContent(depth: depth + 1))
            case .expanded: reader.setExpanded(.section(section), try reader.readExpanded(depth: depth + 1))
            case .items:
                try reader.readTopItems(depth: depth + 1) { (reader, item) throws(JSONError) in
                    try reader.readItem(item, level: 0, depth: depth + 2)
                }
            case .kind: try reader.refuse("unknown-member", "a section has no kind", depth: depth + 1)
            }
        }
        if seen & StateMember.id.bit == 0 { note("missing-id", "a section needs an id", at: place) }
    }

    /// Takes an item and its children: an object, or a bare id.
    mutating func readItem(_ item: Int, level: Int, depth: Int) throws(JSONError) {
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            guard let id = try readID(depth: depth) else { return }
            builder.setID(ofItem: item, id)
            return builder.nodes[item].flags.formUnion(.isBare)
        }
        let place = here
        let seen = try readMembers(depth: depth + 1, of: "item") { (reader, member) throws(JSONError) in
            switch member {
            case .id:
                guard let id = try reader.readID(depth: depth + 1) else { return }
                reader.builder.setID(ofItem: item, id)
            case .content: reader.builder.setContent(ofItem: item, try reader.readContent(depth: depth + 1))
            case .kind:
                if let start = try reader.readKind(depth: depth + 1) {
                    reader.builder.setKind(ofItem: item, start: start)
                }
            case .expanded: reader.setExpanded(.item(item), try reader.readExpanded(depth: depth + 1))
            case .items:
                try reader.readItems(parent: item, level: level + 1, depth: depth + 1) {
                    (reader, child) throws(JSONError) in try reader.readItem(child, level: level + 1, depth: depth + 2)
                }
            }
        }
        if seen & StateMember.id.bit == 0 { note("missing-id", "an item needs an id", at: place) }
    }

    @inline(__always)
    mutating func readMembers(
        depth: Int, of what: String, reading: (inout StateParser, StateMember) throws(JSONError) -> Void
    ) throws(JSONError) -> UInt8 {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "}")) { return 0 }
        let frame = scanner.names.open()
        var seen: UInt8 = 0
        repeat {
            scanner.skipSpace()
            let start = scanner.at
            guard scanner.byte(start) == UInt8(ascii: "\"") else { throw scanner.unexpected(start) }
            let name = try scanner.takeString()
            guard let member = StateMember(scanner.string(name)) else {
                scanner.at = start
                try refuseUnknown(try scanner.takeName(in: frame), of: what, depth: depth)
                continue
            }
            // One bit per known member is enough to find duplicates.
            guard seen & member.bit == 0 else { throw scanner.error(.duplicateMember, at: start) }
            seen |= member.bit
            try scanner.take(UInt8(ascii: ":"))
            try reading(&self, member)
        } while try scanner.takesComma(or: UInt8(ascii: "}"))
        scanner.names.close(frame)
        return seen
    }

    mutating func refuseUnknown(_ name: StringToken, of what: String, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        let text = scanner.string(name).text
        if !isOfEdits, !isOfOperations, text.elementsEqual("op".utf8), scanner.byte(scanner.at) == UInt8(ascii: "\"") {
            // An array of edits is no array of items, and must not become one.
            isOfOperations = true
            violations.replace(Self.shapeAdvice, with: Self.editsAdvice)
        }
        let advice = isOfEdits ? "put it into content" : isOfOperations ? Self.editsAdvice : Self.shapeAdvice
        note(
            "unknown-member",
            "\(what == "item" ? "an" : "a") \(what) has no member \"\(Violations.shown(Array(text)))\"; \(advice)",
            at: DocumentPlace(scanner.at))
        try scanner.skipValue(depth: depth)
    }

    private static let shapeAdvice =
        "put it into content, or post the document as it is with a shape\(StateError.exampleOfShape)"
    private static let editsAdvice = #"edits are sent as {"edits":[…]}"#

    mutating func readContent(depth: Int) throws(JSONError) -> Range<Int> { try scanner.takeValue(depth: depth) }

    /// Returns where the kind's quote is; nil, with a violation noted, if it is none.
    mutating func readKind(depth: Int) throws(JSONError) -> Int? {
        scanner.skipSpace()
        let start = scanner.at
        guard scanner.byte(start) == UInt8(ascii: "\"") else {
            try refuse("wrong-type", "a kind must be a string", depth: depth)
            return nil
        }
        _ = try scanner.takeString()
        return start
    }

    /// Takes true or false; anything else is a violation.
    mutating func readExpanded(depth: Int) throws(JSONError) -> Bool? {
        scanner.skipSpace()
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "t"):
            try scanner.takeLiteral("true")
            return true
        case UInt8(ascii: "f"):
            try scanner.takeLiteral("false")
            return false
        default:
            try refuse("wrong-type", "expanded must be true or false", depth: depth)
            return nil
        }
    }

    /// - Parameter isExpanded: nil if the document does not say.
    mutating func setExpanded(_ record: RecordIndex, _ isExpanded: Bool?) {
        switch isExpanded {
        case false: builder.collapse(record)
        case true: mentioned?.insert(record)
        case nil: break
        }
    }
}

/// The member of a state that holds its list.
enum StateList: String, CaseIterable { case sections, items }

extension StateMember {
    /// Compares names as words: every item names its members, so nothing runs more often.
    @inline(__always)
    init?(_ name: JSONString) {
        if name.isEscaped {
            guard let index = Self.names.firstIndex(where: { name.isText($0) }) else { return nil }
            self = Self.allCases[index]
            return
        }
        switch (name.count, load64(name.start) << UInt64(64 - 8 * min(max(name.count, 1), 8))) {
        case (2, Self.word("id")): self = .id
        case (4, Self.word("kind")): self = .kind
        case (5, Self.word("items")): self = .items
        case (7, Self.word("content")): self = .content
        case (8, Self.word("expanded")): self = .expanded
        default: return nil
        }
    }

    @inline(__always)
    private static func word(_ name: StaticString) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<name.utf8CodeUnitCount { word = word >> 8 | UInt64(name.utf8Start[index]) << 56 }
        return word
    }
}
