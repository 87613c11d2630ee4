// From bytes to edits, without a state. Members of an edit come in any order, and what `items` holds depends on `op`;
// so each edit is walked twice: once to check its grammar and note where its members stand, once to read them. Items
// and sections that are inserted are read by the reader of states, whose columns then hold the items of the whole
// batch; its violations are reported in the words of edits.

/// Reads a batch.
struct EditReader {
    var reader: StateReader
    private let limits: StateLimits
    private let pointer: String
    private(set) var edits: [Edit] = []
    var ids: [EditID] = []
    var updates: [EditUpdate] = []
    /// Edits seen, too many ones included.
    private var count = 0

    /// What was read, without a pointer into the memory that was.
    struct Batch {
        let edits: [Edit]
        let ids: [EditID]
        let updates: [EditUpdate]
        var builder: ColumnsBuilder
        /// What is to be put behind the memory.
        let tail: ArraySlice<UInt8>
    }

    /// A reader of the value at `range` of padded memory; `tail` is where bytes that it stores will stand.
    init(base: UnsafeRawPointer, range: Range<Int>, tail: Int, limits: StateLimits, pointer: String) {
        var inner = limits
        // What is inserted may be deleted by a later edit: only the state that comes out is held to the number of
        // items.
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
        let place = EditPointer(batch: pointer, edit: count - 1)
        reader.scanner.skipSpace()
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "{") else {
            reader.note("wrong-shape", "an edit is an object", at: place())
            return try reader.scanner.skipValue(depth: depth)
        }
        let members = try findMembers(at: place, depth: depth + 1)
        let end = reader.scanner.at
        if let edit = try interpret(members, at: place, depth: depth + 1) { edits.append(edit) }
        reader.scanner.at = end
    }

    // MARK: Members

    /// What an edit may have.
    enum Member: String, CaseIterable {
        case op, items, sections, before, after, into, at
    }

    /// Where the values of an edit's members stand.
    struct Members {
        private var starts: [(member: Member, at: Int)] = []

        subscript(member: Member) -> Int? {
            get { starts.first { $0.member == member }?.at }
            set { if let newValue { starts.append((member, newValue)) } }
        }
    }

    private mutating func findMembers(at place: EditPointer, depth: Int) throws(JSONError) -> Members {
        var members = Members()
        try reader.readObject(depth: depth) { (reader, token) throws(JSONError) in
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

    /// An edit from its members; nil, with a violation noted, where they make none.
    private mutating func interpret(_ members: Members, at place: EditPointer, depth: Int) throws(JSONError) -> Edit? {
        guard let operation = operation(members, at: place) else { return nil }
        var edit = Edit(operation: operation)
        switch (members[.items], members[.sections]) {
        case (.some, .some):
            reader.note("wrong-shape", "an edit has items or sections, not both", at: place())
        case (let items?, nil):
            edit.subject = .items
            try readOperands(of: &edit, from: items, at: place, depth: depth)
        case (nil, let sections?):
            edit.subject = .sections
            try readOperands(of: &edit, from: sections, at: place, depth: depth)
        case (nil, nil):
            if operation != .clear { reader.note("wrong-shape", "an edit needs items or sections", at: place()) }
        }
        edit.place = try readPlace(members, of: edit, at: place, depth: depth)
        return edit
    }

    private mutating func operation(_ members: Members, at place: EditPointer) -> Edit.Operation? {
        guard let start = members[.op] else {
            reader.note("wrong-shape", "an edit needs an op", at: place())
            return nil
        }
        if let operation = word(at: start, of: Edit.Operation.allCases) { return operation }
        let known = Edit.Operation.allCases.map(\.rawValue).joined(separator: ", ")
        reader.note("wrong-shape", "op is one of \(known)", at: place("/op"))
        return nil
    }

    /// Which word the string at an offset is; nil if something else stands there.
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

    /// Where a state has a code of its own for a value of the wrong type, or for one that is missing, edits have one
    /// for all.
    private static func inWordsOfEdits(_ violation: Violation) -> Violation {
        switch violation.code {
        case "unknown-member", "invalid-id": violation
        default: Violation(pointer: violation.pointer, code: "wrong-shape", detail: violation.detail)
        }
    }

    /// What was read; `check` has not thrown.
    consuming func result() -> Batch {
        Batch(edits: edits, ids: ids, updates: updates, builder: reader.builder, tail: reader.store.bytes)
    }
}

extension JSONString {
    /// The one of a few words that this is.
    fileprivate func word<Word: RawRepresentable<String>>(of words: [Word]) -> Word? {
        words.first { (isEscaped || count == $0.rawValue.utf8.count) && text.elementsEqual($0.rawValue.utf8) }
    }
}

/// Where an edit stands, as a JSON Pointer that is written only once there is something to be told.
struct EditPointer {
    /// Pointer to all edits.
    let batch: String
    let edit: Int

    /// The pointer to the edit, or to what is in it.
    func callAsFunction(_ rest: String = "") -> String { "\(batch)/\(edit)\(rest)" }
}
