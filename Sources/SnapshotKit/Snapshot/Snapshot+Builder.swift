// States from Swift values are written as JSON and read like any document, so the same code holds both to the same
// rules. Contents are checked before they are written, so none can reach beyond its member.

extension Snapshot {
    /// Builds a state from Swift values.
    ///
    ///     var builder = Snapshot.Builder()
    ///     try builder.section("inbox", content: JSONText(#"{"title":"Inbox"}"#)) {
    ///         $0.item(17, content: try JSONText(#"{"subject":"Hello"}"#), kind: "mail")
    ///         $0.item("drafts", isExpanded: false) { $0.item("draft-1") }
    ///     }
    ///     let snapshot = try builder.build()
    public struct Builder: Sendable {
        private var draft = Items()

        /// A builder of a state without sections.
        public init() { draft.writer.append("{\"sections\":[") }

        /// Appends a section without items.
        public mutating func section(_ id: ElementID, content: JSONText? = nil, isExpanded: Bool = true) {
            section(id, content: content, isExpanded: isExpanded) { _ in }
        }

        /// Appends a section with the items that `items` appends.
        public mutating func section(
            _ id: ElementID, content: JSONText? = nil, isExpanded: Bool = true, items: (inout Items) throws -> Void
        ) rethrows {
            // A section is written like an item, with its items as the children.
            try draft.item(id, content: content, isExpanded: isExpanded, children: items)
        }

        /// Appends a section with an item for each value. O(values).
        ///
        /// - Parameters:
        ///   - id: a value's id.
        ///   - kind: a value's cell type.
        ///   - write: writes a value's content as one JSON value; if it writes nothing, the item has no content.
        public mutating func section<Value>(
            _ id: ElementID, content: JSONText? = nil, isExpanded: Bool = true, items values: some Sequence<Value>,
            id itemID: (Value) -> ElementID, kind: (Value) -> String? = { _ in nil },
            writing write: (Value, inout JSONWriter) -> Void
        ) {
            section(id, content: content, isExpanded: isExpanded) { items in
                for value in values { items.item(itemID(value), kind: kind(value), writing: { write(value, &$0) }) }
            }
        }

        /// The state. O(n).
        ///
        /// - Throws: `StateError.invalid` with every duplicate id, every unacceptable id and every content that is not
        ///   JSON, each by its place in the state's document; `.limitExceeded`.
        public consuming func build(limits: StateLimits = .none) throws(StateError) -> Snapshot {
            draft.writer.append("]}")
            let (json, failure) = (draft.writer.bytes(), draft.failure)
            guard let failure else { return try Snapshot(json: json, limits: limits) }
            let pointer = (json + JSONScanner.zeros).withUnsafeBytes {
                DocumentPointers.pointer(to: DocumentPlace(failure.offset), in: $0.baseAddress!)
            }
            throw .invalid([Violation(pointer: pointer, code: "invalid-content", detail: failure.error.description)])
        }

        /// Items, or the children of one, while they are appended.
        public struct Items: Sendable {
            fileprivate var writer = JSONWriter()
            /// The first content that is not JSON: where null stands for it, and what is wrong.
            fileprivate var failure: (offset: Int, error: JSONError)?

            fileprivate init() {}

            /// Appends a list that `body` fills. An error leaves it open, but then nothing is built.
            fileprivate mutating func list(_ body: (inout Items) throws -> Void) rethrows {
                writer.append(",\"items\":[")
                try body(&self)
                writer.append(byte: UInt8(ascii: "]"))
            }

            /// Appends an item without children.
            public mutating func item(
                _ id: ElementID, content: JSONText? = nil, kind: String? = nil, isExpanded: Bool = true
            ) { append(id, kind) { $0.writer.append(content: content, isExpanded: isExpanded) } }

            /// Appends an item with the children that `children` appends.
            public mutating func item(
                _ id: ElementID, content: JSONText? = nil, kind: String? = nil, isExpanded: Bool = true,
                children: (inout Items) throws -> Void
            ) rethrows {
                try append(id, kind) { items in
                    items.writer.append(content: content, isExpanded: isExpanded)
                    try items.list(children)
                }
            }

            /// Appends an item whose content `write` writes.
            fileprivate mutating func item(_ id: ElementID, kind: String?, writing write: (inout JSONWriter) -> Void) {
                append(id, kind) { items in
                    var content = JSONWriter()
                    write(&content)
                    guard content.count > 0 else { return }
                    do throws(JSONError) {
                        items.writer.append(content: try JSONText(content.bytes()), isExpanded: true)
                    } catch {
                        items.writer.append(",\"content\":null")
                        if items.failure == nil { items.failure = (items.writer.count - 1, error) }
                    }
                }
            }

            /// Appends an item; `rest` appends the members after the kind.
            private mutating func append(
                _ id: ElementID, _ kind: String?, rest: (inout Items) throws -> Void
            ) rethrows {
                writer.separate()
                writer.append("{\"id\":")
                writer.append(id: id)
                if let kind {
                    writer.append(",\"kind\":")
                    writer.append(string: kind)
                }
                try rest(&self)
                writer.append(byte: UInt8(ascii: "}"))
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func append(content: JSONText?, isExpanded: Bool) {
        if let content {
            append(",\"content\":")
            content.withBytes { append($0) }
        }
        if !isExpanded { append(",\"expanded\":false") }
    }
}
