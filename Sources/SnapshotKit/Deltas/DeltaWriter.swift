/// Writes what leads from one state to another.
struct DeltaWriter {
    private let source: ColumnsView
    private let target: ColumnsView
    /// Partners in the source, by index; -1 for none.
    private let sections: [Int32]
    private let items: [Int32]
    private var writer = JSONWriter(capacity: 256)
    /// Where the last reference to the source ended.
    private var at = 0
    private var flags: DeltaFlags = .isWhole

    init(_ source: ColumnsView, _ target: ColumnsView, sections: [Int32], items: [Int32]) {
        (self.source, self.target, self.sections, self.items) = (source, target, sections, items)
        writer.append(byte: 0)
    }

    /// Writes the instructions and hands them out.
    ///
    /// - Parameter runs: items that are the same, in ascending order of the target.
    mutating func write(reusing runs: [ReusedRun]) -> [UInt8] {
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
        return writer.takeBytes()
    }

    private mutating func writeList() {
        if target.listContent.isEmpty {
            if !source.listContent.isEmpty { flags.insert(.hasNoList) }
        } else if target.listContent.hasSameBytes(as: source.listContent) {
            flags.remove(.isWhole)
        } else {
            flags.insert(.hasList)
            // What both have in common is taken over.
            if !source.listContent.isEmpty { flags.remove(.isWhole) }
            append(target.listContent, over: source.listContent)
        }
    }

    // MARK: Sections

    private mutating func writeSections() {
        var section = 0
        while section < target.sections.count {
            let first = section
            let partner = Int(sections[section])
            while section < target.sections.count, Int(sections[section]) == partner + section - first, partner >= 0,
                changes(ofSection: section).isEmpty, count(target, section) == count(source, Int(sections[section]))
            {
                section += 1
            }
            if section > first {
                append(.copy, section - first, from: partner, count: section - first)
            } else {
                write(section: section, partner)
                section += 1
            }
        }
    }

    private func count(_ view: ColumnsView, _ section: Int) -> Int {
        Int(view.sections[section].endItem - view.sections[section].firstItem)
    }

    private func changes(ofSection section: Int) -> DeltaChanges {
        let partner = Int(sections[section])
        let (node, old) = (target.sections[section], source.sections[partner])
        var changes: DeltaChanges = []
        if node.flags != old.flags { changes.insert(.flags) }
        if !target.id(ofSection: section).isWritten(as: source.id(ofSection: partner)) { changes.insert(.id) }
        if node.flags.contains(.hasContent),
            !old.flags.contains(.hasContent)
                || !target.content(ofSection: section).hasSameBytes(as: source.content(ofSection: partner))
        {
            changes.insert(.content)
        }
        return changes
    }

    private mutating func write(section: Int, _ partner: Int) {
        let node = target.sections[section]
        guard partner >= 0 else {
            append(.add, Int(node.flags.rawValue))
            append(count(target, section))
            append(target.id(ofSection: section))
            if node.flags.contains(.hasContent) { append(target.content(ofSection: section)) }
            return
        }
        let changes = changes(ofSection: section)
        append(.change, changes.rawValue, from: partner, count: 1)
        append(count(target, section))
        if changes.contains(.flags) { append(Int(node.flags.rawValue)) }
        if changes.contains(.id) { append(target.id(ofSection: section)) }
        if changes.contains(.content) {
            append(target.content(ofSection: section), over: source.content(ofSection: partner))
        }
    }

    // MARK: Items

    /// Writes at least one item; returns the one behind.
    private mutating func writeItems(from item: Int, to end: Int) -> Int {
        let partner = Int(items[item])
        guard partner >= 0 else {
            add(item)
            return item + 1
        }
        var next = item
        while next < end, Int(items[next]) == partner + next - item, isSame(next) { next += 1 }
        if next > item {
            append(.same, next - item, from: partner, count: next - item)
            return next
        }
        change(item, partner)
        return item + 1
    }

    private func isSame(_ item: Int) -> Bool { source.hasSameBytes(Int(items[item]), as: target, item) }

    private mutating func add(_ item: Int) {
        let node = target.nodes[item]
        append(.add, Int(node.flags.subtracting(.isHidden).rawValue))
        append(Int(node.level))
        append(target.id(ofItem: item))
        if node.flags.contains(.hasContent) { append(target.content(ofItem: item)) }
        if node.flags.contains(.hasKind) { append(target.kind(ofItem: item)) }
    }

    private mutating func change(_ item: Int, _ partner: Int) {
        let (node, old) = (target.nodes[item], source.nodes[partner])
        var changes: DeltaChanges = []
        let flags = node.flags.subtracting(.isHidden)
        if flags != old.flags.subtracting(.isHidden) || node.level != old.level { changes.insert(.flags) }
        if !target.id(ofItem: item).isWritten(as: source.id(ofItem: partner)) { changes.insert(.id) }
        if node.flags.contains(.hasContent),
            !old.flags.contains(.hasContent)
                || !target.content(ofItem: item).hasSameBytes(as: source.content(ofItem: partner))
        {
            changes.insert(.content)
        }
        if node.flags.contains(.hasKind),
            !old.flags.contains(.hasKind) || !target.kind(ofItem: item).hasSameBytes(as: source.kind(ofItem: partner))
        {
            changes.insert(.kind)
        }
        append(.change, changes.rawValue, from: partner, count: 1)
        if changes.contains(.flags) {
            append(Int(flags.rawValue))
            append(Int(node.level))
        }
        if changes.contains(.id) { append(target.id(ofItem: item)) }
        if changes.contains(.content) { append(target.content(ofItem: item), over: source.content(ofItem: partner)) }
        if changes.contains(.kind) { append(target.kind(ofItem: item)) }
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

    /// An id: its text; behind it, if it was written with escapes, its token.
    private mutating func append(_ id: IDText) {
        append(id.text)
        if id.flags.contains(.escapedID) { append(id.token) }
    }

    /// A content as what both begin and end with, and what stands between.
    private mutating func append(_ bytes: UnsafeRawBufferPointer, over old: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, let oldBase = old.baseAddress, old.count > 0 else {
            append(0)
            append(0)
            return append(bytes)
        }
        let shorter = min(bytes.count, old.count)
        let start = commonPrefix(base, oldBase, shorter)
        var end = 0
        while end < shorter - start, bytes[bytes.count - 1 - end] == old[old.count - 1 - end] { end += 1 }
        append(start)
        append(end)
        append(UnsafeRawBufferPointer(rebasing: bytes[start..<bytes.count - end]))
    }
}

extension IDText {
    /// Whether another id is the same to the byte, and kept the same way: one that was made of several parts is kept
    /// as if it had been written with escapes.
    fileprivate func isWritten(as other: IDText) -> Bool {
        flags.isKeptAlike(other.flags) && token.hasSameBytes(as: other.token)
    }
}

extension NodeFlags {
    /// Whether ids with these flags are kept in the text the same way.
    func isKeptAlike(_ other: NodeFlags) -> Bool {
        symmetricDifference(other).isDisjoint(with: [.integerID, .escapedID])
    }
}
