/// One place in a document that breaks a rule.
public struct Violation: Sendable, Equatable {
    /// JSON Pointer (RFC 6901) into the document that was read.
    public let pointer: String
    /// A short name for programs, such as `duplicate-id`.
    public let code: String
    /// A readable sentence.
    public let detail: String

    /// A violation at a place.
    public init(pointer: String, code: String, detail: String) {
        self.pointer = pointer
        self.code = code
        self.detail = detail
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
        limits.maxDepth = JSONScanner.mostDepth
        limits.maxEdits = 1 << 24
        return limits
    }()

    /// Bytes in an id's text.
    public static let maxIDBytes = 2_048
    /// Bytes in a document.
    public static let maxBytes = 1 << 30
}
