/// A JSON text that can be read as a state, or as an envelope around states such as {"state":…,"ttl":60} or
/// {"old":…,"new":…}, more than once if the shape was a guess. All states of a document share its bytes.
public struct StateDocument: Sendable {
    private var bytes: [UInt8]
    /// The length of the text.
    package let byteCount: Int

    /// A document of these bytes, UTF-8. An array with `DocumentText.trailer.count` (22) bytes of spare capacity is not
    /// copied.
    public init(_ json: consuming [UInt8]) {
        byteCount = json.count
        json = Self.withoutMark(json)
        // A state holds this memory for its whole life, so room left by the array's growth is given back.
        json.reserveExactly(byteCount + DocumentText.trailer.count)
        json.append(contentsOf: DocumentText.trailer)
        bytes = json
    }

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// A text without a byte order mark, which may be ignored (RFC 8259 §8.1). Carriage returns leave all offsets and
    /// columns as they are.
    package static func withoutMark(_ json: consuming [UInt8]) -> [UInt8] {
        if json.starts(with: byteOrderMark) { for index in 0..<3 { json[index] = UInt8(ascii: "\r") } }
        return json
    }

    /// The document as one state.
    ///
    /// - Parameters:
    ///   - known: a state that it probably resembles, such as the previous one. Items with the same text are not read
    ///     again; it affects only speed.
    ///   - keepsExpanded: whether sections and items without `expanded` are as in the known state.
    ///   - omitsFaults: whether only the list must be where it should: the first of several elements with one id is
    ///     taken, one without a usable id is left out, and so is what cannot be read of another.
    ///   - head: what elements without ids need to know of the known state, which they continue.
    public mutating func state(
        _ shape: StateShape, limits: StateLimits, upon known: Snapshot? = nil, keepsExpanded: Bool = false,
        omitsFaults: Bool = false, continuing head: @autoclosure () -> ElementHead? = nil
    ) throws(StateError) -> StateReading {
        removeTail()
        let head = shape.continuesHead ? head().map(Boxed.init) : nil
        var parser = try (known ?? .empty).columns.withView { (known) throws(StateError) in
            try read(limits) { (parser) throws(JSONError) in
                parser.expect(IncrementalParse(known, keepsExpanded: keepsExpanded, head: head))
                if omitsFaults { parser.omitFaults() }
                try parser.read(shape, depth: 0)
            }
        }
        let text = try takeText(of: &parser)
        return try parser.finish(over: text, upon: known?.columns)
    }

    /// Whether the document is an array, if it is JSON.
    package var isArray: Bool {
        withStart { start in
            var scanner = JSONScanner(base: start, count: byteCount, maxDepth: 0)
            scanner.skipSpace()
            return scanner.byte(scanner.at) == UInt8(ascii: "[")
        }
    }

    /// The document as an envelope: an object, or what `members` allows instead.
    public mutating func envelope(
        _ members: Envelope.Members, shape: StateShape = .native, limits: StateLimits = StateLimits(),
        known: Snapshot? = nil, keepsExpanded: Bool = false, continuing head: ElementHead? = nil
    ) throws(StateError) -> Envelope {
        if members.allowsBareState, isArray {
            if members.refusesStates { throw .unwanted }
            let reading = try state(.native, limits: limits, upon: known, keepsExpanded: keepsExpanded)
            let states = Envelope.States(found: [("state", reading)])
            return Envelope(states: states, values: [:], isBareState: true, text: text)
        }
        try checkSize()
        removeTail()
        let boxed = shape.continuesHead ? head.map(Boxed.init) : nil
        var read = try (known ?? .empty).columns.withView { (known) throws(StateError) in
            try withStart { (start) throws(StateError) in
                let known = IncrementalParse(known, keepsExpanded: keepsExpanded, head: boxed)
                var reader = EnvelopeParser(members, shape, limits, known, text: start, count: byteCount)
                do throws(JSONError) { try reader.read() } catch { throw .json(error) }
                return reader
            }
        }
        if read.metState { throw .unwanted }
        if let name = members.shape, let range = read.values[name], bytes[range.lowerBound] != UInt8(ascii: "n") {
            // The shape may come after the state: read everything again with it.
            var members = members
            members.shape = nil
            let shape = try StateShape(JSONSlice(bytes: bytes, range: range), at: "/" + name)
            return try envelope(
                members, shape: shape, limits: limits, known: known, keepsExpanded: keepsExpanded, continuing: head)
        }
        if !read.violations.isEmpty { throw .wrongShape(withStart { read.violations.reported(in: $0) }) }
        var whole: TextRope?
        for index in read.states.indices { try appendTail(of: &read.states[index].parser, to: &whole) }
        var states: [(name: String, reading: StateReading)] = []
        var failures: [Violation] = []
        // Without ids, the elements of each state continue those of the one before it, whose ids they need.
        if shape.continuesHead {
            let order = { (name: String) in members.states.firstIndex(of: name) ?? 0 }
            read.states.sort { order($0.name) < order($1.name) }
        }
        for index in read.states.indices {
            do throws(StateError) {
                if index > 0 { read.states[index].parser.elements?.sequence = UInt64(index) }
                let reading = try read.states[index].parser.finish(
                    over: whole ?? TextRope(bytes),
                    upon: known?.columns ?? (shape.continuesHead ? states.last?.reading.snapshot.columns : nil))
                states.append((read.states[index].name, reading))
            } catch {
                guard case .invalid(let violations) = error else { throw error }
                failures += violations
            }
        }
        if !failures.isEmpty { throw .invalid(failures) }
        // Most documents have none, and an empty dictionary would be allocated all the same.
        let values = read.values.isEmpty ? [:] : read.values.mapValues { JSONSlice(bytes: bytes, range: $0) }
        return Envelope(states: .init(found: states), values: values, isBareState: read.isBareState, text: text)
    }

    private var text: ArraySlice<UInt8> { bytes[..<byteCount] }

    /// The value of a member as a separate document; nil if this one is not an object with such a member. It must be
    /// JSON. O(bytes).
    package func member(_ name: String) -> StateDocument? {
        let place = PointerSet([JSONPointer(tokens: [Array(name.utf8)])])
        return withStart { start in
            var cursor = JSONCursor(start)
            cursor.skipSpace()
            guard cursor.byte == UInt8(ascii: "{"), let value = place.value(in: cursor.at, entersArrays: false) else {
                return nil
            }
            cursor = JSONCursor(value)
            return StateDocument(Array(cursor.takeValue()))
        }
    }

    /// The document as a shape; nil if it is none. It must be JSON.
    package var shape: StateShape? { try? StateShape(JSONSlice(bytes: bytes, range: 0..<byteCount)) }

    /// Whether the document is an object with a string `op`, as an edit is without its envelope. It must be JSON.
    /// O(bytes).
    package var isOperation: Bool {
        withStart { start in
            var cursor = JSONCursor(start)
            cursor.skipSpace()
            return cursor.takesOperation(levels: 0)
        }
    }

    /// Calls `body` with the start of the text, which is padded.
    @inline(__always)
    func withStart<Result, Failure: Error>(
        _ body: (UnsafeRawPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try bytes.withUnsafeBufferPointer { (text) throws(Failure) in try body(UnsafeRawPointer(text.baseAddress!)) }
    }

    /// The names of the document's members, if it is an object whose members are all known. O(1) if the first one is
    /// not.
    public func names(among known: Set<String>) -> Set<String>? {
        withStart { start in
            var scanner = JSONScanner(base: start, count: byteCount, maxDepth: JSONScanner.depthLimit)
            scanner.skipSpace()
            guard scanner.byte(scanner.at) == UInt8(ascii: "{") else { return nil }
            scanner.at += 1
            var names: Set<String> = []
            let frame = scanner.names.open()
            do throws(JSONError) {
                if scanner.takes(UInt8(ascii: "}")) { return names }
                repeat {
                    let name = scanner.string(try scanner.takeName(in: frame)).string
                    guard known.contains(name) else { return nil }
                    names.insert(name)
                    try scanner.skipValue(depth: 1)
                } while try scanner.takesComma(or: UInt8(ascii: "}"))
            } catch { return nil }
            return names
        }
    }

    /// Checks that the document is JSON, and nothing else.
    public func check(_ limits: StateLimits) throws(StateError) {
        _ = try read(limits) { (parser) throws(JSONError) in try parser.scanner.skipValue(depth: 0) }
    }

    /// Reads the document by `body`; duplicate ids are not looked for yet.
    func read(
        _ limits: StateLimits, by body: (inout StateParser) throws(JSONError) -> Void
    ) throws(StateError) -> StateParser {
        try checkSize()
        return try withStart { (start) throws(StateError) in
            var parser = StateParser(base: start, count: byteCount, limits: limits)
            do throws(JSONError) {
                try body(&parser)
                try parser.scanner.finish()
            } catch { throw .json(error) }
            return parser
        }
    }

    private func checkSize() throws(StateError) {
        if byteCount > StateLimits.maxBytes { throw Self.tooLarge(byteCount) }
    }

    static func tooLarge(_ count: Int) -> StateError {
        .limitExceeded(what: "bytes", limit: StateLimits.maxBytes, actual: count, pointer: "")
    }

    /// The text of a state that was read: the document, and what its reader had to store.
    mutating func takeText(of parser: inout StateParser) throws(StateError) -> TextRope {
        var text: TextRope?
        try appendTail(of: &parser, to: &text)
        return text ?? TextRope(bytes)
    }

    /// Appends what a reader had to store, and releases it there: to the document, or, so that a large one need not be
    /// there twice, to a text that begins with it.
    private mutating func appendTail(of parser: inout StateParser, to text: inout TextRope?) throws(StateError) {
        guard parser.excess == nil, parser.store.count > 0 else { return }
        let tail = exchange(&parser.store, with: TokenBuffer())
        let size = tail.end + JSONScanner.padding
        // Records hold offsets of 32 bits.
        guard size <= UInt32.max else { throw Self.tooLarge(size) }
        if text != nil || TextRope.keepsApart(tail.count) { return text = (text ?? TextRope(bytes)).appending(tail) }
        bytes.reserveExactly(size)
        bytes.append(contentsOf: tail.bytes)
        bytes.append(contentsOf: JSONScanner.zeros)
    }

    /// Removes what an earlier reading stored.
    mutating func removeTail() {
        let tail = bytes.count - byteCount - DocumentText.trailer.count
        if tail > 0 { bytes.removeLast(tail) }
    }
}

extension JSONCursor {
    /// Takes the next value. Whether it is an object with a string `op`, or holds one up to `levels` further down.
    mutating func takesOperation(levels: Int) -> Bool {
        let isObject = byte == UInt8(ascii: "{")
        guard levels >= 0, isObject || byte == UInt8(ascii: "[") else {
            skipValue()
            return false
        }
        guard enter() else { return false }
        var found = false
        repeat {
            if isObject, takeName().isText("op"), byte == UInt8(ascii: "\"") { found = true }
            if takesOperation(levels: levels - 1) { found = true }
        } while takesComma()
        return found
    }
}

extension StateParser {
    /// Takes a value as a state of the given shape.
    mutating func read(_ shape: StateShape, depth: Int) throws(JSONError) {
        scanner.skipSpace()
        root = scanner.at
        guard let mapping = shape.mapping else { return try readState(depth: depth) }
        try readDocument(shape, mapping, depth: depth)
    }
}

extension [UInt8] {
    /// Reserves room for `size` bytes. Gives memory back if there is over an eighth more than that, in O(n).
    fileprivate mutating func reserveExactly(_ size: Int) {
        if capacity - size > size / 8 + 256 {
            self = Array(unsafeUninitializedCapacity: size) { room, used in (_, used) = room.initialize(from: self) }
        } else {
            reserveCapacity(size)
        }
    }
}
