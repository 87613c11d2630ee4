/// One place in a document that breaks a rule.
public struct Violation: Equatable, Sendable {
    /// JSON Pointer (RFC 6901) into the document that was read.
    public let pointer: String
    /// A short name for programs, such as `duplicate-id`.
    public let code: String
    /// A readable sentence.
    public let detail: String
    /// The byte of the document where the place is, if it is in one that was read.
    package var offset: Int?
    /// The id of the element around the place, if this is the first violation of a state.
    package var elementID: String?

    /// A violation at a place.
    public init(pointer: String, code: String, detail: String) {
        (self.pointer, self.code, self.detail) = (pointer, code, detail)
    }

    /// Whether both say the same; the offset follows from the pointer.
    public static func == (one: Violation, other: Violation) -> Bool {
        (one.pointer, one.code, one.detail) == (other.pointer, other.code, other.detail)
    }
}

/// Why a document is not a state.
public enum StateError: Error, Equatable, Sendable {
    /// A state where none is accepted; nothing after its first byte was read.
    case unwanted
    /// The text is not JSON.
    case json(JSONError)
    /// The document is JSON, but not of a shape that could hold a state.
    case wrongShape([Violation])
    /// A state that breaks a rule: every violation found, at most `StateLimits.maxViolations`.
    case invalid([Violation])
    /// A state larger than the limit. `what` is a phrase such as "items".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)

    /// Follows the advice to name a shape, and gives way to a guess.
    package static let exampleOfShape = ", such as ?idAt=/id"
}

/// How large a state may be.
public struct StateLimits: Sendable, Equatable {
    /// Sections in a state.
    public var maxSections = 10_000
    /// Items in a state, including children.
    public var maxItems = 100_000
    /// Levels of items: 1 is a flat list. At most 64.
    public var maxNesting = 8
    /// Depth of arrays and objects around a value, including those of the state. At most 512.
    public var maxDepth = 64
    /// Bytes of a content that edits patch, add to or append to.
    public var maxContentBytes = 16 << 20
    /// Bytes of a text, in UTF-8, that edits append to.
    public var maxTextBytes = 1 << 20
    /// Bytes that are made of others, since a few can ask for many: contents that a batch changes by intents; and what
    /// a reading stores beside the document, such as ids of several parts or with escapes, and contents without the
    /// children in them, which may also not be longer than three times the document and 1 MiB.
    public var maxMadeBytes = 16 << 20
    /// Edits in a batch.
    public var maxEdits = 1_000
    /// Violations reported at once.
    public var maxViolations = 1_000

    /// The defaults.
    public init() {}

    /// No limits but the library's own: for your own lists.
    public static let none: StateLimits = {
        var limits = StateLimits()
        limits.maxSections = 1 << 24
        limits.maxItems = 1 << 30
        limits.maxNesting = 64
        limits.maxDepth = JSONScanner.depthLimit
        (limits.maxContentBytes, limits.maxMadeBytes, limits.maxTextBytes) = (maxBytes, maxBytes, maxBytes)
        limits.maxEdits = 1 << 24
        return limits
    }()

    /// Bytes in an id's text.
    public static let maxIDBytes = 2_048
    /// Bytes in a document.
    public static let maxBytes = 1 << 30
}

// MARK: - Collecting violations

/// The violations of a document that are reported. No text is made for others: there may be one every two bytes.
package struct Violations {
    private(set) var list: [(code: String, detail: String, place: DocumentPlace)] = []
    private var count = 0
    private let limit: Int
    /// Bytes of details so far, including violations forgotten again.
    private var text = 0
    /// Codes already reported with advice.
    private var advised: Set<String> = []

    /// Bytes of details, and of pointers, after which nothing more is reported.
    static let maxText = 256 * 1024

    init(limit: Int) { self.limit = limit }

    var isFull: Bool { list.count >= limit || text >= Self.maxText }

    var isEmpty: Bool { count == 0 }

    /// The violations to report: if forgotten ones have used up the room, only that there are some.
    func reported(in text: UnsafeRawPointer, from start: Int = 0, root: String = "") -> [Violation] {
        guard !list.isEmpty || count == 0 else {
            return [Violation(pointer: "", code: "invalid-state", detail: "\(count) violations, too many to list")]
        }
        let pointers = DocumentPointers.pointers(to: list.map { $0.place }, in: text, from: start, root: root)
        return zip(list, pointers).compactMap { noted, pointer in
            pointer.map {
                var violation = Violation(pointer: $0, code: noted.code, detail: noted.detail)
                violation.offset = noted.place.offset
                return violation
            }
        }
    }

    /// Notes a violation, unless the report is full. `advice`, how to mend it, is told with the first one of a code.
    mutating func note(
        _ code: String, _ detail: @autoclosure () -> String, advice: @autoclosure () -> String? = nil,
        at place: DocumentPlace
    ) {
        count += 1
        guard !isFull else { return }
        var words = detail()
        if !advised.contains(code), let advice = advice() {
            advised.insert(code)
            words += ": \(advice)"
        }
        list.append((code, words, place))
        text += words.utf8.count
    }

    /// Has what was noted first say how to mend it, unless something says so already. O(1).
    mutating func adviseFirst(_ advice: String) {
        if advised.isEmpty, !list.isEmpty { list[0].detail += ": \(advice)" }
    }

    /// Puts other words into what was noted. O(noted).
    mutating func replace(_ words: String, with others: String) {
        for index in list.indices { list[index].detail = list[index].detail.replacing(words, with: others) }
    }

    /// How much has been noted.
    typealias Mark = (listed: Int, count: Int)

    var mark: Mark { (list.count, count) }

    /// Forgets what was noted since. Its text counts all the same, since it has been made.
    mutating func reset(to mark: Mark) {
        forget(from: mark, to: self.mark)
        advised = []
    }

    /// Forgets what was noted in between.
    mutating func forget(from start: Mark, to end: Mark) {
        list.removeSubrange(start.listed..<end.listed)
        count -= end.count - start.count
    }

    /// Text of a document as shown in details: at most 256 bytes, then an ellipsis.
    package static func shown(_ text: some Collection<UInt8>) -> String {
        let start = text.prefix(256)
        return String(decoding: start, as: UTF8.self) + (start.count < text.count ? "…" : "")
    }
}
