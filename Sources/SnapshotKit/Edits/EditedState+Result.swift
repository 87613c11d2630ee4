// The state that comes out, put together in one walk over the tree: only what is still referenced is copied, token by
// token.

/// Copies a tree into columns.
struct EditedStateWriter {
    private let state: EditedState
    private let limits: StateLimits
    private var builder = ColumnsBuilder()
    private var buffer: TokenBuffer
    /// Builder's index of the item that is open at each level.
    private var open: [Int] = []

    init(_ state: EditedState, limits: StateLimits) {
        (self.state, self.limits) = (state, limits)
        builder.expect(items: state.itemCount)
        buffer = TokenBuffer(capacity: state.old.columns.bytes.count)
    }

    /// The finished state. O(n).
    mutating func write() throws(EditError) -> Snapshot {
        var section = state.tree.first(in: LinkedTree.root)
        while section >= 0 {
            builder.beginSection()
            write(section: section)
            try writeItems(of: section)
            builder.endSection()
            section = state.tree.next(after: section)
        }
        // Offsets are 32 bits wide; none of the columns that were cut off above gets out.
        guard buffer.count < Int(UInt32.max) - JSONScanner.zeros.count else {
            throw .limitExceeded(
                what: "bytes", limit: Int(UInt32.max), actual: buffer.count, pointer: state.batch.pointer)
        }
        let (columns, duplicates) = exchange(&builder, with: ColumnsBuilder()).finish(bytes: buffer.padded())
        precondition(duplicates.isEmpty, "edits keep ids unique")
        return Snapshot(columns)
    }

    /// Writes all items below a section, depth first.
    private mutating func writeItems(of section: Int) throws(EditError) {
        var vertex = state.tree.first(in: section)
        while vertex >= 0 {
            let level = open.count
            if level >= min(limits.maxNesting, StateLimits.none.maxNesting) {
                throw .limitExceeded(
                    what: "levels of items", limit: limits.maxNesting, actual: level + 1,
                    pointer: state.batch.pointer(toEdit: state.placingEdit(of: vertex)))
            }
            let item = builder.beginItem(parent: open.last ?? -1, level: level)
            write(item, from: vertex)
            let child = state.tree.first(in: vertex)
            if child >= 0 {
                open.append(item)
                vertex = child
                continue
            }
            builder.endItem(item)
            vertex = nextAfterSubtree(vertex)
        }
    }

    /// The vertex behind a subtree that is written; closes the items that end here.
    private mutating func nextAfterSubtree(_ vertex: Int) -> Int {
        var last = vertex
        while true {
            let next = state.tree.next(after: last)
            guard next < 0, let ended = open.popLast() else { return next }
            builder.endItem(ended)
            last = state.tree.parent(of: last)
        }
    }

    // MARK: One section, one item

    private mutating func write(section vertex: Int) {
        let override = state.override(of: vertex)
        let (record, base) = section(vertex)
        let id = IDText(start: base + Int(record.idStart), count: Int(record.idCount), flags: record.flags)
        let section = builder.openSection
        builder.setID(
            ofSection: section, start: buffer.append(id), count: id.count, flags: id.flags.intersection(.writtenID))
        if let content = override?.content.map(value(inBatch:)) {
            builder.setContent(ofSection: section, start: buffer.append(value: content), count: content.count)
        } else if record.flags.contains(.hasContent) {
            let content = UnsafeRawBufferPointer(
                start: base + Int(record.contentStart), count: Int(record.contentCount))
            builder.setContent(ofSection: section, start: buffer.append(value: content), count: content.count)
        }
        if override?.isCollapsed ?? record.flags.contains(.isCollapsed) { builder.collapse(section: section) }
    }

    @inline(__always)
    private mutating func write(_ item: Int, from vertex: Int) {
        let override = state.override(of: vertex)
        let (node, payload, base) = source(vertex)
        let id = IDText(start: base + Int(node.idStart), count: Int(node.idCount), flags: node.flags)
        let written = id.flags.intersection(.writtenID)
        var inside: Int?
        if let content = override?.content.map(value(inBatch:)) {
            builder.setContent(ofItem: item, start: buffer.append(value: content), count: content.count)
        } else if node.flags.contains(.hasContent) {
            let content = UnsafeRawBufferPointer(
                start: base + Int(payload.contentStart), count: Int(payload.contentCount))
            let start = buffer.append(value: content)
            builder.setContent(ofItem: item, start: start, count: content.count)
            // Where a pointer led to the id, it stands inside its item's content already.
            let offset = Int(node.idStart) - Int(payload.contentStart)
            if !written.contains(.escapedID), offset >= 0, offset < content.count { inside = start + offset }
        }
        builder.setID(
            ofItem: item, start: inside ?? buffer.append(id), count: id.count, flags: written, hash: node.hash)
        if let kind = override?.kindStart {
            builder.setKind(ofItem: item, start: buffer.append(value: string(state.bytes + Int(kind))))
        } else if node.flags.contains(.hasKind) {
            builder.setKind(ofItem: item, start: buffer.append(value: string(base + Int(payload.kindStart))))
        }
        if override?.isCollapsed ?? node.flags.contains(.isCollapsed) { builder.collapse(item: item) }
    }

    // MARK: Sources

    private func section(_ vertex: Int) -> (SectionNode, UnsafeRawPointer) {
        switch state.vertex(numbered: vertex) {
        case .newSection(let section): (state.batch.sections[section], state.bytes)
        case .oldSection(let section): (state.old.sections[section], state.old.bytes)
        case .oldItem, .newItem: preconditionFailure("sections stand below the root")
        }
    }

    @inline(__always)
    private func source(_ vertex: Int) -> (Node, Payload, UnsafeRawPointer) {
        switch state.vertex(numbered: vertex) {
        case .oldItem(let item): (state.old.nodes[item], state.old.payload(ofItem: item), state.old.bytes)
        case .newItem(let node): (state.batch.nodes[node], state.batch.payloads[node], state.bytes)
        case .oldSection, .newSection: preconditionFailure("items stand below sections")
        }
    }

    private func value(inBatch range: Range<UInt32>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: state.bytes + Int(range.lowerBound), count: range.count)
    }

    /// The JSON string at an address, quotes included.
    private func string(_ start: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        var cursor = JSONCursor(start)
        return UnsafeRawBufferPointer(start: start, count: cursor.takeString().count + 2)
    }
}

extension NodeFlags {
    /// How an id was written.
    static let writtenID: NodeFlags = [.integerID, .escapedID]
}
