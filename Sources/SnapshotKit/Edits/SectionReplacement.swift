/// A section as it stands in a list of several sources.
package struct SectionOutline: Sendable, Equatable {
    package let id: String
    /// Its content where its document has none.
    package let content: JSONText?

    package init(id: String, content: JSONText? = nil) { (self.id, self.content) = (id, content) }

    package static func == (one: SectionOutline, other: SectionOutline) -> Bool {
        one.id == other.id && one.content?.bytes == other.content?.bytes
    }
}

extension Snapshot {
    /// The state with what a document says of one section, and what is known to be the same in both states. Of that
    /// section, too, stays what the document leaves out. A section that is not there is made at the end.
    ///
    /// - Parameters:
    ///   - section: nil if no section has a document.
    ///   - outlines: all sections of the next state, in order: those that are not there are made without items. Nil if
    ///     the sections stay as they are.
    /// - Throws: `StateError.invalid` with each id that is in another section; `.limitExceeded`.
    package func replacing(
        _ section: SectionReading?, among outlines: [SectionOutline]? = nil, limits: StateLimits = StateLimits()
    ) throws(StateError) -> (snapshot: Snapshot, shared: SharedRuns) {
        let rows = section?.reading.snapshot ?? .empty
        let shared = try columns.withViews(of: rows.columns) { (old, new) throws(StateError) in
            var replacement = SectionReplacement(old, new, section, outlines, limits)
            replacement.writeSections(outlines)
            return try replacement.finish()
        }
        return (Snapshot(shared.new), shared)
    }
}

/// Describes the parts of a state of which one section is replaced.
///
/// Items that are written as before are taken over with everything below them; only what differs is copied. So the next
/// state costs O(items) as memory, and no text but that of the section is looked at.
private struct SectionReplacement {
    private let old: ColumnsView
    /// The section's items.
    private let new: ColumnsView
    private let section: SectionReading?
    private let limits: StateLimits
    /// The section's index in the old state, if that has it, and the sections that both states have.
    private let replaced: Int?
    private let kept: Set<Int>
    private var pieceTable: PieceTable
    /// What is not in the old state's text, which it follows.
    private var made: TokenBuffer
    private var violations: Violations

    init(
        _ old: ColumnsView, _ new: ColumnsView, _ section: SectionReading?, _ outlines: [SectionOutline]?,
        _ limits: StateLimits
    ) {
        (self.old, self.new, self.section, self.limits) = (old, new, section, limits)
        replaced = section.flatMap { old.section(withID: $0.id) }
        kept = Set(outlines?.compactMap { old.section(withID: Array($0.id.utf8)) } ?? Array(old.sections.indices))
        pieceTable = PieceTable(list: old.columns.list)
        made = TokenBuffer(base: old.columns.text.count)
        violations = Violations(limit: limits.maxViolations)
    }

    // MARK: Sections

    mutating func writeSections(_ outlines: [SectionOutline]?) {
        if let outlines {
            for outline in outlines {
                let id = Array(outline.id.utf8)
                write(old.section(withID: id), id, isReplaced: id == section?.id, outline.content)
            }
        } else {
            for index in old.sections.indices { write(index, [], isReplaced: index == replaced) }
            if let section, replaced == nil { write(nil, section.id, isReplaced: true) }
        }
    }

    /// - Parameters:
    ///   - index: the section in the old state; nil if it is new.
    ///   - id: of a new section.
    ///   - isReplaced: whether it is the document's.
    ///   - content: its content where it is new, or where its document has none.
    private mutating func write(_ index: Int?, _ id: [UInt8], isReplaced: Bool, _ content: JSONText? = nil) {
        var record = index.map { old.sections[$0] } ?? empty(id)
        if isReplaced, new.columns.list.count > 0 {
            show(new.listContent, in: &record)
        } else if index == nil || isReplaced {
            content?.withBytes { show($0, in: &record) }
        }
        if isReplaced, let isExpanded = section?.isExpanded { record.flags.set(.isCollapsed, !isExpanded) }
        pieceTable.beginSection(record)
        let items = index.map { Int(old.sections[$0].firstItem)..<Int(old.sections[$0].endItem) } ?? 0..<0
        if isReplaced, section?.hasItems == true {
            writeItems(over: items)
        } else {
            pieceTable.append(items, isShared: true)
        }
        pieceTable.endSection()
    }

    private mutating func empty(_ id: [UInt8]) -> SectionNode {
        var record = SectionNode()
        let found = id.withUnsafeBytes { made.append(idText: $0) }
        record.setID(found)
        record.hash = made.idHash(at: found.start, found.count)
        return record
    }

    /// Sets a section's content, unless that is written so already.
    private mutating func show(_ content: UnsafeRawBufferPointer, in record: inout SectionNode) {
        let shown = old.text.bytes(at: record.contentStart, Int(record.contentCount))
        if record.flags.contains(.hasContent), shown.hasSameBytes(as: content) { return }
        let start = made.append(value: content)
        record.setContent(start..<start + content.count)
    }

    // MARK: Items

    /// - Parameter items: the section's items in the old state.
    private mutating func writeItems(over items: Range<Int>) {
        var (item, next) = (0, items.lowerBound)
        while item < new.nodes.count {
            let subtree = item..<Int(new.nodes[item].end)
            let match = counterpart(of: item, next < items.upperBound ? next : nil)
            if let match, items.contains(match), isWritten(subtree, from: match) {
                pieceTable.append(match..<match + subtree.count, isShared: true)
            } else {
                for each in subtree { append(each, each == item ? match : counterpart(of: each)) }
            }
            if let match, items.contains(match) { next = Int(old.nodes[match].end) }
            item = subtree.upperBound
        }
    }

    /// The item of the old state with the id of a new one. One in a section that stays is a violation, unless that is
    /// this one.
    ///
    /// - Parameter expected: an item of the section that most likely has it.
    private mutating func counterpart(of item: Int, _ expected: Int? = nil) -> Int? {
        let node = new.nodes[item]
        if let expected, old.nodes[expected].hasSameID(as: node, old.text, new.text) { return expected }
        guard let found = old.item(withID: new.text.bytes(ofID: node), hash: node.hash) else { return nil }
        let other = Int(old.nodes[found].section)
        if kept.contains(other), other != replaced { noteDuplicate(item, other) }
        return found
    }

    private mutating func noteDuplicate(_ item: Int, _ other: Int) {
        let (id, section) = (new.id(ofItem: item).text, old.id(ofSection: other).text)
        violations.note(
            "duplicate-id",
            "the id \"\(Violations.shown(id))\" is in the section \"\(Violations.shown(section))\" already",
            advice: "idScope=section makes ids that are unique in their section enough; to move an item, send an edit",
            at: DocumentPlace(self.section?.idOffsets[Int(new.nodes[item].idStart)] ?? 0))
    }

    /// Whether items with everything below them are written as in the old state.
    private func isWritten(_ items: Range<Int>, from match: Int) -> Bool {
        guard Int(old.nodes[match].end) - match == items.count else { return false }
        let shift = match - items.lowerBound
        return items.allSatisfy { item in
            old.nodes[item + shift].hasSameID(as: new.nodes[item], old.text, new.text)
                && old.hasSameBytes(item + shift, as: new, item)
        }
    }

    /// Appends an item, whose id stays where it is if the old state has it.
    private mutating func append(_ item: Int, _ match: Int?) {
        var (node, payload) = (new.nodes[item], new.payload(ofItem: item))
        node.flags.remove(.isHidden)
        if node.flags.contains(.hasContent) {
            payload.setContent(made.append(value: new.content(ofItem: item)), Int(payload.contentCount))
        }
        if node.flags.contains(.hasKind) {
            payload.kindStart = UInt32(truncatingIfNeeded: made.append(value: new.kind(ofItem: item)))
        }
        if let match, node.isWrittenLike(old.nodes[match], new.text, old.text) {
            node.idStart = old.nodes[match].idStart
        } else {
            let inside = new.idOffset(inContentOf: item).map { Int(payload.contentStart) + $0 }
            node.idStart = UInt32(truncatingIfNeeded: inside ?? made.append(new.id(ofItem: item)))
        }
        pieceTable.append(node, payload)
    }

    mutating func finish() throws(StateError) -> SharedRuns {
        guard violations.isEmpty else { throw .invalid(violations.reported(in: new.text.first)) }
        if let (what, count, limit) = pieceTable.excess(over: limits, from: old, made) {
            throw .limitExceeded(what: what, limit: limit, actual: count, pointer: "")
        }
        let text = old.columns.text.appending(made, garbageBytes: pieceTable.bytesLeftBehind(of: old))
        return exchange(&pieceTable, with: PieceTable(list: ListContent()))
            .finish(from: old, text: text, isIndexed: true)
    }
}

extension ColumnsView {
    fileprivate func section(withID id: [UInt8]) -> Int? { id.withUnsafeBytes { section(withID: $0) } }
}
