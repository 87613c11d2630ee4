// One JSON text that holds states: a state itself, a state inside an envelope such as {"state":…,"ttl":60}, or two of
// them ({"old":…,"new":…}). All states of a document share its bytes.

/// A JSON text on its way to becoming states.
struct StateDocument {
    private var bytes: [UInt8]
    private let count: Int

    init(_ json: consuming [UInt8]) {
        count = json.count
        // A state holds on to this memory for its whole life: what an array doubled in vain is not kept.
        json.reserveExactly(count + DocumentText.trailer.count)
        json.append(contentsOf: DocumentText.trailer)
        bytes = json
    }

    /// The document as one state, with what it took over from a known one.
    mutating func readWhole(
        shape: StateShape, limits: StateLimits, known: Snapshot? = nil
    ) throws(StateError) -> (Snapshot, reused: ReusedRuns?) {
        var read = try (known ?? .empty).columns.withView { (known) throws(StateError) in
            try scan(shape, limits: limits, upon: KnownState(known))
        }
        takeTail(of: read)
        return try read.finish(over: bytes, upon: known)
    }

    /// Whether the document is an array, if it is JSON.
    var isArray: Bool {
        bytes.withUnsafeBytes { text in
            var scanner = JSONScanner(base: text.baseAddress!, count: count, maxDepth: 0)
            scanner.skipSpace()
            return scanner.byte(scanner.at) == UInt8(ascii: "[")
        }
    }

    /// The document as one state in the library's own shape.
    mutating func readBareState(limits: StateLimits, known: Snapshot?) throws(StateError) -> Envelope {
        let (state, reused) = try readWhole(shape: .native, limits: limits, known: known)
        return Envelope(
            [Envelope.States.Named(name: "state", state: state)], values: [:], isBareState: true, text: bytes[..<count],
            reused: reused)
    }

    /// Reads the document as one state, up to the check for duplicate ids.
    func scan(_ shape: StateShape, limits: StateLimits, upon known: KnownState? = nil) throws(StateError) -> ReadState {
        try checkSize()
        let count = count
        return try bytes.withUnsafeBufferPointer { (text) throws(StateError) -> ReadState in
            var reader = StateReader(base: UnsafeRawPointer(text.baseAddress!), count: count, limits: limits)
            if let known { reader.expect(known) }
            do throws(JSONError) {
                try reader.read(shape, depth: 0, at: "")
                try reader.scanner.finish()
            } catch { throw .json(error) }
            return (consume reader).result()
        }
    }

    /// Records hold offsets of 32 bits, and what is stored behind a document is at most three times as long.
    private func checkSize() throws(StateError) {
        guard count > StateLimits.maxBytes else { return }
        throw .limitExceeded(what: "bytes", limit: StateLimits.maxBytes, actual: count, pointer: "")
    }

    /// Puts what a reader had to store behind the document.
    private mutating func takeTail(of read: ReadState) {
        guard read.tail.count > 0 else { return }
        bytes.reserveExactly(bytes.count + read.tail.count + JSONScanner.padding)
        bytes.append(contentsOf: read.tail.bytes)
        bytes.append(contentsOf: JSONScanner.zeros)
    }

    /// The document as an envelope: an object, or what `bare` allows in place of one.
    mutating func readEnvelope(
        _ members: Envelope.Members, shape: StateShape, limits: StateLimits, known: Snapshot?
    ) throws(StateError) -> Envelope {
        try checkSize()
        let count = count
        var read = try (known ?? .empty).columns.withView { (known) throws(StateError) -> ReadEnvelope in
            try bytes.withUnsafeBufferPointer { (text) throws(StateError) -> ReadEnvelope in
                var reader = EnvelopeReader(
                    members: members, shape: shape, limits: limits, known: KnownState(known),
                    text: UnsafeRawPointer(text.baseAddress!), count: count)
                do throws(JSONError) { return try reader.read() } catch { throw .json(error) }
            }
        }
        if read.metState { throw .unwanted }
        if !read.violations.list.isEmpty { throw .wrongShape(read.violations.list) }
        for index in read.states.indices { takeTail(of: read.states[index].state) }
        var states: [Envelope.States.Named] = []
        var reused: ReusedRuns?
        var failures: [Violation] = []
        for index in read.states.indices {
            let name = read.states[index].name
            do throws(StateError) {
                let (state, runs) = try read.states[index].state.finish(over: bytes, upon: known)
                states.append(Envelope.States.Named(name: name, state: state))
                reused = runs ?? reused
            } catch {
                guard case .invalid(let violations) = error else { throw error }
                failures += violations
            }
        }
        if !failures.isEmpty { throw .invalid(failures) }
        let values = read.values.isEmpty ? [:] : read.values.mapValues { JSONSlice(bytes: bytes, range: $0) }
        return Envelope(states, values: values, isBareState: read.isBareState, text: bytes[..<count], reused: reused)
    }
}

extension StateReader {
    /// Takes a value as a state of the given shape.
    mutating func read(_ shape: StateShape, depth: Int, at root: String) throws(JSONError) {
        if let places = shape.places {
            try readDocument(places, depth: depth, at: root)
        } else {
            try readState(depth: depth, at: root)
        }
    }
}

extension [UInt8] {
    /// Makes room for `size` bytes; memory that exceeds it by more than an eighth is exchanged for less. O(n) if it is.
    fileprivate mutating func reserveExactly(_ size: Int) {
        if capacity - size > size / 8 + 256 {
            self = Array(unsafeUninitializedCapacity: size) { room, used in (_, used) = room.initialize(from: self) }
        } else {
            reserveCapacity(size)
        }
    }
}

/// What follows a document in a state's buffer: padding for the scanner, and the id of the section that a shorthand
/// leaves unsaid.
enum DocumentText {
    static let trailer: [UInt8] = JSONScanner.zeros + Array("\"main\"".utf8) + JSONScanner.zeros

    /// Where the text `main` stands behind a document of `count` bytes.
    static func mainStart(_ count: Int) -> Int { count + JSONScanner.padding + 1 }
}
