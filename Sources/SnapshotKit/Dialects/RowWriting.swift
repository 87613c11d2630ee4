// Rows and sections as every answer writes them: what was given, verbatim, and where a row stands in the outline.

extension JSONWriter {
    /// An item as a row: without its children, but with their number.
    ///
    /// - Parameters:
    ///   - returnsToRoot: an update that has to say that there is no parent any more.
    ///   - changeset: where content may be written as a patch.
    @inline(__always)
    mutating func append(
        item: Int, of view: ColumnsView, returnsToRoot: Bool = false, contentOf changeset: ChangesetView? = nil
    ) {
        let node = view.nodes[item]
        append(openItem: item, of: view, contentOf: changeset)
        if node.parent >= 0 {
            emit(",\"level\":", Int(node.level))
            emit(",\"parent\":", view.id(ofItem: Int(node.parent)).token)
        } else if returnsToRoot {
            append(",\"level\":0,\"parent\":null")
        }
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
        if Int(node.end) > item + 1 {
            emit(",\"children\":", view.childCount(ofItem: item))
        }
        append(byte: UInt8(ascii: "}"))
    }

    /// An item's id, content and kind; the brace stays open.
    @inline(__always)
    private mutating func append(openItem item: Int, of view: ColumnsView, contentOf changeset: ChangesetView? = nil) {
        let flags = view.nodes[item].flags
        emit("{\"id\":", view.id(ofItem: item).token)
        if flags.contains(.hasContent), changeset?.appendPatch(ofItem: item, to: &self) != true {
            emit(",\"content\":", view.content(ofItem: item))
        }
        if flags.contains(.hasKind) {
            emit(",\"kind\":", view.kind(ofItem: item))
        }
    }

    /// A section's id, content and expanded; the brace stays open.
    ///
    /// - Parameter changeset: where content may be written as a patch.
    mutating func append(openSection section: Int, of view: ColumnsView, contentOf changeset: ChangesetView? = nil) {
        let node = view.sections[section]
        emit("{\"id\":", view.id(ofSection: section).token)
        if node.flags.contains(.hasContent), changeset?.appendPatch(ofSection: section, to: &self) != true {
            emit(",\"content\":", view.content(ofSection: section))
        }
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
    }
}

extension Snapshot {
    /// The state in rows, as a reset carries it: visible items only, depth first, never nested. O(n).
    public func rowsJSON() -> [UInt8] {
        var writer = JSONWriter(capacity: columns.bytes.count + rowCount * 32)
        writeRows(into: &writer)
        return writer.bytes()
    }

    /// Writes what `rowsJSON()` returns.
    public func writeRows(into writer: inout JSONWriter) {
        write(into: &writer) { view, section, writer in
            var list = JSONList()
            for row in view.rows(ofSection: section) {
                list.separate(&writer)
                writer.append(item: view.item(ofRow: row), of: view)
            }
        }
    }

    /// The state as a document: nested, every item an object, defaults left out. O(n).
    public func documentJSON() -> [UInt8] {
        var writer = JSONWriter(capacity: columns.bytes.count + itemCount * 8)
        writeDocument(into: &writer)
        return writer.bytes()
    }

    /// Writes what `documentJSON()` returns.
    public func writeDocument(into writer: inout JSONWriter) {
        write(into: &writer) { view, section, writer in
            writer.append(
                documents: Int(view.sections[section].firstItem)..<Int(view.sections[section].endItem), of: view)
        }
    }

    private func write(into writer: inout JSONWriter, items: (ColumnsView, Int, inout JSONWriter) -> Void) {
        columns.withView { view in
            writer.append("{\"sections\":[")
            var list = JSONList()
            for section in view.sections.indices {
                list.separate(&writer)
                writer.append(openSection: section, of: view)
                writer.append(",\"items\":[")
                items(view, section, &writer)
                writer.append("]}")
            }
            writer.append("]}")
        }
    }
}

extension JSONWriter {
    /// Siblings with all that is below them, as a document writes them; `range` covers whole subtrees.
    mutating func append(
        documents range: Range<Int>, of view: ColumnsView, where includes: (Int) -> Bool = { _ in true }
    ) {
        var list = JSONList()
        var item = range.lowerBound
        while item < range.upperBound {
            if includes(item) {
                list.separate(&self)
                append(document: item, of: view, where: includes)
            }
            item = Int(view.nodes[item].end)
        }
    }

    /// One item with all that is below it.
    mutating func append(document item: Int, of view: ColumnsView, where includes: (Int) -> Bool = { _ in true }) {
        let node = view.nodes[item]
        append(openItem: item, of: view)
        if node.flags.contains(.isCollapsed) { append(",\"expanded\":false") }
        if Int(node.end) > item + 1 {
            append(",\"items\":[")
            append(documents: item + 1..<Int(node.end), of: view, where: includes)
            append(byte: UInt8(ascii: "]"))
        }
        append(byte: UInt8(ascii: "}"))
    }
}
