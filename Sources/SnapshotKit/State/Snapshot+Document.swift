// States as documents: sections and items verbatim and nested, every item an object, defaults omitted.

extension Snapshot {
    /// The state as a document. O(n).
    public func documentJSON() -> [UInt8] {
        var writer = JSONWriter(capacity: textBytes + itemCount * 8)
        writeDocument(into: &writer)
        return writer.bytes()
    }

    /// Writes what `documentJSON()` returns.
    public func writeDocument(into writer: inout JSONWriter) { columns.withView { writer.append(documentOf: $0) } }
}

extension JSONWriter {
    /// Appends a whole state.
    mutating func append(documentOf view: ColumnsView) {
        append(sectionsOf: view) { section, writer in
            let items = Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem)
            writer.append(documents: items, of: view)
        }
    }

    /// Appends all sections, each with the elements of `items` that `appendItems` writes.
    mutating func append(
        sectionsOf view: ColumnsView, items appendItems: (Int, inout Self) -> Void
    ) {
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
        emit("{\"id\":", view.id(ofSection: section).token)
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
    mutating func append(
        document item: Int, of view: ColumnsView,
        where includes: (Int) -> Bool = { _ in true }
    ) {
        let node = view.nodes[item]
        emit("{\"id\":", view.id(ofItem: item).token)
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
        if flags.contains(.hasContent), !appendContent(&self) {
            emit(",\"content\":", view.content(ofItem: item))
        }
        if flags.contains(.hasKind) {
            emit(",\"kind\":", view.kind(ofItem: item))
        }
    }
}
