/// The state of a list: sections in order, items in order, some of them nested.
///
/// A value: copying it is one reference. It is read from JSON in one pass and keeps those bytes; ids, contents and
/// kinds are ranges of them, so that they are written exactly as they were read.
///
/// Terms: an *item* is anything in the list; a *row* is a visible item: its section and all its ancestors are expanded.
/// An index path counts rows within a section. Ids are compared by the UTF-8 bytes of their text: `1` and `"1"` are the
/// same id; a composed and a decomposed `é` are two.
public struct Snapshot: Sendable {
    let columns: Columns

    init(_ columns: Columns) {
        columns.checkInvariants()
        self.columns = columns
    }

    /// A state without sections.
    public static let empty = Snapshot(Columns(text: StateText(DocumentText.trailer), nodes: [], sections: []))

    /// Reads a state from a JSON document. O(n); about 1.5 GB per second and core.
    ///
    /// - Parameters:
    ///   - json: UTF-8. An array with `DocumentText.trailer.count` (22) bytes of spare capacity is not copied.
    ///   - shape: where the list is in the document.
    ///   - limits: bounds on what is accepted.
    /// - Throws: `StateError`; `.json` takes precedence.
    public init(
        json: consuming [UInt8], shape: StateShape = .native, limits: StateLimits = StateLimits()
    ) throws(StateError) {
        var document = StateDocument(json)
        self = try document.state(shape, limits: limits).snapshot
    }

    /// Reads a state from a JSON document.
    ///
    /// - Parameter known: a state that it probably resembles, such as the previous one. Items with the same text are
    ///   not read again; it affects only speed.
    /// - Parameter keepsExpanded: whether sections and items without `expanded` are as in the known state.
    /// - Returns: the state, and what is known to be the same in both.
    public static func reading(
        json: consuming [UInt8], shape: StateShape, limits: StateLimits = StateLimits(), upon known: Snapshot?,
        keepsExpanded: Bool = false
    ) throws(StateError) -> StateReading {
        var document = StateDocument(json)
        return try document.state(shape, limits: limits, upon: known, keepsExpanded: keepsExpanded)
    }

    /// Reads a state from JSON text.
    public init(
        json: String, shape: StateShape = .native, limits: StateLimits = StateLimits()
    ) throws(StateError) {
        try self.init(json: Array(json.utf8), shape: shape, limits: limits)
    }

    /// Whether both are the same object: then they are equal, and what is known of one holds for the other.
    public func isIdentical(to other: Snapshot) -> Bool { columns === other.columns }

    /// The number of sections.
    public var sectionCount: Int { columns.sections.count }
    /// The number of items, including hidden ones.
    public var itemCount: Int { columns.nodes.count }
    /// The number of visible items.
    public var rowCount: Int { columns.rowCount }
    /// Bytes of text that it refers to, about the size of its document.
    public var textBytes: Int { columns.text.count - columns.text.dead }
    /// Memory held, in bytes.
    public var footprint: Int { columns.footprint }
    /// The same without the text, which states of one list usually share.
    public var footprintBesidesText: Int { columns.footprint - columns.text.footprint }
}
