// From bytes to columns in one strict pass. The scanner checks the grammar; this reader knows the shape of a state and
// records ranges. A syntax error ends the reading at once and decides the answer. A violation of the shape is noted,
// the value skipped and the reading continued: so a document that is not JSON is reported as such even if it is no
// state either, and all violations are reported together.

/// Reads states out of one document.
struct StateParser {
    var scanner: JSONScanner
    let limits: StateLimits
    var builder = ColumnsBuilder()
    var store: TokenBuffer
    private(set) var violations: Violations
    private(set) var excess: StateError?
    /// The state the document is compared with.
    var known: KnownState?
    /// Items taken over from it.
    var reusedRuns: [Kinship.Run] = []
    /// The records that the document says are expanded; nil if that makes no difference.
    var mentioned: Set<RecordIndex>?
    var path = DocumentPointers(root: "")
    /// Whether the first of several elements with one id is taken; otherwise they are violations.
    var keepsFirst = false
    /// Whether an element without a usable id is left out; otherwise it is a violation.
    var skipsInvalid = false
    var skipped = SkippedElements()
    /// The step to the open item among its siblings, at each level.
    private var ordinals: [Int] = []
    /// The step to the open section, if sections are a map.
    private var sectionStep: Int?
    /// The steps to the sections without items, in a document with pointers, and the number of sections with items.
    var sectionsWithoutItems: [Int] = []
    var sectionsWithItems = 0
    /// The groups of the rows so far, in a document with a place for them; that place in an element, and the rows taken
    /// over from the known state.
    var groups = RowGroups()
    var groupPlace = PointerSet.none
    var taken = TakenRows()
    /// The place of the row whose group is being read; nil if it is the last one.
    var groupedRow: Int?
    /// Whether the rows are in the sections of their groups already.
    var isArranged = false
    /// Bytes of ids so far that are made of others.
    var madeIDBytes = 0

    /// A reader of padded memory, the first `count` bytes of which are the document.
    init(base: UnsafeRawPointer, count: Int, limits: StateLimits) {
        scanner = JSONScanner(base: base, count: count, maxDepth: limits.maxDepth)
        self.limits = limits
        violations = Violations(limit: limits.maxViolations)
        store = TokenBuffer(base: count + DocumentText.trailer.count)
    }

    /// The number of items so far.
    var itemCount: Int { builder.nodes.count + taken.count }

    var maxMadeIDBytes: Int { min(2 * scanner.end + 1 << 20, limits.maxMadeBytes) }
    /// Whether more ids may be made. Once false, this remains so, whatever is left out.
    var hasRoomForIDs: Bool { madeIDBytes <= maxMadeIDBytes }

    // MARK: Violations

    mutating func note(_ code: String, _ detail: @autoclosure () -> String, at place: Location) {
        if isOfSkipped(code) { return }
        guard !violations.isFull else { return violations.noteOmitted() }
        let pointer = pointer(place)
        violations.note(code, detail(), at: pointer)
    }

    /// Whether a violation is of an element that will be left out for it: a document may have many of these, and none
    /// is reported.
    private func isOfSkipped(_ code: String) -> Bool {
        skipsInvalid && (code == "missing-id" || code == "invalid-id")
    }

    /// Notes a violation at a pointer that no `Location` gives.
    mutating func note(_ code: String, _ detail: @autoclosure () -> String, at pointer: @autoclosure () -> String) {
        violations.note(code, detail(), at: pointer())
    }

    /// Notes a violation and takes the next value.
    mutating func refuse(
        _ code: String, _ detail: @autoclosure () -> String, at place: Location, depth: Int
    ) throws(JSONError) {
        note(code, detail(), at: place)
        try scanner.skipValue(depth: depth)
    }

    mutating func exceed(_ what: String, limit: Int, actual: Int, at place: Location) {
        guard excess == nil else { return }
        excess = .limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer(place))
    }

    /// Where a violation is. Turned into a pointer only when one is reported.
    enum Location {
        /// The open section, or a member of it.
        case section(StaticString)
        /// The item being read, or a member of it.
        case item(StaticString)
        /// The kind of that item, whether it is expanded, and what it is grouped by.
        case kind, expanded, group
        /// A row of a document with groups.
        case row(Int)
        /// Whether the open section is expanded.
        case sectionExpanded
        case sections
        /// An element of the array of sections.
        case sectionElement(Int)
        /// The array of items whose elements are being read.
        case items
        /// The value at the root of `path`.
        case root
        /// An element of the array at the root of `path`, or a member of it.
        case element(Int, StaticString)
    }

    func pointer(_ place: Location) -> String {
        switch place {
        case .section(let member): return openSection + "\(member)"
        case .item(let member): return path.item(in: openSection, steps(ordinals)) + "\(member)"
        case .kind: return pointer(.item("")) + path.layout.kind
        case .expanded: return pointer(.item("")) + path.layout.expanded
        case .group: return pointer(.item("")) + path.layout.group
        case .row(let ordinal): return path.item(in: "", ["\(ordinal)"])
        case .sectionExpanded: return openSection + path.layout.sectionExpanded
        case .sections: return path.start + (path.layout.sections ?? "")
        case .sectionElement(let ordinal): return path.section(ordinal)
        case .items:
            guard ordinals.count > 1 else { return path.list(in: openSection) }
            return path.item(in: openSection, steps(ordinals.dropLast())) + path.layout.children
        case .root: return path.start
        case .element(let ordinal, let member): return "\(path.start)/\(ordinal)\(member)"
        }
    }

    /// Pointer to the open section.
    private var openSection: String { section(at: openStep) }

    /// The step to the open section.
    var openStep: Int { sectionStep ?? builder.openSection }

    /// Pointer to a section.
    func section(at step: Int) -> String {
        path.layout.sectionsAreMap ? path.section(named: name(ofStep: step)) : path.section(step)
    }

    /// The steps of a pointer: ordinals, or names in a map.
    private func steps(_ ordinals: some Sequence<Int>) -> [String] {
        ordinals.map { path.layout.isMap ? name(ofStep: $0) : "\($0)" }
    }

    /// A step in a map: the offset of the member's name, or, if negative, the complement of the element's index.
    private func name(ofStep step: Int) -> String {
        if step < 0 { return "\(~step)" }
        var cursor = JSONCursor(scanner.base + step)
        return JSONPointer.escaped(cursor.takeString().text)
    }

    // MARK: Sections

    /// Takes an array of sections; null is an empty one.
    mutating func readSections(depth: Int, reading: (inout StateParser) throws(JSONError) -> Void) throws(JSONError) {
        if try takeNull() { return }
        var count = 0
        try readElements(depth: depth, of: "sections", at: .sections) { (reader) throws(JSONError) in
            try reader.readSection(count, depth: depth + 1, reading)
            count += 1
        }
    }

    /// Takes sections whose names are their ids, see `readMembers(depth:of:at:member:)`.
    mutating func readSectionMap(
        depth: Int, reading: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        var count = 0
        try readMembers(depth: depth, of: "sections", at: .sections) { (reader, step, name) throws(JSONError) in
            reader.sectionStep = step
            try reader.readSection(count, depth: depth + 1) { (reader) throws(JSONError) in
                if let id = reader.id(name, at: .section("")) {
                    reader.builder.setID(ofSection: reader.builder.openSection, id)
                }
                try reading(&reader)
            }
            count += 1
        }
        sectionStep = nil
    }

    /// Takes one section by `reading`, unless there are too many.
    private mutating func readSection(
        _ ordinal: Int, depth: Int, _ reading: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        guard ordinal < limits.maxSections else {
            exceed("sections", limit: limits.maxSections, actual: ordinal + 1, at: .sectionElement(ordinal))
            return try scanner.skipValue(depth: depth)
        }
        builder.beginSection()
        let start = skipsInvalid ? ElementStart(self) : nil
        try reading(&self)
        builder.endSection()
        let section = builder.openSection
        if let start, builder.sections[section].idCount == 0 { skip(.section(section), at: .section(""), from: start) }
    }

    /// Takes null, if it is next.
    mutating func takeNull() throws(JSONError) -> Bool {
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "n") else { return false }
        try scanner.takeLiteral("null")
        return true
    }

    /// Takes an array, each element by `element`; anything else is a violation.
    mutating func readElements(
        depth: Int, of what: String, at place: Location,
        element: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "[") else {
            return try refuse("not-an-array", "\(what) must be an array", at: place, depth: depth)
        }
        try readArray(depth: depth + 1, element: element)
    }

    /// Takes the array that starts here, each element by `element`.
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

    /// Takes an array of top-level items into the open section; `reading` takes one element.
    @inline(__always)
    mutating func readTopItems(
        depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        builder.place.room = scanner.maxDepth - depth
        // The kept expansion depends on items in the document's order.
        let usesKnown = known?.fits(builder.place) ?? false && (groupPlace.isEmpty || mentioned == nil)
        try readItems(parent: -1, level: 0, depth: depth, usesKnown: usesKnown) { (reader, item) throws(JSONError) in
            try reading(&reader, item)
            if usesKnown { reader.known?.passed(reader.builder.nodes[item], in: reader.scanner.base) }
        }
    }

    /// Takes an array of items below `parent` (-1: the section) into the open section; `reading` takes one element.
    /// Null is an empty array.
    @inline(__always)
    mutating func readItems(
        parent: Int, level: Int, depth: Int, usesKnown: Bool = false,
        reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        if try takeNull() { return }
        ordinals.append(0)
        let list = ordinals.count - 1
        try readElements(depth: depth, of: "items", at: .items) { (reader) throws(JSONError) in
            if usesKnown {
                let known = reader.takeKnownItems()
                reader.ordinals[list] += known.count
                if known.isBehindItem { return }
            }
            try reader.readItem(parent: parent, level: level, depth: depth + 1, reading: reading)
            reader.ordinals[list] += 1
        }
        ordinals.removeLast()
    }

    /// Takes an object of items, with their ids as names, below `parent` (-1: the section) into the open section;
    /// `reading` takes one value. See `readMembers(depth:of:at:member:)`.
    mutating func readMap(
        parent: Int, level: Int, depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        ordinals.append(0)
        defer { ordinals.removeLast() }
        let list = ordinals.count - 1
        try readMembers(depth: depth, of: "items", at: .items) { (reader, step, name) throws(JSONError) in
            reader.ordinals[list] = step
            try reader.readItem(parent: parent, level: level, depth: depth + 1) { (reader, item) throws(JSONError) in
                if let id = reader.id(name, at: .item("")) { reader.builder.setID(ofItem: item, id) }
                try reading(&reader, item)
            }
        }
    }

    /// A name in a map.
    private enum MemberName {
        case token(StringToken)
        /// The index in an array that replaces the object.
        case index(Int)
    }

    /// Takes an object, each member's value by `member`, with its step in a pointer. An array counts as an object of
    /// its indexes, in which nulls are holes: some databases write a map whose names are small numbers that way. Null
    /// is an empty object; anything else is a violation.
    private mutating func readMembers(
        depth: Int, of what: String, at place: Location,
        member: (inout StateParser, _ step: Int, MemberName) throws(JSONError) -> Void
    ) throws(JSONError) {
        if try takeNull() { return }
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "{"):
            try readObject(depth: depth + 1) { (reader, name) throws(JSONError) in
                try member(&reader, name.start - 1, .token(name))
            }
        case UInt8(ascii: "["):
            var index = 0
            try readArray(depth: depth + 1) { (reader) throws(JSONError) in
                defer { index += 1 }
                if try reader.takeNull() { return }
                try member(&reader, ~index, .index(index))
            }
        default: try refuse("not-an-object", "with map, \(what) must be an object", at: place, depth: depth)
        }
    }

    /// Takes one item by `reading`, unless there are too many, or too many levels.
    @inline(__always)
    private mutating func readItem(
        parent: Int, level: Int, depth: Int, reading: (inout StateParser, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        if level >= limits.maxNesting {
            exceed("levels of items", limit: limits.maxNesting, actual: level + 1, at: .item(""))
            try scanner.skipValue(depth: depth)
        } else if itemCount >= limits.maxItems {
            exceed("items", limit: limits.maxItems, actual: limits.maxItems + 1, at: .item(""))
            try scanner.skipValue(depth: depth)
        } else {
            let start = skipsInvalid ? ElementStart(self) : nil
            let item = builder.beginItem(parent: parent, level: level)
            try reading(&self, item)
            builder.endItem(item)
            if let start, builder.nodes[item].idCount == 0 { skip(.item(item), at: .item(""), from: start) }
        }
    }

    // MARK: Elements that are left out

    /// What had been noted before an element.
    private struct ElementStart {
        let violations: Violations.Mark
        let excess: StateError?
        let skipped: Int
        let sectionsWithoutItems: Int
        let sectionsWithItems: Int

        init(_ reader: borrowing StateParser) {
            (violations, excess, skipped) = (reader.violations.mark, reader.excess, reader.skipped.count)
            sectionsWithoutItems = reader.sectionsWithoutItems.count
            sectionsWithItems = reader.sectionsWithItems
        }
    }

    /// Leaves out an element that was read, with whatever was noted in it.
    private mutating func skip(_ record: RecordIndex, at place: Location, from start: ElementStart) {
        violations.reset(to: start.violations)
        if hasRoomForIDs { excess = start.excess }
        sectionsWithoutItems.removeLast(sectionsWithoutItems.count - start.sectionsWithoutItems)
        sectionsWithItems = start.sectionsWithItems
        builder.disown(record)
        var record = record
        if case .item(let item) = record { record = .item(item + taken.count) }
        let pointer = start.skipped < StateWarning.maxCount ? pointer(place) : ""
        skipped.append(record, at: pointer, behind: start.skipped)
    }

    // MARK: Ids

    /// Takes an id; nil, with a violation noted, if the value cannot be one.
    @inline(__always)
    mutating func readID(depth: Int, at place: Location) throws(JSONError) -> FoundID? {
        scanner.skipSpace()
        let start = scanner.at
        let first = scanner.byte(start)
        if first == UInt8(ascii: "\"") { return id(try scanner.takeString(), at: place) }
        if first == UInt8(ascii: "-") || first.isDigit {
            let isInteger = try scanner.takeNumber()
            let count = scanner.at - start
            if isInteger, count <= StateLimits.maxIDBytes {
                return FoundID(start: start, count: count, flags: .integerID)
            }
            note("invalid-id", "a numeric id must be an integer of at most 2,048 digits", at: place)
            return nil
        }
        try refuse("invalid-id", "an id must be a string or an integer", at: place, depth: depth)
        return nil
    }

    /// A name in a map as an id; nil, with a violation noted, if it cannot be one.
    private mutating func id(_ name: MemberName, at place: Location) -> FoundID? {
        switch name {
        case .token(let token): return id(token, at: place)
        case .index(let index):
            let text = Array("\(index)".utf8)
            return FoundID(start: text.withUnsafeBytes { store.append(string: $0) }, count: text.count, flags: [])
        }
    }

    /// A string as an id; nil, with a violation noted, if it cannot be one.
    @inline(__always)
    private mutating func id(_ token: StringToken, at place: Location) -> FoundID? {
        plainID(token) ?? checkedID(token, at: place)
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

    private mutating func checkedID(_ token: StringToken, at place: Location) -> FoundID? {
        let text = Array(StringText(scanner.base + token.start, token.count))
        if text.isEmpty {
            note("invalid-id", "an id must not be empty", at: place)
        } else if text.count > StateLimits.maxIDBytes {
            noteLongID(text.count, at: place)
        } else if text.holdsControlCharacter {
            note("invalid-id", "an id must not contain control characters", at: place)
        } else if token.isEscaped {
            let raw = scanner.text(token.start - 1..<token.start + token.count + 1)
            let start = text.withUnsafeBytes { store.append(escapedID: raw, text: $0) }
            return FoundID(start: start, count: text.count, flags: .escapedID)
        } else {
            return FoundID(start: token.start, count: token.count, flags: [])
        }
        return nil
    }

    mutating func noteLongID(_ count: Int, at place: Location) {
        note("invalid-id", "an id may have at most 2,048 bytes; this one has \(count)", at: place)
    }

    // MARK: The end

    /// The result of reading.
    consuming func result() -> ReadState {
        ReadState(
            builder: builder, tail: store, reusedRuns: reusedRuns, mentioned: mentioned,
            groups: groupPlace.isEmpty || isArranged ? nil : groups, taken: taken, maxSections: limits.maxSections,
            path: path,
            keepsFirst: keepsFirst, skipped: skipped, violations: violations, excess: excess)
    }
}

// MARK: - The rest of a document
//
// The rest of a document, besides its list, as the state's own content. The document has been read by then, so nothing
// is checked again. The list is cut out first, since pointers may lead past it, and into it.

extension StateParser {
    /// Keeps the parts of the document at `document` that a shape asks for, without its lists.
    ///
    /// - Parameter lists: the members or elements that hold the lists, in the document's order; none if they do not
    ///   exist.
    mutating func keep(_ rest: StateShape.Rest, of document: Range<Int>, without lists: [Range<Int>]) {
        if case .none = rest { return }
        // The last one first, so that the places of the others stay.
        var whole = Array(scanner.text(document.lowerBound..<document.upperBound))
        for list in lists.reversed() {
            let cut = list.lowerBound - document.lowerBound..<list.upperBound - document.lowerBound
            whole.removeSubrange(whole.withUnsafeBytes { Self.withComma(cut, in: $0.baseAddress!) })
        }
        var writer = JSONWriter(capacity: whole.count)
        if case .members(let pointers) = rest {
            let text = JSONText(accepted: whole)
            guard text.withBytes({ writer.append(membersOf: $0, at: PointerSet(pointers)) }) else { return }
        } else {
            writer.append(whole)
        }
        let bytes = writer.bytes()
        let start = bytes.withUnsafeBytes { store.append(value: $0) }
        builder.list = ListContent(start..<start + bytes.count)
    }
}
