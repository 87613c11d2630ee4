// From bytes to edits, without a state. Members of an edit come in any order, and the meaning of `items` depends on
// `op`; so each edit is walked twice: once to check its grammar and note where its members are (14 % of a POST of 100
// updates), once to read them.
// Inserted items and sections are read by the reader of states, whose columns then hold the items of the whole batch;
// its violations are reported in the words of edits.

/// Reads a batch.
struct EditParser {
    private(set) var reader: StateParser
    private let limits: StateLimits
    private let pointer: String
    /// What to look for in all elements, or only in a section's.
    private let targets: DocumentTargets?
    private let sectionReaders: SectionReaders
    /// The shapes of elements, with the sections that these go into as far as that is known.
    private(set) var shapes: ElementShapes
    private var lastSection: [UInt8]?
    private(set) var edits: [Edit] = []
    private(set) var ids: [EditID] = []
    private(set) var updates: [EditUpdate] = []
    private(set) var additions: [EditAddition] = []
    /// Where the batch starts.
    private let start: Int
    /// Edits seen, including those beyond the limit, and where the one is that is being read.
    private var count = 0
    private var offset = 0

    /// Reads the batch at `range` of padded text; what it stores follows the text. Violations are only noted.
    init(
        _ text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>, _ shapes: ElementShapes, limits: StateLimits,
        pointer: String
    ) throws(EditError) {
        var inner = limits
        // A later edit may delete what is inserted: only the resulting state is limited in its number of items.
        inner.maxItems = StateLimits.none.maxItems
        reader = StateParser(base: UnsafeRawPointer(text.baseAddress!), count: range.upperBound, limits: inner)
        reader.scanner.at = range.lowerBound
        reader.store = TokenBuffer(base: text.count)
        reader.isOfEdits = true
        // What is said of a new item wins over its content, which a shape reads.
        reader.mentioned = shapes.all == nil && shapes.sections.isEmpty ? nil : []
        (self.shapes, sectionReaders) = (shapes, SectionReaders(shapes.sections))
        targets = ShapeReader(shapes.all)?.targets
        reader.groupPrefix = targets?.mapping.element.groupPrefix
        (self.limits, self.pointer, start) = (limits, pointer, range.lowerBound)
        do throws(JSONError) { try read(depth: pointer.isEmpty ? 0 : 1) } catch { throw .json(error) }
    }

    private mutating func read(depth: Int) throws(JSONError) {
        reader.scanner.skipSpace()
        guard reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "[") else {
            let isObject = reader.scanner.byte(reader.scanner.at) == UInt8(ascii: "{")
            let advice = isObject ? "put the edit into one, [{…}]" : nil
            try reader.refuse("wrong-shape", "edits must be an array", advice: advice, depth: depth)
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
        offset = reader.scanner.at
        guard reader.scanner.byte(offset) == UInt8(ascii: "{") else {
            return try reader.refuse("wrong-shape", "an edit must be an object", depth: depth)
        }
        let start = reader.violations.list.count
        let members = try findMembers(depth: depth + 1)
        let end = reader.scanner.at
        var edit = try interpret(members, depth: depth + 1)
        edit.isUnclear = reader.violations.list[start...].contains { !Self.amountCodes.contains($0.code) }
        edits.append(edit)
        reader.scanner.at = end
    }

    /// Codes of an amount that is not added, while all else of its edit is understood.
    private static let amountCodes = ["not-a-number", "not-a-string", "limit-exceeded"]

    /// Notes that the edit has the wrong shape, as a whole or at an offset.
    private mutating func note(_ detail: @autoclosure () -> String, at offset: Int? = nil) {
        reader.note("wrong-shape", detail(), at: DocumentPlace(offset ?? self.offset))
    }

    // MARK: Members

    private enum Member: String, CaseIterable { case op, items, sections, elements, before, after, into, at }

    /// Where the values of an edit's members start.
    private struct Members {
        private var starts: [(member: Member, at: Int)] = []

        subscript(member: Member) -> Int? {
            get { starts.first { $0.member == member }?.at }
            set { if let newValue { starts.append((member, newValue)) } }
        }
    }

    private mutating func findMembers(depth: Int) throws(JSONError) -> Members {
        var members = Members()
        try reader.readObject(depth: depth) { (reader, token) throws(JSONError) in
            reader.scanner.skipSpace()
            let name = reader.scanner.string(token)
            if let member = name.word(of: Member.allCases) {
                members[member] = reader.scanner.at
                try reader.scanner.skipValue(depth: depth)
            } else {
                let shown = Violations.shown(Array(name.text))
                try reader.refuse(
                    "unknown-member", "an edit has no member \"\(shown)\": \(Self.advice(on: shown))", depth: depth)
            }
        }
        return members
    }

    private static func advice(on name: String) -> String {
        if let member = Spelling.nearest(to: name, among: Member.allCases.map(\.rawValue)) {
            return "did you mean \"\(member)\"?"
        }
        switch name {
        case "id", "ids": return #"write "items":["…"]"#
        case "content", "patch", "add", "append", "kind", "expanded":
            return "it goes beside the \"id\", into an element of \"items\""
        default: return "it has \(Member.allCases.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// An edit from its members. Without an operation, with a violation noted, it is one that is not applied.
    private mutating func interpret(_ members: Members, depth: Int) throws(JSONError) -> Edit {
        guard let operation = operation(members) else {
            let isOfAll = members[.items] == nil && members[.sections] == nil && members[.elements] == nil
            return Edit(offset: offset, operation: isOfAll ? .clear : .delete)
        }
        var edit = Edit(offset: offset, operation: operation)
        // Where elements go may say how to read them.
        let isOfElements = members[.elements] != nil
        if isOfElements { edit.destination = try readDestination(members, of: edit, depth: depth) ?? .at(.end) }
        switch (members[.items], members[.sections], members[.elements]) {
        case (let items?, nil, nil): try readOperands(of: &edit, .items, from: items, depth: depth)
        case (nil, let sections?, nil): try readOperands(of: &edit, .sections, from: sections, depth: depth)
        case (nil, nil, let elements?): try readElements(of: &edit, from: elements, depth: depth)
        case (nil, nil, nil):
            let others = operation == .insert ? ", or elements" : ""
            if operation != .clear { note("an edit needs items or sections\(others)") }
        default: note("an edit may have only one of items, sections and elements")
        }
        if !isOfElements { edit.destination = try readDestination(members, of: edit, depth: depth) ?? .at(.end) }
        edit.hasTarget = [.before, .after, .into].contains { members[$0] != nil }
        if case .at(.start) = edit.destination { edit.hasTarget = true }
        return edit
    }

    private mutating func operation(_ members: Members) -> EditOperation? {
        guard let start = members[.op] else {
            note("an edit needs an op")
            return nil
        }
        let word = string(at: start)
        if let operation = word?.word(of: EditOperation.allCases) { return operation }
        let names = EditOperation.allCases.map(\.rawValue)
        let meant = word.flatMap { Self.operation(meantBy: $0, names) }.map { ": did you mean \($0)?" } ?? ""
        note("op must be one of \(names.joined(separator: ", "))\(meant)", at: start)
        return nil
    }

    private static func operation(meantBy word: JSONString, _ names: [String]) -> String? {
        let word = String(decoding: Array(word.text.prefix(16)), as: UTF8.self).lowercased()
        switch word {
        case "remove": return "delete"
        case "add", "append", "create": return "insert"
        case "replace", "set", "patch": return "update"
        default: return Spelling.nearest(to: word, among: names)
        }
    }

    private func string(at start: Int) -> JSONString? {
        guard reader.scanner.byte(start) == UInt8(ascii: "\"") else { return nil }
        var cursor = JSONCursor(reader.scanner.base + start)
        return cursor.takeString()
    }

    /// The violations found. A state has codes of its own for a value of the wrong type and for a missing one; edits
    /// have one code for both.
    var violations: [Violation] {
        reader.violations.reported(in: reader.scanner.base, from: start, root: pointer).map {
            let isOfEdits = Self.amountCodes.contains($0.code) || ["unknown-member", "invalid-id"].contains($0.code)
            return isOfEdits ? $0 : Violation(pointer: $0.pointer, code: "wrong-shape", detail: $0.detail)
        }
    }

    func checkLimits() throws(EditError) {
        if count > limits.maxEdits {
            throw .limitExceeded(
                what: "edits", limit: limits.maxEdits, actual: count, pointer: "\(pointer)/\(limits.maxEdits)")
        }
        if let excess = reader.excess {
            let pointer = DocumentPointers.pointer(
                to: excess.place, in: reader.scanner.base, from: start, root: pointer)
            throw .limitExceeded(what: excess.what, limit: excess.limit, actual: excess.actual, pointer: pointer)
        }
    }

    // MARK: Operands

    private mutating func readOperands(
        of edit: inout Edit, _ subject: Edit.Subject, from start: Int, depth: Int
    ) throws(JSONError) {
        edit.subject = subject
        reader.scanner.at = start
        if reader.scanner.byte(start) == UInt8(ascii: "n") {
            return note("\(subject.rawValue) must be an array", at: start)
        }
        switch (edit.operation, subject) {
        case (.insert, .items):
            edit.operands = try readNodes { (reader) throws(JSONError) in
                try reader.readItems(parent: -1, level: 0, depth: depth) { (reader, item) throws(JSONError) in
                    try reader.readItem(item, level: 0, depth: depth + 1)
                }
            }
        case (.insert, .sections):
            let first = reader.builder.sections.count
            try reader.readList(.sections, depth: depth)
            edit.operands = first..<reader.builder.sections.count
        case (.update, _):
            let first = updates.count
            var additions = exchange(&additions, with: [])
            updates += try readElements(of: subject.rawValue, depth: depth) { (reader) throws(JSONError) in
                try reader.readEditUpdate(of: subject, &additions, depth: depth + 1)
            }
            self.additions = additions
            edit.operands = first..<updates.count
        default:
            let first = ids.count
            ids += try readElements(of: subject.rawValue, depth: depth) { (reader) throws(JSONError) in
                try reader.readEditID(depth: depth + 1)
            }
            edit.operands = first..<ids.count
        }
    }

    /// Reads elements of a document as the items that the edit inserts.
    private mutating func readElements(of edit: inout Edit, from start: Int, depth: Int) throws(JSONError) {
        (edit.subject, edit.isOfElements) = (.items, true)
        guard edit.operation == .insert else { return note("only insert takes elements", at: start) }
        guard shapes.areOfSections else {
            return edit.operands = try readElements(by: targets, from: start, depth: depth)
        }
        // Until it is known where they go, they may only be guessed to go where those before them do.
        if let section = shapes.targets[edits.count] ?? sectionNamed(by: edit) {
            (shapes.targets[edits.count], lastSection) = (section, section)
            edit.operands = try readElements(by: sectionReaders[section]?.targets, from: start, depth: depth)
        } else if let section = lastSection {
            let known = exchange(&reader.violations, with: Violations(limit: 1))
            let operands = try readElements(by: sectionReaders[section]?.targets, from: start, depth: depth)
            let isUsable = exchange(&reader.violations, with: known).isEmpty
            if isUsable { (edit.operands, shapes.targets[edits.count]) = (operands, section) }
        }
    }

    private mutating func readElements(
        by targets: DocumentTargets?, from start: Int, depth: Int
    ) throws(JSONError) -> Range<Int> {
        let isObject = reader.scanner.byte(start) == UInt8(ascii: "{")
        guard let targets else {
            let owner = shapes.areOfSections ? "section" : "list"
            note(
                "elements need a shape, and neither the \(owner) nor the request has one: insert items instead",
                at: start)
            return 0..<0
        }
        guard isObject == targets.isMap, isObject || reader.scanner.byte(start) == UInt8(ascii: "[") else {
            note("elements must be an \(targets.isMap ? "object, as the shape's map" : "array")", at: start)
            return 0..<0
        }
        reader.scanner.at = start
        return try readNodes { (reader) throws(JSONError) in try reader.readItemElements(targets, depth: depth) }
    }

    private func sectionNamed(by edit: Edit) -> [UInt8]? {
        guard case .into(let parent, _) = edit.destination, parent.subject == .sections else { return nil }
        return reader.bytes(of: FoundID(start: Int(parent.id.start), count: Int(parent.id.count), flags: []))
    }

    /// Reads items into a section without an id; returns their nodes.
    private mutating func readNodes(
        _ read: (inout StateParser) throws(JSONError) -> Void
    ) throws(JSONError) -> Range<Int> {
        let first = reader.builder.nodes.count
        reader.builder.beginSection()
        try read(&reader)
        reader.builder.endSection()
        return first..<reader.builder.nodes.count
    }

    /// Reads an array, except for elements that `read` has noted a violation of.
    private mutating func readElements<Element>(
        of member: String, depth: Int, _ read: (inout StateParser) throws(JSONError) -> Element?
    ) throws(JSONError) -> [Element] {
        var elements: [Element] = []
        try reader.readElements(depth: depth, of: member) { (reader) throws(JSONError) in
            if let element = try read(&reader) { elements.append(element) }
        }
        return elements
    }

    // MARK: Destinations

    /// Where an edit puts its operands; nil if it does not say, or with a violation noted.
    private mutating func readDestination(
        _ members: Members, of edit: Edit, depth: Int
    ) throws(JSONError) -> Edit.Destination? {
        let named = [Member.before, .after, .into].filter { members[$0] != nil }
        guard edit.operation.takesPosition else {
            for member in named + [.at] where members[member] != nil {
                note("only insert and move take a position, not \(edit.operation.rawValue)", at: members[member])
            }
            return nil
        }
        if named.count > 1 {
            note("an edit may have at most one of before, after and into")
            return nil
        }
        let end = members[.at].flatMap { string(at: $0)?.word(of: Edit.End.allCases) }
        if members[.at] != nil, end == nil { note("at must be \"start\" or \"end\"", at: members[.at]) }
        guard let anchor = named.first, let start = members[anchor] else { return end.map { .at($0) } }
        reader.scanner.at = start
        if anchor == .into {
            if edit.subject == .sections {
                note("sections cannot be nested: use before, after or at", at: start)
                return nil
            }
            return try readParent(depth: depth).map { .into($0, end ?? .end) }
        }
        if members[.at] != nil { note("at can only be used with into or alone", at: members[.at]) }
        return try readAnchors(anchor == .before ? .before : .after, depth: depth)
    }

    /// An id, null, or a list of ids that may end with null.
    private mutating func readAnchors(_ side: Edit.Anchors.Side, depth: Int) throws(JSONError) -> Edit.Destination? {
        let (first, start) = (ids.count, reader.scanner.at)
        switch reader.scanner.byte(start) {
        case UInt8(ascii: "n"): return .at(side == .before ? .end : .start)
        case UInt8(ascii: "["):
            var (count, end) = (0, nil as Int?)
            var isLast = true
            ids += try readElements(of: side.rawValue, depth: depth) { (reader) throws(JSONError) in
                (count, isLast) = (count + 1, end == nil)
                if try !reader.takeNull() { return try reader.readEditID(depth: depth + 1) }
                if end == nil { end = reader.scanner.at - 4 }
                return nil
            }
            if count == 0 { note("a list of anchors needs an id or null", at: start) }
            if !isLast { note("null can only be the last of several anchors", at: end) }
            return .beside(Edit.Anchors(side: side, ids: first..<ids.count, isList: true, endsOpen: end != nil))
        default:
            guard let id = try reader.readEditID(depth: depth) else { return nil }
            ids.append(id)
            return .beside(Edit.Anchors(side: side, ids: first..<ids.count))
        }
    }

    /// `{"section":id}`, `{"item":id}` or an id.
    private mutating func readParent(depth: Int) throws(JSONError) -> Edit.Parent? {
        let start = reader.scanner.at
        guard reader.scanner.byte(start) == UInt8(ascii: "{") else {
            return try reader.readEditID(depth: depth).map { Edit.Parent(id: $0, subject: nil) }
        }
        var parents: [Edit.Parent] = []
        var count = 0
        try reader.readObject(depth: depth + 1) { (reader, token) throws(JSONError) in
            let name = reader.scanner.string(token).string
            count += 1
            guard name == "section" || name == "item" else {
                return try reader.refuse(
                    "unknown-member", "into has no member \"\(Violations.shown(Array(name.utf8)))\"", depth: depth + 1)
            }
            if let id = try reader.readEditID(depth: depth + 1) {
                parents.append(Edit.Parent(id: id, subject: name == "item" ? .items : .sections))
            }
        }
        if count != 1 { note("into must name one section or one item", at: start) }
        return parents.count == 1 ? parents[0] : nil
    }
}

extension StateParser {
    /// Takes an id on its own; nil, with a violation noted, for anything else.
    fileprivate mutating func readEditID(depth: Int) throws(JSONError) -> EditID? {
        scanner.skipSpace()
        switch scanner.byte(scanner.at) {
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return try readID(depth: depth).map(editID)
        default:
            let advice = scanner.byte(scanner.at) == UInt8(ascii: "{") ? "write the id alone" : nil
            try refuse("wrong-shape", "an id must be a string or an integer", advice: advice, depth: depth)
            return nil
        }
    }

    func editID(_ id: FoundID) -> EditID {
        EditID(
            start: UInt32(truncatingIfNeeded: id.start), count: UInt16(truncatingIfNeeded: id.count),
            hash: id.flags.contains(.escapedID)
                ? store.idHash(at: id.start, id.count) : idHash(scanner.base + id.start, id.count))
    }
}
