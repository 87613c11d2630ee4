// A state made from another one, by edits or by a delta: a list of pieces in document order, each a stretch of the
// source's items or of new ones, with their levels in the new state. Parents and ends follow from levels. What is taken
// over is copied as memory, or shared if only contents have changed; none of it is read, hashed or looked up again.

/// The items and sections of a new state.
package struct PieceTable {
    /// A stretch of items, of the source or of `nodes`.
    struct Piece {
        /// Index of the first item in the new state.
        var first: Int
        /// Index of the first item in the source or in `nodes`.
        var start: Int
        var count: Int
        var isOwn: Bool
        /// Whether nothing about the items has changed, their parents and children included.
        var isShared = false
        /// How much deeper the items are nested now.
        var levelShift = 0

        var items: Range<Int> { first..<first + count }
        var end: Int { start + count }
        /// Whether the items are the source's, at the same indexes and levels.
        var isUnmoved: Bool { !isOwn && start == first && levelShift == 0 }
    }

    private(set) var pieces: [Piece] = []
    private(set) var itemCount = 0
    /// Items that are not copied from the source. A changed item keeps its id from there.
    private(set) var nodes: [Node] = []
    private(set) var payloads: [Payload] = []
    private(set) var sections: [SectionNode] = []
    /// Texts of new items that have grown, by item.
    private var grown: [Int: GrownText] = [:]
    package var list: ListContent

    init(list: ListContent) { self.list = list }

    var pieceStarts: [Int] { pieces.map(\.first) }

    // MARK: Appending

    /// Starts a section with the id, the content and the flags of this one.
    mutating func beginSection(_ section: SectionNode) {
        var section = section
        section.firstItem = UInt32(truncatingIfNeeded: itemCount)
        sections.append(section)
    }

    mutating func endSection() { sections[sections.count - 1].endItem = UInt32(truncatingIfNeeded: itemCount) }

    package mutating func append(_ items: Range<Int>, isShared: Bool, levelShift: Int = 0) {
        guard !items.isEmpty else { return }
        append(
            Piece(
                first: itemCount, start: items.lowerBound, count: items.count, isOwn: false, isShared: isShared,
                levelShift: levelShift))
    }

    /// Appends a new item. Of its node, `finish` sets all but id, hash, flags and level.
    package mutating func append(_ node: Node, _ payload: Payload, grown text: GrownText? = nil) {
        if let text { grown[itemCount] = text }
        nodes.append(node)
        payloads.append(payload)
        append(Piece(first: itemCount, start: nodes.count - 1, count: 1, isOwn: true))
    }

    private mutating func append(_ piece: Piece) {
        itemCount += piece.count
        if let last = pieces.last, last.isOwn == piece.isOwn, last.end == piece.start, last.isShared == piece.isShared,
            last.levelShift == piece.levelShift
        {
            pieces[pieces.count - 1].count += piece.count
        } else {
            pieces.append(piece)
        }
    }

    // MARK: Contents

    /// Sets the start of each content that may not be the source's, given that and its length.
    mutating func setContentStarts(_ body: (UInt32, Int) -> UInt32) {
        list.start = body(list.start, Int(list.count))
        for index in sections.indices {
            sections[index].contentStart = body(sections[index].contentStart, Int(sections[index].contentCount))
        }
        for index in payloads.indices {
            payloads[index].contentStart = body(payloads[index].contentStart, Int(payloads[index].contentCount))
        }
    }

    /// Bytes of the source's text that become unused, without looking at items taken over. O(other items).
    func bytesLeftBehind(of source: ColumnsView) -> Int {
        let kept = pieces.filter { !$0.isOwn }.sorted { $0.start < $1.start }
        let end = UInt32(truncatingIfNeeded: source.columns.text.count)
        var bytes = 0
        kept.lazy.map { SharedRuns.Run(old: $0.start, new: $0.start, count: $0.count) }
            .forOthers(of: source.nodes.count) {
                bytes += Self.bytes(of: source.nodes[$0], source.payload(ofItem: $0), before: end)
            }
        for (node, payload) in zip(nodes, payloads) { bytes -= Self.bytes(of: node, payload, before: end) }
        bytes += Int(source.columns.list.count)
        if list.start < end { bytes -= Int(list.count) }
        for section in source.sections { bytes += Int(section.idCount) + Int(section.contentCount) }
        for section in sections {
            if section.idStart < end { bytes -= Int(section.idCount) }
            if section.contentStart < end { bytes -= Int(section.contentCount) }
        }
        return max(0, bytes)
    }

    /// Bytes of an item's text before `end`; an id inside its content counts once.
    private static func bytes(of node: Node, _ payload: Payload, before end: UInt32) -> Int {
        var bytes = payload.contentStart < end ? Int(payload.contentCount) : 0
        let content = payload.contentStart..<payload.contentStart + payload.contentCount
        if node.idStart < end, !content.contains(node.idStart) { bytes += Int(node.idCount) }
        return bytes
    }

    // MARK: The state

    /// The new state, and what it shares with the source. O(items), as memory.
    ///
    /// - Parameters:
    ///   - text: the text of `source`, followed by that of the new items.
    ///   - isIndexed: whether its ids are to be found in O(1), since later states will be made of it. Then it also gets
    ///     a text of its own if most of this one is unused.
    consuming func finish(from source: ColumnsView, text: TextRope, isIndexed: Bool) -> SharedRuns {
        let hasCollapsed =
            !source.allVisible || nodes.contains { $0.flags.contains(.isCollapsed) }
            || sections.contains { $0.flags.contains(.isCollapsed) }
        let (shared, grown) = (runs(where: \.isShared), grown)
        if !hasCollapsed, hasStructure(of: source) {
            let columns = withStructure(of: source, text)
            return SharedRuns(
                shared, hasSameStructure: true, grown: grown, from: source.columns,
                to: isIndexed ? columns.compactedIfNeeded : columns)
        }
        let alike = runs { !$0.isOwn }
        return rebuilt(from: source, hasCollapsed: hasCollapsed)
            .finishDistinct(text: text, from: source.columns, reusing: shared, pairing: alike, isIndexed: isIndexed)
    }

    /// Some of the pieces that come from the source, as runs.
    private func runs(where includes: (Piece) -> Bool) -> [SharedRuns.Run] {
        pieces.reduce(into: []) { runs, piece in
            guard includes(piece) else { return }
            runs.append(joining: SharedRuns.Run(old: piece.start, new: piece.first, count: piece.count))
        }
    }

    /// Whether only what sections and items show differs from the source.
    private func hasStructure(of source: ColumnsView) -> Bool {
        guard itemCount == source.nodes.count, sections.count == source.sections.count else { return false }
        for piece in pieces where !piece.isUnmoved {
            guard piece.isOwn else { return false }
            for (node, old) in zip(nodes[piece.start..<piece.end], source.nodes[piece.items]) {
                guard node.idStart == old.idStart, node.idCount == old.idCount, node.level == old.level,
                    node.flags == old.flags
                else { return false }
            }
        }
        return zip(sections, source.sections).allSatisfy { section, old in
            section.idStart == old.idStart && section.idCount == old.idCount && section.flags == old.flags
                && section.firstItem == old.firstItem && section.endItem == old.endItem
        }
    }

    private consuming func withStructure(of source: ColumnsView, _ text: TextRope) -> Columns {
        let columns = source.columns
        var payloads = columns.payloads
        if !payloads.isEmpty {
            for piece in pieces where piece.isOwn {
                for index in 0..<piece.count { payloads[piece.first + index] = self.payloads[piece.start + index] }
            }
        }
        for index in sections.indices {
            sections[index].hash = source.sections[index].hash
            (sections[index].firstRow, sections[index].endRow) = (sections[index].firstItem, sections[index].endItem)
        }
        return Columns(
            text: text, list: list, nodes: columns.nodes, sections: sections, payloads: payloads,
            itemTable: columns.itemTable, sectionTable: columns.sectionTable, grown: grown)
    }

    private consuming func rebuilt(from source: ColumnsView, hasCollapsed: Bool) -> ColumnsBuilder {
        var builder = ColumnsBuilder()
        (builder.list, builder.hasCollapsed, builder.isFlat) = (list, hasCollapsed, false)
        builder.showsAnything =
            !source.payloads.isEmpty || nodes.contains { !$0.flags.isDisjoint(with: [.hasContent, .hasKind]) }
        builder.nodes = copied(nodes, source.nodes)
        for piece in pieces where piece.levelShift != 0 {
            for item in piece.items { builder.nodes[item].level &+= UInt8(truncatingIfNeeded: piece.levelShift) }
        }
        if builder.showsAnything { builder.payloads = copied(payloads, source.payloads, orElse: Payload()) }
        builder.sections = sections
        builder.outline(from: keptPrefixCount(builder.nodes, in: source))
        return builder
    }

    /// The records of all items, piece by piece; `none` for those of a source without records.
    private func copied<Record>(_ own: [Record], _ others: UnsafeBufferPointer<Record>, orElse none: Record? = nil)
        -> [Record]
    {
        // The initializer would write to the empty array, which all threads share.
        if itemCount == 0 { return [] }
        return Array(unsafeUninitializedCapacity: itemCount) { memory, count in
            own.withUnsafeBufferPointer { own in
                for piece in pieces {
                    let start = memory.baseAddress! + piece.first
                    let records = piece.isOwn ? own : others
                    if let none, records.isEmpty {
                        start.initialize(repeating: none, count: piece.count)
                    } else {
                        start.initialize(from: records.baseAddress! + piece.start, count: piece.count)
                    }
                }
            }
            count = itemCount
        }
    }

    /// How many leading items have the same sections and indexes in both states, in whole subtrees.
    private func keptPrefixCount(_ nodes: [Node], in source: ColumnsView) -> Int {
        guard source.allVisible else { return 0 }
        var count = pieces.first { !$0.isUnmoved }?.first ?? itemCount
        if let (section, old) = zip(sections, source.sections).first(where: { $0.endItem != $1.endItem }) {
            count = min(count, Int(min(section.endItem, old.endItem)))
        }
        count = min(count, Int(sections.last?.endItem ?? 0), Int(source.sections.last?.endItem ?? 0))
        while count > 0,
            count < nodes.count && nodes[count].level > 0
                || count < source.nodes.count && source.nodes[count].level > 0
        {
            count -= 1
        }
        return count
    }
}
