// From bytes to edits, without a state. Members of an edit come in any order, and what `items` holds depends on `op`;
// so each edit is walked twice: once to check its grammar and note where its members stand, once to read them. Inserted
// items and sections are read by the reader of states, whose columns then hold the items of the whole batch; its
// violations are reported in the words of edits.

/// Reads a batch.
struct EditReader {
    var reader: StateReader
    private let limits: StateLimits
    private let pointer: String
    private(set) var edits: [Edit] = []
    var ids: [EditID] = []
    var updates: [EditUpdate] = []
    /// Edits seen, including those beyond the limit.
    private var count = 0

    /// A reader of the value at `range` of padded memory; `tail` is where bytes that it stores will stand.
    init(base: UnsafeRawPointer, range: Range<Int>, tail: Int, limits: StateLimits, pointer: String) {
        var inner = limits
        // What is inserted may be deleted by a later edit: only the resulting state is held to the number of items.
        inner.maxItems = StateLimits.none.maxItems
        reader = StateReader(base: base, count: range.upperBound, limits: inner)
        reader.scanner.at = range.lowerBound
        reader.store = TokenBuffer(base: tail)
        (self.limits, self.pointer) = (limits, pointer)
    }

    /// Reads all edits; violations are only noted.
    mutating func read(depth: Int) throws(JSONError) {
        reader.scanner.skipSpace()
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "[") else {
            reader.note("wrong-shape", "edits are an array", at: pointer)
            try reader.scanner.skipValue(depth: depth)
            return try reader.scanner.finish()
        }
        try reader.scanner.checkDepth(depth + 1)
        reader.scanner.at += 1
        if !reader.scanner.takes(UInt8(ascii: "]")) {
            repeat { try readElement(depth: depth + 1) } while try reader.scanner.takesComma(or: UInt8(ascii: "]"))
        }
        try reader.scanner.finish()
    }

    private mutating func readElement(depth: Int) throws(JSONError) {
        count += 1
        guard count <= limits.maxEdits else { return try reader.scanner.skipValue(depth: depth) }
        reader.scanner.skipSpace()
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "{") else {
            note("an edit is an object")
            return try reader.scanner.skipValue(depth: depth)
        }
        let members = try findMembers(depth: depth + 1)
        let end = reader.scanner.at
        if let edit = try interpret(members, depth: depth + 1) { edits.append(edit) }
        reader.scanner.at = end
    }

    /// The edit that is being read.
    var place: EditPointer { EditPointer(batch: pointer, edit: count - 1) }

    /// Notes that the edit has the wrong shape, at a place in it.
    mutating func note(_ detail: @autoclosure () -> String, at rest: String = "") {
        let place = place
        reader.note("wrong-shape", detail(), at: place(rest))
    }

    // MARK: Members

    /// What an edit may have.
    enum Member: String, CaseIterable {
        case op, items, sections, before, after, into, at
    }

    /// Where the values of an edit's members start.
    struct Members {
        private var starts: [(member: Member, at: Int)] = []

        subscript(member: Member) -> Int? {
            get { starts.first { $0.member == member }?.at }
            set { if let newValue { starts.append((member, newValue)) } }
        }
    }

    private mutating func findMembers(depth: Int) throws(JSONError) -> Members {
        var members = Members()
        try reader.readObject(depth: depth) { [place] (reader, token) throws(JSONError) in
            reader.scanner.skipSpace()
            let name = reader.scanner.string(token)
            if let member = name.word(of: Member.allCases) {
                members[member] = reader.scanner.at
            } else {
                reader.note(
                    "unknown-member", "an edit has no member \"\(Violations.shown(Array(name.text)))\"",
                    at: place("/\(JSONPointer.escaped(name.text))"))
            }
            try reader.scanner.skipValue(depth: depth)
        }
        return members
    }

    /// An edit from its members; nil, with a violation noted, if it has no operation.
    private mutating func interpret(_ members: Members, depth: Int) throws(JSONError) -> Edit? {
        guard let operation = operation(members) else { return nil }
        var edit = Edit(operation: operation)
        switch (members[.items], members[.sections]) {
        case (.some, .some): note("an edit has items or sections, not both")
        case (let items?, nil): try readOperands(of: &edit, .items, from: items, depth: depth)
        case (nil, let sections?): try readOperands(of: &edit, .sections, from: sections, depth: depth)
        case (nil, nil): if operation != .clear { note("an edit needs items or sections") }
        }
        edit.destination = try readDestination(members, of: edit, depth: depth) ?? .at(.end)
        return edit
    }

    private mutating func operation(_ members: Members) -> Edit.Operation? {
        guard let start = members[.op] else {
            note("an edit needs an op")
            return nil
        }
        if let operation = word(at: start, of: Edit.Operation.allCases) { return operation }
        note("op is one of \(Edit.Operation.allCases.map(\.rawValue).joined(separator: ", "))", at: "/op")
        return nil
    }

    /// Which word the string at an offset is; nil for anything else.
    func word<Word: RawRepresentable<String>>(at start: Int, of words: [Word]) -> Word? {
        guard reader.scanner.byte(start) == UInt8(ascii: "\"") else { return nil }
        var cursor = JSONCursor(reader.scanner.base + start)
        return cursor.takeString().word(of: words)
    }

    // MARK: The end

    /// Throws what was found wrong.
    func check() throws(EditError) {
        if count > limits.maxEdits {
            throw .limitExceeded(
                what: "edits", limit: limits.maxEdits, actual: count, pointer: "\(pointer)/\(limits.maxEdits)")
        }
        if case .limitExceeded(let what, let limit, let actual, let pointer) = reader.excess {
            throw .limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer)
        }
        guard reader.violations.list.isEmpty else {
            throw .wrongShape(reader.violations.list.map(Self.inWordsOfEdits))
        }
    }

    /// A state has codes of its own for a value of the wrong type and for a missing one; edits have one code for both.
    private static func inWordsOfEdits(_ violation: Violation) -> Violation {
        switch violation.code {
        case "unknown-member", "invalid-id": violation
        default: Violation(pointer: violation.pointer, code: "wrong-shape", detail: violation.detail)
        }
    }
}

extension JSONString {
    /// The one of a few words that this is.
    fileprivate func word<Word: RawRepresentable<String>>(of words: [Word]) -> Word? {
        words.first { (isEscaped || count == $0.rawValue.utf8.count) && text.elementsEqual($0.rawValue.utf8) }
    }
}

/// A JSON Pointer to an edit, written only when a violation is reported.
struct EditPointer {
    /// Pointer to all edits.
    let batch: String
    let edit: Int

    /// The pointer to the edit, or to something in it.
    func callAsFunction(_ rest: String = "") -> String { "\(batch)/\(edit)\(rest)" }
}
