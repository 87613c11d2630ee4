/// What is not known of a state any more, since edits were refused.
///
/// A refused edit leaves its elements where they should not be, or away. Whatever a later edit gets wrong about these,
/// or about what is below them, may be right once the first one is mended, and is not told.
struct EditDoubts {
    /// Hashes of the ids of elements that may be elsewhere, away, or there after all.
    private var ids: Set<UInt32> = []
    /// Whether any element may be.
    var isOfAll = false
    /// Whether any element that there is may be away: what has an id that none has is in no doubt by this.
    var isOfAllThere = false

    /// More ids than this are all: a refused edit may hold millions.
    private static let most = 10_000

    var isNone: Bool { ids.isEmpty && !isOfAll && !isOfAllThere }

    func contains(_ hash: UInt32) -> Bool { isOfAll || ids.contains(hash) }

    mutating func note(_ ids: some Sequence<EditID>) { for id in ids { note(id.hash) } }

    fileprivate mutating func note(_ hash: UInt32) {
        if ids.count < Self.most { ids.insert(hash) } else { isOfAll = true }
    }

    /// Notes the strings and numbers of the next value, except names. O(bytes).
    fileprivate mutating func note(mentionedIn cursor: inout JSONCursor) {
        switch cursor.byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let isObject = cursor.byte == UInt8(ascii: "{")
            guard cursor.enter() else { return }
            repeat {
                if isObject { _ = cursor.takeName() }
                note(mentionedIn: &cursor)
            } while cursor.takesComma()
        case UInt8(ascii: "\""): note(text: Array(cursor.takeString().text))
        default: note(text: Array(cursor.takeToken()))
        }
    }

    private mutating func note(text: [UInt8]) {
        if text.count > StateLimits.maxIDBytes { return }
        text.withUnsafeBytes { bytes in if let base = bytes.baseAddress { note(idHash(base, bytes.count)) } }
    }
}

extension EditedState {
    /// Whether it is in doubt where a vertex is, or one that it is below.
    func isDoubtful(_ vertex: Int) -> Bool {
        if doubts.isNone { return false }
        if doubts.isOfAllThere, vertex > 0 { return true }
        var ancestor = vertex
        while ancestor > 0 {
            if doubts.contains(record(of: ancestor).node.hash) { return true }
            ancestor = tree.parent(of: ancestor)
        }
        return false
    }

    /// Whether it is in doubt what has an id.
    func isDoubtful(_ id: EditID, _ subject: Edit.Subject) -> Bool {
        if doubts.isNone { return false }
        let (new, old) = vertices(subject, text(id), id.hash)
        return doubts.contains(id.hash) || isDoubtful(new) || isDoubtful(old)
    }

    /// Doubts what the edit, an insertion, inserts.
    mutating func doubtInserted() {
        if edit.isOfElements, elementReader.map({ $0.scopesIDs || $0.matchesElements }) ?? batch.shapes.areOfSections {
            doubts.isOfAll = true
        } else if edit.subject == .sections {
            doubts.note(batch.sections[edit.operands].lazy.map { EditID($0) })
        } else {
            doubts.note(batch.nodes[edit.operands].lazy.map { EditID($0) })
        }
    }

    /// Doubts whatever the edit mentions: any string or number in it may be an id.
    mutating func doubtAll() {
        if edit.operation == .clear { doubts.isOfAllThere = true }
        var cursor = JSONCursor(bytes + edit.offset)
        doubts.note(mentionedIn: &cursor)
    }
}
