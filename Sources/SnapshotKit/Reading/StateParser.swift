// From bytes to columns in one strict pass. The scanner checks the grammar; this reader knows the shape of a state and
// records ranges. A syntax error ends the reading at once and decides the answer. A violation of the shape is noted,
// and the value skipped: so a document that is not JSON is reported as such, and all violations are reported together.

/// Reads states out of one document.
struct StateParser {
    var scanner: JSONScanner
    let limits: StateLimits
    var builder = ColumnsBuilder()
    var store: TokenBuffer
    var violations: Violations
    private(set) var excess: Excess?
    /// Where the state starts in the document.
    var root = 0
    /// Whether it reads edits, or what may be edits without their envelope.
    var isOfEdits = false, isOfOperations = false
    var known: IncrementalParse?
    var sharedRuns: [SharedRuns.Run] = []
    /// The records that the document says are expanded; nil if that makes no difference.
    var mentioned: Set<RecordIndex>?
    /// Where the ids in `store` are written.
    var idOffsets = IDOffsets()
    /// Whether the first of several elements with one id is taken; otherwise they are violations.
    var keepsFirst = false
    /// Whether an element without a usable id is left out; otherwise it is a violation.
    var skipsInvalid = false
    /// Whether, besides both, whatever cannot be read of an element is left out; and whether anything was.
    private var isLenient = false
    private(set) var hasOmissions = false
    /// What is being read, if parts of it may be left out.
    private var scope = Scope.document
    var skipped = SkippedElements()
    /// Elements with violations, if some may be left out for their ids: what was noted from their start to their end.
    private(set) var faulty: [(record: RecordIndex, start: Violations.Mark, end: Violations.Mark)] = []
    /// Where the sections without items are, in a document with pointers, and the number of sections with items.
    var sectionsWithoutItems: [Int] = []
    var sectionsWithItems = 0
    /// The groups of the rows so far, their place in an element, how much of the value counts, and rows taken over.
    var groups = RowGroups()
    var groupPlace = PointerSet.none
    var groupPrefix: Int?
    var taken = TakenRows()
    /// The ordinal of the row whose group is being read; nil if it is the last one.
    var groupedRow: Int?
    var elements: ElementReading?
    /// Whether the rows are in the sections of their groups already.
    var isArranged = false
    /// Whether there are, or may be, rows whose values could be no group, and where the first of them are.
    var hasUnusableGroups = false
    var unusableGroups: [DocumentPlace] = []
    /// Bytes stored beside the document so far, in all its states.
    var madeBytes = 0
}

extension StateParser {
    /// A reader of padded memory, the first `count` bytes of which are the document.
    init(base: UnsafeRawPointer, count: Int, limits: StateLimits) {
        self.init(
            scanner: JSONScanner(base: base, count: count, maxDepth: limits.maxDepth), limits: limits,
            store: TokenBuffer(base: count + DocumentText.trailer.count),
            violations: Violations(limit: limits.maxViolations))
    }

    /// The number of items so far.
    var itemCount: Int { builder.nodes.count + taken.count }

    private var maxMadeBytes: Int { min(3 * scanner.end + 1 << 20, limits.maxMadeBytes) }
    /// Whether more may be stored. Once false, this remains so, whatever is left out.
    var hasRoom: Bool { madeBytes <= maxMadeBytes }

    /// Takes room for text before it is stored beside the document, which may ask for a multiple of its own length, and
    /// all of that exists two or three times while a state is made of it.
    mutating func takesRoom(for count: Int, at offset: Int) -> Bool {
        madeBytes += count
        if hasRoom { return true }
        exceed(
            "bytes of ids, kinds and contents that are not in the document as such", limit: maxMadeBytes,
            actual: madeBytes, at: DocumentPlace(offset))
        return false
    }

    // MARK: Violations

    mutating func note(
        _ code: String, _ detail: @autoclosure () -> String, advice: @autoclosure () -> String? = nil,
        at place: DocumentPlace
    ) {
        // Those of an element that is left out for them are not reported: a document may have many.
        if skipsInvalid, code == "missing-id" || code == "invalid-id" { return }
        // A section whose rows are no list may be an error page.
        if isLenient, scope == .item || code == "unknown-member" || code == "wrong-type" && scope == .section {
            hasOmissions = true
            return
        }
        violations.note(code, detail(), advice: advice(), at: place)
    }

    /// Where the next value is, or was.
    var here: DocumentPlace { DocumentPlace(scanner.at) }

    /// Notes a violation and takes the next value.
    mutating func refuse(
        _ code: String, _ detail: @autoclosure () -> String, advice: @autoclosure () -> String? = nil,
        levelsUp: Int = 0, depth: Int
    ) throws(JSONError) {
        scanner.skipSpace()
        let place = DocumentPlace(scanner.at, levelsUp: levelsUp)
        let encodedTwice = scanner.adviceIfEncodedTwice(at: scanner.at)
        note(code, detail(), advice: advice() ?? encodedTwice, at: place)
        try scanner.skipValue(depth: depth)
    }

    private func adviceIfObject(_ what: String) -> String? {
        guard scanner.byte(scanner.at) == UInt8(ascii: "{"), builder.settings.shape != .native else { return nil }
        let pointer: StateShape.Member = what == "sections" ? .sectionsAt : .itemsAt
        return "name the list in this object with \(pointer.rawValue), or add map=true if its members are the \(what)"
    }

    mutating func exceed(_ what: String, limit: Int, actual: Int, at place: DocumentPlace) {
        if excess == nil { excess = Excess(what: what, limit: limit, actual: actual, place: place) }
    }

    /// What a document has too many of.
    struct Excess {
        let what: String
        let limit: Int
        let actual: Int
        let place: DocumentPlace
    }

    // MARK: Sections

    /// Takes an array of sections; null is an empty one.
    mutating func readSections(depth: Int, reading: (inout StateParser) throws(JSONError) -> Void) throws(JSONError) {
        if try takeNull() { return }
        var count = 0
        try readElements(depth: depth, of: "sections") { (reader) throws(JSONError) in
            try reader.readSection(count, depth: depth + 1, reading)
            count += 1
        }
    }

    /// Takes sections whose names are their ids, see `readMembers(depth:of:member:)`.
    mutating func readSectionMap(depth: Int, reading: (inout StateParser) throws(JSONError) -> Void) throws(JSONError) {
        var count = 0
        try readMembers(depth: depth, of: "sections") { (reader, name) throws(JSONError) in
            try reader.readSection(count, depth: depth + 1) { (reader) throws(JSONError) in
                if let id = reader.id(name) { reader.builder.setID(ofSection: reader.builder.openSection, id) }
                try reading(&reader)
            }
            count += 1
        }
    }

    /// Takes a section, unless there are too many.
    private mutating func readSection(
        _ ordinal: Int, depth: Int, _ reading: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        scanner.skipSpace()
        guard ordinal < limits.maxSections else {
            exceed("sections", limit: limits.maxSections, actual: ordinal + 1, at: here)
            return try scanner.skipValue(depth: depth)
        }
        builder.beginSection()
        let start = begin(.section)
        try reading(&self)
        builder.endSection()
        let section = builder.openSection
        if let start { end(.section(section), hasID: builder.sections[section].idCount > 0, from: start) }
    }

    mutating func takeNull() throws(JSONError) -> Bool {
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "n") else { return false }
        try scanner.takeLiteral("null")
        return true
    }

    /// Takes an array, each element by `element`; anything else is a violation.
    mutating func readElements(
        depth: Int, of what: String, element: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "[") else {
            if isLenient, scope == .section, builder.settings.shape != .native {
                // That section has no rows. Where none has, it is an error page.
                hasOmissions = true
                sectionsWithItems -= 1
                sectionsWithoutItems.append(scanner.at)
                return try scanner.skipValue(depth: depth)
            }
            let advice = adviceIfObject(what)
            return try refuse("not-an-array", "\(what) must be an array", advice: advice, depth: depth)
        }
        try readArray(depth: depth + 1, element: element)
    }

    @inline(__always)
    mutating func readArray(
        depth: Int, element: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "]")) { return }
        repeat { try element(&self) } while try scanner.takesComma(or: UInt8(ascii: "]"))
    }

    /// Takes the object that starts here, each member's value by `value`.
    mutating func readObject(
        depth: Int, value: (inout StateParser, StringToken) throws(JSONError) -> Void
    ) throws(JSONError) {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "}")) { return }
        let frame = scanner.names.open()
        repeat { try value(&self, try scanner.takeName(in: frame)) } while try scanner.takesComma(or: UInt8(ascii: "}"))
        scanner.names.close(frame)
    }

    // MARK: Items

    @inline(__always)
    mutating func readTopItems(
        depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        builder.settings.room = scanner.maxDepth - depth
        let haveIDs = elements == nil
        // The kept expansion depends on items in the document's order, and on their ids.
        let usesKnown = known?.fits(builder.settings) ?? false && (groupPlace.isEmpty && haveIDs || mentioned == nil)
        try readItems(parent: -1, level: 0, depth: depth, usesKnown: usesKnown) { (reader, item) throws(JSONError) in
            try reading(&reader, item)
            if !haveIDs {
                reader.passElement(item, usesKnown: usesKnown)
            } else if usesKnown {
                reader.known?.passed(reader.builder.nodes[item], in: reader.scanner.base)
            }
        }
    }

    /// Takes an array of items below `parent` (-1: the section) into the open section. Null is an empty array.
    @inline(__always)
    mutating func readItems(
        parent: Int, level: Int, depth: Int, usesKnown: Bool = false,
        reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        if try takeNull() { return }
        try readElements(depth: depth, of: "items") { (reader) throws(JSONError) in
            if usesKnown, reader.takesKnownItems() { return }
            try reader.readItem(parent: parent, level: level, depth: depth + 1, reading: reading)
        }
    }

    /// Takes an object of items, with their ids as names, below `parent` (-1: the section) into the open section.
    mutating func readMap(
        parent: Int, level: Int, depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        try readMembers(depth: depth, of: "items") { (reader, name) throws(JSONError) in
            try reader.readItem(parent: parent, level: level, depth: depth + 1) { (reader, item) throws(JSONError) in
                if let id = reader.id(name) { reader.builder.setID(ofItem: item, id) }
                try reading(&reader, item)
            }
        }
    }

    /// The index is that in an array in place of an object.
    private enum MemberName {
        case token(StringToken)
        case index(Int)
    }

    /// Takes an object, or an array as an object of its indexes, in which nulls are holes: some databases write a map
    /// whose names are small numbers that way. Null is an empty object; anything else is a violation.
    private mutating func readMembers(
        depth: Int, of what: String, member: (inout StateParser, MemberName) throws(JSONError) -> Void
    ) throws(JSONError) {
        if try takeNull() { return }
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "{"):
            try readObject(depth: depth + 1) { (reader, name) throws(JSONError) in try member(&reader, .token(name)) }
        case UInt8(ascii: "["):
            var index = 0
            try readArray(depth: depth + 1) { (reader) throws(JSONError) in
                defer { index += 1 }
                if try reader.takeNull() { return }
                try member(&reader, .index(index))
            }
        default: try refuse("not-an-object", "with map, \(what) must be an object", depth: depth)
        }
    }

    /// Takes an item, unless there are too many, or too many levels.
    @inline(__always)
    private mutating func readItem(
        parent: Int, level: Int, depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        scanner.skipSpace()
        if level >= limits.maxNesting {
            exceed("levels of items", limit: limits.maxNesting, actual: level + 1, at: here)
            try scanner.skipValue(depth: depth)
        } else if itemCount >= limits.maxItems {
            exceed("items", limit: limits.maxItems, actual: limits.maxItems + 1, at: here)
            try scanner.skipValue(depth: depth)
        } else {
            let start = begin(.item)
            let item = builder.beginItem(parent: parent, level: level)
            try reading(&self, item)
            builder.endItem(item)
            if let start { end(.item(item), hasID: builder.nodes[item].idCount > 0 || elements != nil, from: start) }
        }
    }

    private enum Scope { case document, section, item }

    /// Leaves out what cannot be read of elements. The rest of the document must be as it should.
    mutating func omitFaults() { (keepsFirst, skipsInvalid, isLenient) = (true, true, true) }

    /// Begins an element; returns nil unless it may be left out.
    @inline(__always)
    private mutating func begin(_ scope: Scope) -> ElementStart? {
        guard skipsInvalid || keepsFirst else { return nil }
        defer { self.scope = scope }
        return ElementStart(
            scope: self.scope, offset: scanner.at, violations: violations.mark, faulty: faulty.count, excess: excess,
            skipped: skipped.count, sectionsWithoutItems: sectionsWithoutItems.count,
            sectionsWithItems: sectionsWithItems)
    }

    private mutating func end(_ record: RecordIndex, hasID: Bool, from start: ElementStart) {
        scope = start.scope
        if !hasID, skipsInvalid {
            skip(record, from: start)
        } else if keepsFirst, violations.mark.count > start.violations.count {
            faulty.append((inDocument(record), start.violations, violations.mark))
        }
    }

    /// What had been noted before an element.
    private struct ElementStart {
        let scope: Scope
        let offset: Int
        let violations: Violations.Mark
        let faulty: Int
        let excess: Excess?
        let skipped: Int
        let sectionsWithoutItems: Int
        let sectionsWithItems: Int
    }

    private mutating func skip(_ record: RecordIndex, from start: ElementStart) {
        violations.reset(to: start.violations)
        faulty.removeLast(faulty.count - start.faulty)
        if hasRoom { excess = start.excess }
        sectionsWithoutItems.removeLast(sectionsWithoutItems.count - start.sectionsWithoutItems)
        sectionsWithItems = start.sectionsWithItems
        builder.clearID(record)
        skipped.append(inDocument(record), at: DocumentPlace(start.offset), behind: start.skipped)
    }

    /// A record as it is numbered once those that were taken over are among them.
    private func inDocument(_ record: RecordIndex) -> RecordIndex {
        if case .item(let item) = record { .item(item + taken.count) } else { record }
    }

    /// Takes an id; nil, with a violation of it or of its element noted, if the value cannot be one.
    @inline(__always)
    mutating func readID(depth: Int, ofElementAt element: Int? = nil) throws(JSONError) -> FoundID? {
        scanner.skipSpace()
        let start = scanner.at
        let first = scanner.byte(start)
        if first == UInt8(ascii: "\"") { return id(try scanner.takeString(), at: element ?? start) }
        if first == UInt8(ascii: "-") || first.isDigit {
            let isInteger = try scanner.takeNumber()
            let count = scanner.at - start
            if isInteger, count <= StateLimits.maxIDBytes {
                return FoundID(start: start, count: count, flags: .integerID)
            }
            note(
                "invalid-id", "a numeric id must be an integer of at most 2,048 digits",
                at: DocumentPlace(element ?? start))
            return nil
        }
        note("invalid-id", "an id must be a string or an integer", at: DocumentPlace(element ?? start))
        try scanner.skipValue(depth: depth)
        return nil
    }

    private mutating func id(_ name: MemberName) -> FoundID? {
        switch name {
        case .token(let token): return id(token, at: token.start)
        case .index(let index): return Array("\(index)".utf8).withUnsafeBytes { storeID($0, writtenAt: scanner.at) }
        }
    }

    /// Stores an id that no document contains as such, and notes where it comes from.
    mutating func storeID(_ text: UnsafeRawBufferPointer, writtenAt offset: Int) -> FoundID {
        let id = store.append(idText: text)
        idOffsets.note(id.start, offset)
        return id
    }

    @inline(__always)
    private mutating func id(_ token: StringToken, at offset: Int) -> FoundID? {
        plainID(token) ?? checkedID(token, at: DocumentPlace(offset))
    }

    /// The common case: a short ASCII text without escapes or the delete character.
    @inline(__always)
    private func plainID(_ token: StringToken) -> FoundID? {
        guard !token.isEscaped, token.isASCII, token.count > 0, token.count <= 64 else { return nil }
        var deletes: UInt64 = 0
        var at = 0
        while at < token.count {
            var word = load64(scanner.base + token.start + at)
            let rest = token.count - at
            if rest < 8 { word &= (1 << UInt64(rest * 8)) - 1 }
            deletes |= zeroBytes(word ^ splat(0x7F))
            at += 8
        }
        return deletes == 0 ? FoundID(start: token.start, count: token.count, flags: []) : nil
    }

    private mutating func checkedID(_ token: StringToken, at place: DocumentPlace) -> FoundID? {
        let text = Array(StringText(scanner.base + token.start, token.count))
        if text.isEmpty {
            note("invalid-id", "an id must not be empty", at: place)
        } else if text.count > StateLimits.maxIDBytes {
            noteLongID(text.count, at: place)
        } else if text.holdsControlCharacter {
            note("invalid-id", "an id must not contain control characters", at: place)
        } else if token.isEscaped {
            let raw = scanner.text(token.start - 1..<token.start + token.count + 1)
            guard takesRoom(for: raw.count + text.count, at: token.start) else { return nil }
            let start = text.withUnsafeBytes { store.append(escapedID: raw, text: $0) }
            idOffsets.note(start, token.start)
            return FoundID(start: start, count: text.count, flags: .escapedID)
        } else {
            return FoundID(start: token.start, count: token.count, flags: [])
        }
        return nil
    }

    mutating func noteLongID(_ count: Int, at place: DocumentPlace) {
        note("invalid-id", "an id may have at most 2,048 bytes; this one has \(count)", at: place)
    }
}

/// What follows a document in a state's buffer: padding, and the id of the section that a shorthand implies.
enum DocumentText {
    static let trailer: [UInt8] = JSONScanner.zeros + Array("\"main\"".utf8) + JSONScanner.zeros

    /// Offset of the text `main` behind a document of `count` bytes.
    static func mainStart(_ count: Int) -> Int { count + JSONScanner.padding + 1 }
}
