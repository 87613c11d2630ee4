/// States and other values in one JSON object, such as `{"state":…,"ttl":60}` or `{"old":…,"new":…}`.
public struct Envelope: Sendable {
    /// The members that an object may have.
    public struct Members: Sendable {
        /// Members whose values are states.
        public var states: [String]
        /// Members whose values are any JSON.
        public var values: [String]
        /// Members of which exactly one must be present; with `allowsBareState` a bare state counts as `state`.
        public var exactlyOne: [String] = []
        /// Members that must be present.
        public var required: [String] = []
        /// Whether the document may also be the state itself: an array, or an object with `sections` or `items`.
        public var allowsBareState = false
        /// Whether a state is refused, without being read.
        public var refusesStates = false
        /// The member that gives the states' shape, if it is present.
        public var shape: String?

        /// Members by name.
        public init(
            states: [String], values: [String] = [], exactlyOne: [String] = [], required: [String] = [],
            allowsBareState: Bool = false, shape: String? = nil
        ) {
            (self.states, self.values, self.shape) = (states, values, shape)
            (self.exactlyOne, self.required, self.allowsBareState) = (exactlyOne, required, allowsBareState)
        }

        /// What to write in place of an unknown member.
        fileprivate func advice(on name: String) -> String? {
            if states == ["state"], !values.contains("edits") {
                if name == "edits" { return "POST edits to …/changes" }
                if name == "items" || name == "sections" { return #"send {"state":…}"# }
            }
            return Spelling.nearest(to: name, among: states + values).map { "did you mean \"\($0)\"?" }
        }

        /// The expected body, in words.
        fileprivate var expectation: String {
            let names = (exactlyOne.isEmpty ? required : exactlyOne).map { "\"\($0)\"" }
            let joined = names.joined(separator: exactlyOne.isEmpty ? " and " : " or ")
            let object = names.isEmpty ? "an object" : "an object with \(joined)"
            return allowsBareState ? object + ", or a state itself" : object
        }
    }

    /// A few states by name. Not a dictionary, which each request would have to allocate.
    public struct States: Sendable {
        let found: [(name: String, reading: StateReading)]

        /// The state of that name. O(states).
        public subscript(name: String) -> Snapshot? { reading(name)?.snapshot }
        /// The result of reading the state of that name. O(states).
        public func reading(_ name: String) -> StateReading? { found.first { $0.name == name }?.reading }
        /// The number of states.
        public var count: Int { found.count }
    }

    /// The states found, by member; a bare one as `state`.
    public let states: States
    /// The other values found, by member.
    public let values: [String: JSONSlice]
    /// Whether the document was the state itself.
    public let isBareState: Bool
    /// The document's text.
    public let text: ArraySlice<UInt8>

    /// What the last state shares with the known one, if anything.
    public var shared: SharedRuns? { states.found.lazy.compactMap(\.reading.shared).last }
    /// What was left out of the states, at most 20 elements.
    public var warnings: [StateWarning] {
        Array(states.found.flatMap(\.reading.warnings).prefix(StateWarning.maxCount))
    }
}

extension Envelope {
    /// Reads a document in one pass.
    ///
    /// - Parameter known: a state that `state` probably resembles; it affects only speed.
    /// - Throws: `StateError`: `.unwanted`, `.json`, then `.wrongShape` for the envelope, then `.limitExceeded` and
    ///   `.invalid` for the states.
    public init(
        json: consuming [UInt8], members: Members, shape: StateShape = .native, limits: StateLimits = StateLimits(),
        known: Snapshot? = nil
    ) throws(StateError) {
        var document = StateDocument(json)
        self = try document.envelope(members, shape: shape, limits: limits, known: known)
    }
}

/// Takes an envelope apart, member by member.
struct EnvelopeParser {
    private let members: Envelope.Members
    private let shape: StateShape
    private let limits: StateLimits
    private let known: IncrementalParse
    private var scanner: JSONScanner
    private(set) var violations: Violations
    /// What was found. Later, only the memory that was read may be gone.
    var states: [(name: String, parser: StateParser)] = []
    private(set) var values: [String: Range<Int>] = [:]
    private(set) var isBareState = false
    /// The list's own content, beside the list of a bare state.
    private var listContent: Range<Int>?
    /// Whether reading ended at an unwanted state.
    private(set) var metState = false
    /// Whether the object has the operation of an edit, or a revision as an answer has.
    private var (isEdit, isAnswer) = (false, false)
    /// Bytes that the states so far will append to the document, with padding and without.
    private var (tail, madeBytes) = (0, 0)

    init(
        _ members: Envelope.Members, _ shape: StateShape, _ limits: StateLimits, _ known: IncrementalParse,
        text: UnsafeRawPointer, count: Int
    ) {
        (self.members, self.shape, self.limits, self.known) = (members, shape, limits, known)
        scanner = JSONScanner(base: text, count: count, maxDepth: limits.maxDepth)
        violations = Violations(limit: limits.maxViolations)
    }

    mutating func read() throws(JSONError) {
        scanner.skipSpace()
        if scanner.byte(scanner.at) == UInt8(ascii: "{") {
            try readObject()
            if metState { return }
        } else {
            let isArray = scanner.byte(scanner.at) == UInt8(ascii: "[")
            let advice =
                isArray && members.states == ["state"]
                ? #"send {"state":…}, or POST the list to …/changes"# : scanner.adviceIfEncodedTwice(at: scanner.at)
            violations.note(
                "wrong-shape", "the body must be \(members.expectation)", advice: advice, at: DocumentPlace(0))
            try scanner.skipValue(depth: 0)
        }
        try scanner.finish()
    }

    private mutating func readObject() throws(JSONError) {
        scanner.at += 1
        let frame = scanner.names.open()
        var isEmpty = scanner.takes(UInt8(ascii: "}"))
        while !isEmpty {
            try readMember(scanner.string(try scanner.takeName(in: frame)))
            if metState { return }
            isEmpty = try !scanner.takesComma(or: UInt8(ascii: "}"))
        }
        scanner.names.close(frame)
        checkMembers()
    }

    /// Takes the value of the member of that name.
    private mutating func readMember(_ member: JSONString) throws(JSONError) {
        let name = member.string
        let isState = members.states.contains(name)
        let list = members.allowsBareState ? member.word(of: StateList.allCases) : nil
        if members.refusesStates, isState || list != nil {
            metState = true
        } else if isState {
            try readState(name) { [shape] (reader) throws(JSONError) in try reader.read(shape, depth: 1) }
        } else if members.values.contains(name) {
            values[name] = try scanner.takeValue(depth: 1)
        } else if let list {
            isBareState = true
            try readState("state") { (reader) throws(JSONError) in try reader.readList(list, depth: 1) }
        } else if members.allowsBareState, name == "content" {
            listContent = try scanner.takeValue(depth: 1)
        } else {
            if name == "op", members.states == ["state"] { isEdit = true }
            if name == "revision", members.states == ["state"] { isAnswer = true }
            noteUnknown(name, at: scanner.at)
            try scanner.skipValue(depth: 1)
        }
    }

    private mutating func noteUnknown(_ name: String, at offset: Int) {
        let advice = members.required.isEmpty ? "" : "; the body must be \(members.expectation)"
        violations.note(
            "unknown-member", "unknown member \"\(Violations.shown(Array(name.utf8)))\"\(advice)",
            advice: members.advice(on: name), at: DocumentPlace(offset))
    }

    private mutating func checkMembers() {
        if isEdit, states.isEmpty || isBareState, values["edits"] == nil {
            violations = Violations(limit: limits.maxViolations)
            let way = members.values.contains("edits") ? "wrap it" : "POST it to …/changes"
            return violations.note(
                "wrong-shape", "the body is an edit: \(way), as {\"edits\":[…]}", at: DocumentPlace(0))
        }
        if isAnswer, !states.isEmpty, !isBareState { violations.adviseFirst(#"of an answer, send {"state":…} alone"#) }
        if let content = listContent {
            if isBareState, let index = states.firstIndex(where: { $0.name == "state" }) {
                states[index].parser.builder.list = ListContent(content)
            } else {
                noteUnknown("content", at: content.lowerBound)
            }
        }
        let names = states.map(\.name) + values.keys
        if !members.required.allSatisfy(names.contains) {
            violations.note("missing-member", "the body must be \(members.expectation)", at: DocumentPlace(0))
        }
        let alternatives = names.count(where: members.exactlyOne.contains)
        if !members.exactlyOne.isEmpty, alternatives != 1 {
            var detail = "the body must be \(members.expectation): exactly one of these"
            if alternatives == 0, members.allowsBareState {
                violations.adviseFirst("say where the list is with ?itemsAt=, or send a row alone as [{…}]")
                detail += "; to post another document, say where its list is with ?itemsAt="
            }
            violations.note("wrong-shape", detail, at: DocumentPlace(0))
        }
    }

    /// Takes the next value as a state, lending the scanner out and back.
    private mutating func readState(
        _ name: String, reading: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) {
        var reader = StateParser(base: scanner.base, count: scanner.end, limits: limits)
        reader.store = TokenBuffer(base: scanner.end + DocumentText.trailer.count + tail)
        reader.madeBytes = madeBytes
        if name == "state" { reader.expect(known) }
        swap(&reader.scanner, &scanner)
        try reading(&reader)
        swap(&reader.scanner, &scanner)
        madeBytes = reader.madeBytes
        if reader.store.count > 0 { tail += reader.store.count + JSONScanner.padding }
        states.append((name, reader))
    }
}
