/// Describes the parts of a state after its edits. What no edit touched is taken over stretch by stretch; everything
/// else is an item of its own, whose texts are in the old state or in the batch, which follows the old state's text in
/// the new one.
struct EditedStateWriter {
    private let state: EditedState
    private var pieceTable: PieceTable
    private let cuts: [Int]
    /// The old state's text, followed by long contents made by intents, and where these are.
    private let text: TextRope
    private var longStarts: [Int: Int] = [:]
    /// Where the batch's bytes start in the new state's text.
    private let base: UInt32
    /// Bytes of the batch that the new state needs.
    private var used = 0
    /// Other contents made by intents: they follow the batch's bytes.
    private var made: TokenBuffer

    init(_ state: EditedState) {
        self.state = state
        pieceTable = PieceTable(list: state.old.columns.list)
        cuts = state.tree.cuts()
        var (text, bytes) = (state.old.columns.text, 0)
        for (vertex, override) in state.overrides {
            guard let made = override.made?.text else { continue }
            if made.count < TextRope.longValue {
                bytes += made.count + 1
            } else {
                longStarts[vertex] = text.count
                text = text.appending(made.padded)
            }
        }
        self.text = text
        base = UInt32(truncatingIfNeeded: text.count)
        made = TokenBuffer(base: text.count + state.batch.bytes.count, capacity: bytes)
    }

    /// What the finished state shares with the old one. O(edits), and O(n) as memory.
    mutating func write() throws(EditError) -> SharedRuns {
        for section in state.tree.children(of: EditedTree.root) where !state.ungroups(section) {
            pieceTable.beginSection(SectionNode(element(section)))
            try writeItems(of: section)
            pieceTable.endSection()
        }
        if let (what, count, limit) = pieceTable.excess(over: state.limits, from: state.old, made) {
            throw .limitExceeded(what: what, limit: limit, actual: count, pointer: pointerToLastInsert(of: what))
        }
        let text = state.batch.bytes.withUnsafeBytes {
            self.text.appending(
                $0, garbageBytes: state.batch.bytes.count - used + pieceTable.bytesLeftBehind(of: state.old))
        }.appending(made)
        return exchange(&pieceTable, with: PieceTable(list: ListContent()))
            .finish(from: state.old, text: text, isIndexed: true)
    }

    /// The pointer to the last edit that inserts items or sections, or to the batch.
    private func pointerToLastInsert(of what: String) -> String {
        guard let subject = Edit.Subject(rawValue: what) else { return state.batch.pointer }
        let last = state.batch.edits.lastIndex {
            $0.operation == .insert && ($0.subject == subject || $0.subject == .sections)
        }
        return state.batch.pointer(toEdit: last ?? 0)
    }

    /// Writes all items below a section, depth first.
    private mutating func writeItems(of section: Int) throws(EditError) {
        var vertex = state.tree.first(in: section)
        var level = 0
        while vertex >= 0 {
            if state.tree.isUntouchedItem(vertex), case .oldItem(let item) = state.vertex(numbered: vertex) {
                (vertex, level) = try writeStretch(from: item, level: level)
            } else {
                try check(level, vertex)
                var (node, payload) = element(vertex)
                node.level = UInt8(truncatingIfNeeded: level)
                pieceTable.append(node, payload, grown: state.overrides[vertex]?.made?.grown)
            }
            (vertex, level) = following(vertex, level)
        }
    }

    /// The next vertex of the document, and its level; none after the last one of a section.
    private func following(_ vertex: Int, _ level: Int) -> (vertex: Int, level: Int) {
        let child = state.tree.first(in: vertex)
        if child >= 0 { return (child, level + 1) }
        var (last, level) = (vertex, level)
        while true {
            let next = state.tree.next(after: last)
            if next >= 0 || level == 0 { return (next, level) }
            last = state.tree.parent(of: last)
            level -= 1
        }
    }

    /// Takes over what no edit touched from an item on; returns the last item of that stretch, and its level.
    private mutating func writeStretch(from item: Int, level: Int) throws(EditError) -> (vertex: Int, level: Int) {
        let (nodes, next) = (state.old.nodes, cuts.indices.partitionPoint { cuts[$0] <= item })
        let endOfSection = Int(state.old.sections[Int(nodes[item].section)].endItem)
        let end = next < cuts.count ? min(cuts[next], endOfSection) : endOfSection
        let shift = level - Int(nodes[item].level)
        if shift > 0 {
            for other in item..<end { try check(Int(nodes[other].level) + shift, state.vertex(.oldItem(other))) }
        }
        pieceTable.append(item..<end, isShared: shift == 0, levelShift: shift)
        return (state.vertex(.oldItem(end - 1)), Int(nodes[end - 1].level) + shift)
    }

    private func check(_ level: Int, _ vertex: Int) throws(EditError) {
        guard level >= min(state.limits.maxNesting, StateLimits.none.maxNesting) else { return }
        throw .limitExceeded(
            what: "levels of items", limit: state.limits.maxNesting, actual: level + 1,
            pointer: state.batch.pointer(toEdit: state.editPutting(vertex)))
    }

    /// A section or an item with what edits changed about it.
    private mutating func element(_ vertex: Int) -> (node: Node, payload: Payload) {
        var (node, payload) = state.record(of: vertex)
        if vertex >= state.firstNew {
            node.idStart += base
            payload.shift(by: base, node.flags)
            used += Int(node.idCount) + Int(payload.contentCount)
        }
        if let id = state.givenIDs[vertex] {
            id.text.withUnsafeBytes { node.setID(id.isInteger ? made.append(idDigits: $0) : made.append(idText: $0)) }
            node.hash = id.hash
        }
        if let override = state.overrides[vertex] {
            if let text = override.made?.text {
                let start = longStarts[vertex] ?? text.withBytes { made.append(value: $0) }
                payload.setContent(start, text.count)
                node.flags.insert(.hasContent)
            } else if let content = override.content {
                payload.setContent(Int(content.lowerBound + base), content.count)
                used += content.count
                node.flags.insert(.hasContent)
            }
            switch override.kind {
            case .inBatch(let start):
                payload.kindStart = start + base
                node.flags.insert(.hasKind)
            case .inContent(let kind):
                let start = kind?.withUnsafeBytes { made.append(value: $0) } ?? 0
                payload.kindStart = UInt32(truncatingIfNeeded: start)
                node.flags.set(.hasKind, kind != nil)
            case nil: break
            }
            if let isCollapsed = override.isCollapsed { node.flags.set(.isCollapsed, isCollapsed) }
            // It is no longer written as its id alone.
            node.flags.remove(.isBare)
        }
        return (node, payload)
    }
}

extension NodeFlags {
    mutating func set(_ flag: NodeFlags, _ isSet: Bool) { if isSet { insert(flag) } else { remove(flag) } }
}

extension PieceTable {
    /// What the new state has too much of, with the number and the limit. A state beyond a limit may shrink.
    func excess(
        over limits: StateLimits, from old: ColumnsView, _ made: TokenBuffer
    ) -> (what: String, count: Int, limit: Int)? {
        [
            ("sections", sections.count, limits.maxSections, old.sections.count),
            ("items", itemCount, limits.maxItems, old.nodes.count),
            // Records hold offsets of 32 bits.
            ("bytes", made.end + JSONScanner.padding, Int(UInt32.max), 0),
        ].first { $0.1 > $0.2 && $0.1 > $0.3 }.map { ($0.0, $0.1, $0.2) }
    }
}
