import HTTPCore
import SnapshotKit

/// A server's work for a request, from the bytes of its body to those of its answer. Earlier state is made beforehand
/// and costs nothing here.
struct Request {
    /// What is asked for.
    enum Kind: String, CaseIterable {
        /// Two states in one body.
        case diff
        /// A new state, after an earlier one.
        case state
        /// A past state remembered as a delta, and the current one.
        case recall
        /// Edits of a state.
        case edits
        /// A document of another shape, and the violations in it.
        case document
        /// A head with a list.
        case head
    }

    /// Bytes of the request; those of the session are not counted.
    let count: Int
    /// Items of the session, if a short request looks at all of it.
    let items: Int
    /// Bytes of two states of the session, if a short request compares them.
    let texts: Int
    /// Does all of it, and returns the length of the answer.
    let run: () -> Int

    init(_ recipe: Recipe) {
        let documents = Documents(recipe)
        let hash = KeyedHash(seed: 1, 2)
        let ignored = (0..<recipe[.ignored]).compactMap { Self.ignored($0, recipe) }
        let dialect = Dialect.allCases[recipe[.dialect]]
        let (style, staging) = (ContentStyle.allCases[recipe[.style]], Staging.allCases[recipe[.staging]])
        let kind = Kind.allCases[recipe[.kind]]
        items = kind == .edits || kind == .recall ? documents.count : 0
        texts = kind == .recall ? documents.old.utf8.count + documents.new.utf8.count : 0
        let write = { (change: Changeset) in change.json(dialect, staging: staging, content: style).count }
        switch kind {
        case .diff:
            let body = Array(#"{"old":\#(documents.old),"new":\#(documents.new)}"#.utf8)
            count = body.count
            run = {
                let members = Envelope.Members(states: ["old", "new"], required: ["old", "new"])
                guard let states = try? Envelope(json: body, members: members).states else { return 0 }
                return write(Changeset(from: states["old"]!, to: states["new"]!))
            }
        case .state:
            let known = Self.snapshot(documents.old)
            let prints = Fingerprints(of: known, by: hash, ignoring: ignored)
            let body = Array(documents.new.utf8)
            count = body.count
            run = {
                let members = Envelope.Members(states: ["state"], allowsBareState: true)
                guard let envelope = try? Envelope(json: body, members: members, known: known),
                    let state = envelope.states["state"]
                else { return 0 }
                let change = Changeset(from: known, to: state, ignoring: ignored, shared: envelope.shared)
                let digest = Fingerprints(of: state, ignoring: ignored, from: prints, reusing: change.shared).digest(
                    salt: "")
                return write(change) + SnapshotDelta(backOver: change).bytes.count + Int(digest & 1)
            }
        case .recall:
            let (past, state) = (Self.snapshot(documents.old), Self.snapshot(documents.new))
            let back = SnapshotDelta(backOver: Changeset(from: past, to: state))
            count = 200
            run = {
                guard let (past, shared) = state.applying([back]) else { return 0 }
                return write(Changeset(from: past, to: state, shared: shared.reversed))
            }
        case .edits:
            let known = Self.snapshot(documents.old)
            let prints = Fingerprints(of: known, by: hash)
            let body = Array(documents.edits.utf8)
            count = body.count
            run = {
                do {
                    let (state, marks, shared) = try known.applying(EditBatch(json: body))
                    let change = Changeset(from: known, to: state, marks: marks, shared: shared)
                    let digest = Fingerprints(of: state, from: prints, reusing: change.shared).digest(salt: "")
                    return write(change) + SnapshotDelta(backOver: change).bytes.count + Int(digest & 1)
                } catch { return Self.length(of: (error as? EditError)?.told ?? []) }
            }
        case .document:
            let body = Array(documents.document.utf8)
            let mapping = Self.mapping(documents.pointer, recipe)
            count = body.count + documents.pointer.utf8.count
            run = {
                do {
                    return try Snapshot(json: body, shape: StateShape(mapping)).rowsJSON().count
                } catch { return Self.length(of: (error as? StateError)?.told ?? []) }
            }
        case .head:
            let text = documents.head
            count = text.utf8.count
            run = {
                guard let head = try? RequestHead(parsing: text), head.overlongList == nil else { return 200 }
                let names = ["accept", "prefer", "if-match", "if-none-match"]
                return names.reduce(200) { $0 + head.list($1).count } + (head.acceptsGzip ? 1 : 0)
            }
        }
    }

    /// A shape whose pointers lead to the same place, or near it.
    private static func mapping(_ pointer: String, _ recipe: Recipe) -> StateShape.FieldMapping {
        let there = JSONPointer(pointer)!
        let roles = recipe[.roles]
        var mapping = StateShape.FieldMapping()
        mapping.element.idAt = Array(repeating: there, count: 1 + recipe[.parts])
        if roles & 1 != 0 { mapping.element.kindAt = there }
        if roles & 2 != 0 { mapping.element.expandedAt = there }
        if roles & 4 != 0 { mapping.element.childrenAt = JSONPointer(pointer + "/items") }
        mapping.keepsFirst = roles & 8 != 0
        return mapping
    }

    private static func snapshot(_ json: String) -> Snapshot {
        guard let snapshot = try? Snapshot(json: Array(json.utf8)) else {
            fatalError("a state that was made does not read: \(json.prefix(1_000))")
        }
        return snapshot
    }

    /// A place that a content has, or nearly has.
    private static func ignored(_ number: Int, _ recipe: Recipe) -> JSONPointer? {
        let way = String(repeating: "/x", count: min(recipe[.segments], recipe[.depth]))
        return JSONPointer("\(way)/\(number % 2 == 0 ? "m" : "x")\(number)")
    }

    private static func length(of violations: [Violation]) -> Int {
        violations.reduce(0) { $0 + $1.pointer.utf8.count + $1.detail.utf8.count + 40 }
    }
}

extension StateError {
    /// What a client is told.
    fileprivate var told: [Violation] {
        switch self {
        case .invalid(let violations), .wrongShape(let violations): violations
        default: []
        }
    }
}

extension EditError {
    /// What a client is told.
    fileprivate var told: [Violation] {
        switch self {
        case .refused(let violations), .wrongShape(let violations): violations
        default: []
        }
    }
}
