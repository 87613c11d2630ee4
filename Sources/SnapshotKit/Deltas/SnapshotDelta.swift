// Leads from one state to another by instructions: COPY and ADD of RFC 3284, over items instead of bytes. Its size is
// that of the change. It restores the exact bytes: the document is the same, not only equal.
//
// Layout: a byte of flags, the list's own content if they say so, the numbers of sections and of items, instructions
// for all sections, then for all items. Numbers are LEB128; positions in the source are distances from the end of the
// last reference.

/// Instructions that turn one state into another.
public struct SnapshotDelta: Sendable, Equatable {
    /// The instructions, for storage and transport. They do not tell whether they are complete.
    public let bytes: [UInt8]

    /// Instructions that were stored before.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// From a state to itself.
    public static let unchanged = SnapshotDelta(bytes: [])

    /// From the state after a change back to the one before it, or that whole state if it is smaller.
    public init(backOver change: Changeset) {
        self.init(change, isBack: true)
        if bytes.count <= change.old.text.count { return }
        let whole = SnapshotDelta(whole: Snapshot(change.old))
        if whole.bytes.count < bytes.count { self = whole }
    }

    /// From the state before a change to the one after it; nil if that is more than half of a record of that state.
    ///
    /// - Parameter others: what the record has besides the state, in bytes.
    public init?(over change: Changeset, besides others: Int = 0) {
        self.init(change, isBack: false)
        if bytes.count > (change.new.text.count + others) / 2 { return nil }
    }

    private init(_ change: Changeset, isBack: Bool) {
        let (source, target) = isBack ? (change.new, change.old) : (change.old, change.new)
        bytes = source.withViews(of: target) { source, target in
            var writer = DeltaWriter(
                source, target, sections: isBack ? change.sections.newOfOld : change.sections.oldOfNew,
                items: isBack ? change.items.newOfOld : change.items.oldOfNew)
            writer.grown = change.shared.grown
            return isBack
                ? writer.write(reusing: change.shared.reversedRuns) : writer.write(reusing: change.shared.runs)
        }
    }

    /// A whole state, built from nothing.
    public init(whole snapshot: Snapshot) {
        bytes = Snapshot.empty.columns.withViews(of: snapshot.columns) { source, target in
            var writer = DeltaWriter(
                source, target, sections: [Int32](repeating: -1, count: target.sections.count),
                items: [Int32](repeating: -1, count: target.nodes.count))
            return writer.write(reusing: [])
        }
    }

    /// Whether it refers to nothing, so that it gives the same result for any state.
    public var isWhole: Bool {
        let flags = DeltaFlags(rawValue: Int(bytes.first ?? 0))
        return flags.contains(.isWhole) && flags.isSubset(of: .all)
    }
}

/// What the first byte of a delta says.
struct DeltaFlags: OptionSet {
    let rawValue: Int
    /// Nothing is taken from the source.
    static let isWhole = DeltaFlags(rawValue: 1)
    /// The list's own content follows; otherwise it is that of the source.
    static let hasList = DeltaFlags(rawValue: 2)
    /// The list has no content of its own any more.
    static let hasNoList = DeltaFlags(rawValue: 4)

    static let all: DeltaFlags = [.isWhole, .hasList, .hasNoList]
}

extension Snapshot {
    /// The state after several deltas, applied in order, and what is known to be the same in it and in this one; nil if
    /// they do not fit. O(changes), plus one O(n) copy of memory.
    ///
    /// - Parameter isIndexed: whether ids are to be found in O(1) rather than O(n).
    public func applying(
        _ deltas: some Sequence<SnapshotDelta>, isIndexed: Bool = false
    ) -> (snapshot: Snapshot, shared: SharedRuns)? {
        columns.withView { view in
            var state = DeltaState(view)
            guard deltas.allSatisfy({ state.apply($0) }), let (text, pieceTable) = state.finished() else { return nil }
            let shared = pieceTable.finish(from: view, text: text, isIndexed: isIndexed)
            return (Snapshot(shared.new), shared)
        }
    }
}

/// What an instruction does: the lowest two bits of its first number.
enum DeltaInstruction: Int {
    /// A run of unchanged items or sections.
    case copy
    /// A run of items written the same, but perhaps with other parents or children. Never sections.
    case same
    /// One of the source, except for what the bits name.
    case change
    /// A new one.
    case add
}

/// What differs between an item or section and its counterpart in the source.
struct DeltaChanges: OptionSet {
    let rawValue: Int
    static let flags = DeltaChanges(rawValue: 1)
    static let content = DeltaChanges(rawValue: 2)
    static let kind = DeltaChanges(rawValue: 4)
    static let id = DeltaChanges(rawValue: 8)
}

/// Writes the instructions that lead from one state to another.
private struct DeltaWriter {
    private let source: ColumnsView
    private let target: ColumnsView
    /// Partners in the source, by index; -1 for none.
    private let sections: [Int32]
    private let items: [Int32]
    var grown: [Int: GrownText] = [:]
    private var writer = JSONWriter(capacity: 256)
    /// Where the last reference to the source ended.
    private var at = 0
    private var flags: DeltaFlags = .isWhole

    init(_ source: ColumnsView, _ target: ColumnsView, sections: [Int32], items: [Int32]) {
        (self.source, self.target, self.sections, self.items) = (source, target, sections, items)
        writer.append(byte: 0)
    }

    /// - Parameter runs: items that are the same, in ascending order of the target.
    mutating func write(reusing runs: some Sequence<SharedRuns.Run>) -> [UInt8] {
        writeList()
        append(target.sections.count)
        append(target.nodes.count)
        writeSections()
        at = 0
        var item = 0
        for run in runs {
            while item < run.new { item = writeItems(from: item, to: run.new) }
            append(.copy, run.count, from: run.old, count: run.count)
            item = run.new + run.count
        }
        while item < target.nodes.count { item = writeItems(from: item, to: target.nodes.count) }
        writer.replaceFirst(by: UInt8(truncatingIfNeeded: flags.rawValue))
        return exchange(&writer, with: JSONWriter(capacity: 0)).bytes()
    }

    private mutating func writeList() {
        if target.listContent.isEmpty {
            if !source.listContent.isEmpty { flags.insert(.hasNoList) }
        } else if target.listContent.hasSameBytes(as: source.listContent) {
            flags.remove(.isWhole)
        } else {
            flags.insert(.hasList)
            // What both have in common is taken from the source.
            if !source.listContent.isEmpty { flags.remove(.isWhole) }
            append(target.listContent, over: source.listContent)
        }
    }

    // MARK: Sections and items

    private mutating func writeSections() {
        var section = 0
        while section < target.sections.count {
            let (first, partner) = (section, Int(sections[section]))
            while section < target.sections.count, partner >= 0, Int(sections[section]) == partner + section - first,
                isUnchanged(section: section)
            {
                section += 1
            }
            if section > first {
                append(.copy, section - first, from: partner, count: section - first)
            } else {
                let old = partner < 0 ? nil : Element(source, section: partner)
                write(Element(target, section: section), over: old, at: partner)
                section += 1
            }
        }
    }

    private func isUnchanged(section: Int) -> Bool {
        let (new, old) = (Element(target, section: section), Element(source, section: Int(sections[section])))
        return new.changes(from: old).isEmpty && new.number == old.number
    }

    /// Writes at least one item; returns the index after the last one.
    private mutating func writeItems(from item: Int, to end: Int) -> Int {
        let partner = Int(items[item])
        var next = item
        while next < end, partner >= 0, Int(items[next]) == partner + next - item,
            source.hasSameBytes(Int(items[next]), as: target, next)
        {
            next += 1
        }
        if next > item {
            append(.same, next - item, from: partner, count: next - item)
            return next
        }
        write(Element(target, item: item), over: partner < 0 ? nil : Element(source, item: partner), at: partner)
        return item + 1
    }

    /// - Parameter old: its partner, which is at the index `partner` of the source; nil if it is new.
    private mutating func write(_ element: Element, over old: Element?, at partner: Int) {
        guard let old else {
            append(.add, Int(element.flags.rawValue))
            append(element.number)
            append(element.id)
            if let content = element.content { append(content) }
            if let kind = element.kind { append(kind) }
            return
        }
        let changes = element.changes(from: old)
        append(.change, changes.rawValue, from: partner, count: 1)
        if element.isSection { append(element.number) }
        if changes.contains(.flags) {
            append(Int(element.flags.rawValue))
            if !element.isSection { append(element.number) }
        }
        if changes.contains(.id) { append(element.id) }
        if changes.contains(.content), let content = element.content {
            append(content, over: old.content, alike: element.isSection ? 0 : grown[partner]?.oldEnd ?? 0)
        }
        if changes.contains(.kind), let kind = element.kind { append(kind) }
    }

    // MARK: Pieces

    private mutating func append(_ instruction: DeltaInstruction, _ number: Int) {
        append(number << 2 | instruction.rawValue)
    }

    private mutating func append(_ instruction: DeltaInstruction, _ number: Int, from start: Int, count: Int) {
        flags.remove(.isWhole)
        append(instruction, number)
        let distance = start - at
        append(distance << 1 ^ distance >> 63)
        at = start + count
    }

    private mutating func append(_ number: Int) {
        var rest = UInt64(bitPattern: Int64(number))
        while rest >= 0x80 {
            writer.append(byte: UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        writer.append(byte: UInt8(truncatingIfNeeded: rest))
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        append(bytes.count)
        writer.append(bytes)
    }

    private mutating func append(_ id: IDText) {
        append(id.text)
        if id.flags.contains(.escapedID) { append(id.token) }
    }

    /// A content: the lengths of the start and the end that it shares with the old one, and the part between.
    /// At least `alike` bytes of the start are known to be.
    private mutating func append(_ bytes: UnsafeRawBufferPointer, over old: UnsafeRawBufferPointer?, alike: Int = 0) {
        guard let base = bytes.baseAddress, let old, let oldBase = old.baseAddress, old.count > 0 else {
            append(0)
            append(0)
            return append(bytes)
        }
        let shorter = min(bytes.count, old.count)
        let start = alike + commonPrefix(base + alike, oldBase + alike, shorter - alike)
        let end = commonSuffix(base + bytes.count, oldBase + old.count, shorter - start)
        append(start)
        append(end)
        append(UnsafeRawBufferPointer(rebasing: bytes[start..<bytes.count - end]))
    }
}

/// A section or an item, as a delta describes it.
private struct Element {
    let flags: NodeFlags
    let isSection: Bool
    /// The number of a section's items, or an item's level.
    let number: Int
    let id: IDText
    let content: UnsafeRawBufferPointer?
    let kind: UnsafeRawBufferPointer?

    init(_ view: ColumnsView, section: Int) {
        let node = view.sections[section]
        (flags, isSection, number) = (node.flags, true, Int(node.endItem - node.firstItem))
        (id, kind) = (view.id(ofSection: section), nil)
        content = flags.contains(.hasContent) ? view.content(ofSection: section) : nil
    }

    @inline(__always)
    init(_ view: ColumnsView, item: Int) {
        let node = view.nodes[item]
        (flags, isSection, number) = (node.flags.subtracting(.isHidden), false, Int(node.level))
        id = view.id(ofItem: item)
        content = flags.contains(.hasContent) ? view.content(ofItem: item) : nil
        kind = flags.contains(.hasKind) ? view.kind(ofItem: item) : nil
    }

    /// Members to write again. Removed contents and kinds are left out: the flags record them.
    @inline(__always)
    func changes(from old: Element) -> DeltaChanges {
        var changes: DeltaChanges = []
        if !id.token.hasSameBytes(as: old.id.token) { changes.insert(.id) }
        let changed = flags.symmetricDifference(old.flags)
        if !(changes.isEmpty ? changed.subtracting(.idStorage) : changed).isEmpty || !isSection && number != old.number
        {
            changes.insert(.flags)
        }
        if let content, old.content.map(content.hasSameBytes) != true { changes.insert(.content) }
        if let kind, old.kind.map(kind.hasSameBytes) != true { changes.insert(.kind) }
        return changes
    }
}
