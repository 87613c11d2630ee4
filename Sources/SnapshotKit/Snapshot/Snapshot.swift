// The list engine; docs/engine.md has its picture. The target imports nothing, not even Foundation. It knows no clock,
// lock, file or reader, so everything here is a function of its arguments, and an app can use it as it is.

/// The state of a list: sections in order, items in order, some of them nested.
///
/// Copying it copies one reference. It is read from JSON in one pass and keeps those bytes; ids, contents and kinds are
/// ranges of them, so they are written exactly as they were read.
///
/// Terms: an *item* is anything in the list; a *row* is a visible item: its section and all its ancestors are expanded.
/// An index path counts rows within a section. Ids are compared by the UTF-8 bytes of their text: `1` and `"1"` are the
/// same id; a composed and a decomposed `é` are two.
public struct Snapshot: Sendable {
    package let columns: Columns

    package init(_ columns: Columns) {
        columns.checkInvariants()
        self.columns = columns
    }

    /// A state without sections.
    public static let empty = Snapshot(Columns(text: TextRope(DocumentText.trailer), nodes: [], sections: []))

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

    /// Reads a state from a JSON document, as `StateDocument.state` does; the parameters are the same.
    public static func reading(
        json: consuming [UInt8], shape: StateShape, limits: StateLimits = StateLimits(), upon known: Snapshot?,
        keepsExpanded: Bool = false, continuing head: ElementHead? = nil
    ) throws(StateError) -> StateReading {
        var document = StateDocument(json)
        return try document.state(shape, limits: limits, upon: known, keepsExpanded: keepsExpanded, continuing: head)
    }

    /// Reads a state from JSON text.
    public init(json: String, shape: StateShape = .native, limits: StateLimits = StateLimits()) throws(StateError) {
        try self.init(json: Array(json.utf8), shape: shape, limits: limits)
    }

    /// Whether both are the same object, and therefore equal; anything known of one holds for the other.
    public func isIdentical(to other: Snapshot) -> Bool { columns === other.columns }

    /// The number of sections.
    public var sectionCount: Int { columns.sections.count }
    /// The number of items, including hidden ones.
    public var itemCount: Int { columns.nodes.count }
    /// The number of visible items.
    public var rowCount: Int { columns.rowCount }
    /// Bytes of text that it refers to, about the size of its document.
    public var textBytes: Int { columns.text.count - columns.text.garbageBytes }
    /// Memory held, in bytes.
    public var footprint: Int { columns.footprint }
    /// The same without the text, which states of one list usually share.
    public var footprintBesidesText: Int { columns.footprint - columns.text.footprint }

    /// The state as a document: sections and items verbatim and nested, every item an object, defaults omitted. O(n).
    public func documentJSON() -> [UInt8] {
        var writer = JSONWriter(capacity: textBytes + itemCount * 8)
        writeDocument(into: &writer)
        return writer.bytes()
    }

    /// Writes what `documentJSON()` returns.
    public func writeDocument(into writer: inout JSONWriter) {
        columns.withView { view in
            writer.append(sectionsOf: view) { section, writer in
                let items = Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
                writer.append(documents: items, of: view)
            }
        }
    }

    /// Hashes the id of every item once, and folds the hashes together: the least that any diff by ids must do for a
    /// list it has not seen before. O(n).
    @_spi(Measuring)
    public func foldedIDHashes() -> UInt64 {
        let hash = KeyedHash.process
        return columns.withView { view in
            view.nodes.reduce(0) { $0 ^ hash.hash(view.text.at($1.idStart), Int($1.idCount)) }
        }
    }

    /// Reads a state as `init(json:)` does, but without the table of ids; returns the number of items. O(n).
    @_spi(Measuring)
    public static func countItems(inJSON json: consuming [UInt8]) throws(StateError) -> Int {
        try StateDocument(json).read(.none) { (parser) throws(JSONError) in try parser.read(.native, depth: 0) }
            .builder.nodes.count
    }
}

extension JSONWriter {
    /// Appends a state with all sections, each with the elements of `items` that `appendItems` writes.
    mutating func append(sectionsOf view: ColumnsView, items appendItems: (Int, inout Self) -> Void) {
        append(byte: UInt8(ascii: "{"))
        if !view.listContent.isEmpty { emit("\"content\":", view.listContent, ",") }
        append("\"sections\":[")
        for section in view.sections.indices {
            separate()
            append(openSection: section, of: view)
            append(",\"items\":[")
            appendItems(section, &self)
            append("]}")
        }
        append("]}")
    }

    /// Appends a section's id, content and expanded, and leaves the brace open.
    ///
    /// - Parameter appendContent: returns whether it wrote the content in its own way.
    @inline(__always)
    mutating func append(
        openSection section: Int, of view: ColumnsView, content appendContent: (inout Self) -> Bool = { _ in false }
    ) {
        let node = view.sections[section]
        emit("{\"id\":", view.id(ofSection: section))
        if node.flags.contains(.hasContent), !appendContent(&self) {
            emit(",\"content\":", view.content(ofSection: section))
        }
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
    }

    /// Appends siblings with their subtrees; `range` covers whole subtrees.
    ///
    /// - Parameter includes: decides which items are written, each with its subtree.
    mutating func append(
        documents range: Range<Int>, of view: ColumnsView, where includes: (Int) -> Bool = { _ in true }
    ) {
        var item = range.lowerBound
        while item < range.upperBound {
            if includes(item) {
                separate()
                append(document: item, of: view, where: includes)
            }
            item = Int(view.nodes[item].end)
        }
    }

    /// Appends one item with its subtree.
    mutating func append(document item: Int, of view: ColumnsView, where includes: (Int) -> Bool = { _ in true }) {
        let node = view.nodes[item]
        emit("{\"id\":", view.id(ofItem: item))
        appendShown(item, of: view)
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
        if Int(node.end) > item + 1 {
            append(",\"items\":[")
            append(documents: item + 1..<Int(node.end), of: view, where: includes)
            append(byte: UInt8(ascii: "]"))
        }
        append(byte: UInt8(ascii: "}"))
    }

    /// Appends an item's content and kind, if any.
    ///
    /// - Parameter appendContent: returns whether it wrote the content in its own way.
    @inline(__always)
    mutating func appendShown(
        _ item: Int, of view: ColumnsView, content appendContent: (inout Self) -> Bool = { _ in false }
    ) {
        let flags = view.nodes[item].flags
        if flags.contains(.hasContent), !appendContent(&self) { emit(",\"content\":", view.content(ofItem: item)) }
        if flags.contains(.hasKind) { emit(",\"kind\":", view.kind(ofItem: item)) }
    }
}
