// From bytes to columns in one strict pass. The scanner checks the grammar; this reader knows the shape of a state and
// records ranges. A syntax error ends the reading at once and decides the answer. A violation of the shape is noted,
// the value skipped and the reading continued: so a document that is not JSON is reported as such even if it is no
// state either, and all violations are reported together.

/// Reads states out of one document.
struct StateReader {
    var scanner: JSONScanner
    let limits: StateLimits
    var builder = ColumnsBuilder()
    var store: TokenBuffer
    private(set) var violations: Violations
    private(set) var excess: StateError?
    /// The state that the document is compared with.
    var known: KnownState?
    /// Items taken over from it.
    var taken: [ReusedRun] = []
    /// The records that the document says are expanded; nil if that makes no difference.
    var said: Set<RecordIndex>?
    var path = DocumentPointers(root: "")
    /// Whether the first of several elements with one id is taken; otherwise they are violations.
    var keepsFirst = false
    /// The ordinal of the open item among its siblings, at each level; in a map, the offset of its name.
    private var ordinals: [Int] = []
    /// The ids found in the open elements of a document with pointers, part by part.
    var foundIDs: [FoundID?] = []

    /// A reader of padded memory; `count` bytes of it are the document.
    init(base: UnsafeRawPointer, count: Int, limits: StateLimits) {
        scanner = JSONScanner(base: base, count: count, maxDepth: limits.maxDepth)
        self.limits = limits
        violations = Violations(limit: limits.maxViolations)
        store = TokenBuffer(base: count + DocumentText.trailer.count)
    }

    // MARK: Violations

    mutating func note(_ code: String, _ detail: @autoclosure () -> String, at place: Location) {
        guard !violations.isFull else { return }
        let pointer = pointer(place)
        violations.note(code, detail(), at: pointer)
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

    private mutating func exceed(_ what: String, limit: Int, actual: Int, at place: Location) {
        guard excess == nil else { return }
        excess = .limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer(place))
    }

    /// Where a violation is; turned into a pointer only if there is one.
    enum Location {
        /// The open section, or a member of it.
        case section(StaticString)
        /// The item that is being read, or a member of it.
        case item(StaticString)
        /// The kind of that item, and whether it is expanded.
        case kind, expanded
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
        case .section(let member): return path.section(builder.openSection) + "\(member)"
        case .item(let member): return path.item(section: builder.openSection, steps(ordinals)) + "\(member)"
        case .kind: return pointer(.item("")) + path.layout.kind
        case .expanded: return pointer(.item("")) + path.layout.expanded
        case .sections: return path.start + (path.layout.sections ?? "")
        case .sectionElement(let ordinal): return path.section(ordinal)
        case .items:
            guard ordinals.count > 1 else { return path.section(builder.openSection) + path.layout.items }
            return path.item(section: builder.openSection, steps(ordinals.dropLast())) + path.layout.children
        case .root: return path.start
        case .element(let ordinal, let member): return "\(path.start)/\(ordinal)\(member)"
        }
    }

    /// The steps of a pointer: ordinals, or names in a map.
    private func steps(_ ordinals: some Sequence<Int>) -> [String] {
        guard path.layout.isMap else { return ordinals.map { "\($0)" } }
        return ordinals.map { name in
            var cursor = JSONCursor(scanner.base + name)
            return JSONPointer.escaped(cursor.takeString().text)
        }
    }

    // MARK: Sections

    /// Takes an array of sections.
    mutating func readSections(depth: Int, reading: (inout StateReader) throws(JSONError) -> Void) throws(JSONError) {
        var count = 0
        try readElements(depth: depth, of: "sections", at: .sections) {
            (reader) throws(JSONError) in
            count += 1
            guard count <= reader.limits.maxSections else {
                reader.exceed(
                    "sections", limit: reader.limits.maxSections, actual: count, at: .sectionElement(count - 1))
                return try reader.scanner.skipValue(depth: depth + 1)
            }
            reader.builder.beginSection()
            try reading(&reader)
            reader.builder.endSection()
        }
    }

    /// Takes an array, each element by `element`; anything else is a violation.
    mutating func readElements(
        depth: Int, of what: String, at place: Location,
        element: (inout StateReader) throws(JSONError) -> Void
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
        depth: Int, element: (inout StateReader) throws(JSONError) -> Void
    ) throws(JSONError) {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "]")) { return }
        repeat { try element(&self) } while try scanner.takesComma(or: UInt8(ascii: "]"))
    }

    /// Takes the object that starts here, each member's value by `value`.
    mutating func readObject(
        depth: Int, value: (inout StateReader, StringToken) throws(JSONError) -> Void
    ) throws(JSONError) {
        try scanner.checkDepth(depth)
        scanner.at += 1
        if scanner.takes(UInt8(ascii: "}")) { return }
        let frame = scanner.names.open()
        repeat { try value(&self, try scanner.takeName(in: frame)) } while try scanner.takesComma(or: UInt8(ascii: "}"))
        scanner.names.close(frame)
    }

    // MARK: Items

    /// Takes an array of items of the top level into the open section; `reading` takes one element.
    @inline(__always)
    mutating func readTopItems(
        depth: Int, reading: (inout StateReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        builder.place.room = scanner.maxDepth - depth
        let usesKnown = known?.fits(builder.place) ?? false
        try readItems(parent: -1, level: 0, depth: depth, usesKnown: usesKnown) { (reader, item) throws(JSONError) in
            try reading(&reader, item)
            if usesKnown { reader.known?.passed(reader.builder.nodes[item], in: reader.scanner.base) }
        }
    }

    /// Takes an array of items below `parent` (-1: the section) into the open section; `reading` takes one element.
    @inline(__always)
    mutating func readItems(
        parent: Int, level: Int, depth: Int, usesKnown: Bool = false,
        reading: (inout StateReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
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

    /// Takes an object into the open section, whose members are items below `parent` (-1: the section) and whose names
    /// are their ids; `reading` takes one value.
    mutating func readMap(
        parent: Int, level: Int, depth: Int, reading: (inout StateReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        ordinals.append(0)
        defer { ordinals.removeLast() }
        let list = ordinals.count - 1
        scanner.skipSpace()
        guard scanner.byte(scanner.at) == UInt8(ascii: "{") else {
            return try refuse("not-an-object", "with map, items must be an object", at: .items, depth: depth)
        }
        try readObject(depth: depth + 1) { (reader, name) throws(JSONError) in
            reader.ordinals[list] = name.start - 1
            try reader.readItem(parent: parent, level: level, depth: depth + 1) { (reader, item) throws(JSONError) in
                if let id = reader.id(name, at: .item("")) { reader.builder.setID(ofItem: item, id) }
                try reading(&reader, item)
            }
        }
    }

    /// Takes one item by `reading`, unless there are too many, or too many levels.
    @inline(__always)
    private mutating func readItem(
        parent: Int, level: Int, depth: Int, reading: (inout StateReader, Int) throws(JSONError) -> Void
    ) throws(JSONError) {
        if level >= limits.maxNesting {
            exceed("levels of items", limit: limits.maxNesting, actual: level + 1, at: .item(""))
            try scanner.skipValue(depth: depth)
        } else if builder.nodes.count >= limits.maxItems {
            exceed("items", limit: limits.maxItems, actual: limits.maxItems + 1, at: .item(""))
            try scanner.skipValue(depth: depth)
        } else {
            let item = builder.beginItem(parent: parent, level: level)
            try reading(&self, item)
            builder.endItem(item)
        }
    }

    // MARK: Ids

    /// Takes an id; nil, with a violation noted, if the value is none.
    @inline(__always)
    mutating func readID(depth: Int, at place: Location) throws(JSONError) -> FoundID? {
        scanner.skipSpace()
        let start = scanner.at
        let first = scanner.byte(start)
        if first == UInt8(ascii: "\"") { return id(try scanner.takeString(), at: place) }
        if first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10 {
            let isInteger = try scanner.takeNumber()
            let count = scanner.at - start
            if isInteger, count <= StateLimits.maxIDBytes {
                return FoundID(start: start, count: count, flags: .integerID)
            }
            note("invalid-id", "a number that is an id must be an integer of at most 2,048 digits", at: place)
            return nil
        }
        try refuse("invalid-id", "an id must be a string or an integer", at: place, depth: depth)
        return nil
    }

    /// A string as an id; nil, with a violation noted, if it is none.
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
        note("invalid-id", "an id has at most 2,048 bytes, this one has \(count)", at: place)
    }

    // MARK: The end

    /// What was read.
    consuming func result() -> ReadState {
        ReadState(
            builder: builder, tail: store, taken: taken, said: said, path: path, keepsFirst: keepsFirst,
            violations: violations, excess: excess)
    }
}

extension [UInt8] {
    /// Whether UTF-8 text holds a character of Unicode's category Cc: U+0000 to U+001F and U+007F to U+009F.
    var holdsControlCharacter: Bool {
        for (index, byte) in enumerated() {
            if byte < 0x20 || byte == 0x7F { return true }
            if byte == 0xC2, index + 1 < count, self[index + 1] < 0xA0 { return true }
        }
        return false
    }
}
