// States from Swift values. They are written as JSON and read like any document, so the same code holds a built state
// to the rules of a received one. Contents are checked before they are written, so none can reach beyond its place.

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
        private var count = 0

        /// A builder of a state without sections.
        public init() { draft.writer.append("{\"sections\":[") }

        /// Appends a section without items.
        public mutating func section(_ id: ElementID, content: JSONText? = nil, isExpanded: Bool = true) {
            section(id, content: content, isExpanded: isExpanded) { _ in }
        }

        /// Appends a section with the items that `items` appends.
        public mutating func section(
            _ id: ElementID, content: JSONText? = nil, isExpanded: Bool = true,
            items: (inout Items) throws -> Void
        ) rethrows {
            draft.writer.separate()
            draft.writer.append("{\"id\":")
            draft.writer.append(id: id)
            draft.writer.append(content: content, isExpanded: isExpanded)
            try draft.list(at: "/sections/\(count)/items", items)
            draft.writer.append(byte: UInt8(ascii: "}"))
            count += 1
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
            if let failure = draft.failure { throw failure }
            draft.writer.append("]}")
            return try Snapshot(json: draft.writer.bytes(), limits: limits)
        }
    }
}

extension Snapshot.Builder {
    /// Items, or the children of one, while they are appended.
    public struct Items: Sendable {
        fileprivate var writer = JSONWriter()
        fileprivate var failure: StateError?
        // Of the open list; those around it are on the stack.
        private var pointer = ""
        private var count = 0

        fileprivate init() {}

        /// Writes a list that `body` fills. An error leaves the list open, but then nothing is built.
        fileprivate mutating func list(at pointer: String, _ body: (inout Items) throws -> Void) rethrows {
            let outer = (self.pointer, count)
            (self.pointer, count) = (pointer, 0)
            writer.append(",\"items\":[")
            try body(&self)
            writer.append(byte: UInt8(ascii: "]"))
            (self.pointer, count) = outer
        }

        /// Appends an item without children.
        public mutating func item(
            _ id: ElementID, content: JSONText? = nil, kind: String? = nil, isExpanded: Bool = true
        ) {
            append(id, kind) { $0.writer.append(content: content, isExpanded: isExpanded) }
        }

        /// Appends an item with the children that `children` appends.
        public mutating func item(
            _ id: ElementID, content: JSONText? = nil, kind: String? = nil, isExpanded: Bool = true,
            children: (inout Items) throws -> Void
        ) rethrows {
            try append(id, kind) { items in
                items.writer.append(content: content, isExpanded: isExpanded)
                try items.list(at: "\(items.pointer)/\(items.count)/items", children)
            }
        }

        /// Appends an item whose content `write` writes.
        fileprivate mutating func item(_ id: ElementID, kind: String?, writing write: (inout JSONWriter) -> Void) {
            append(id, kind) { items in
                var content = JSONWriter()
                write(&content)
                if content.count > 0 { items.append(content.bytes()) }
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
            count += 1
        }

        private mutating func append(_ content: [UInt8]) {
            do throws(JSONError) {
                let text = try JSONText(content)
                writer.append(content: text, isExpanded: true)
            } catch {
                let violation = Violation(
                    pointer: "\(pointer)/\(count)/content", code: "invalid-content", detail: error.description)
                if failure == nil { failure = .invalid([violation]) }
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
