// Sections out of flat rows. A document with a place for groups is read as one list, in the document's order, and the
// group of each row is noted beside it. Only then are the rows put into sections, by counting. So the rest of reading
// (violations, skipped elements, the comparison with a known state) knows nothing of groups.
//
// If the sections' order is another one, a state remembers that of the document (`Columns.documentOrder`), in which
// `IncrementalParse` walks through it beside the next document. Rows taken over from there stay where they are until
// their indexes are known (`TakenRows`), so each is copied once; and they keep their group, so a group's value is read
// once for each section, not for each row. If a document has the same rows in the same groups, which is most common,
// not even that: its records are those of the known state, with other offsets (`arrangeAsKnown`).

/// The groups of a document's rows, numbered in the order of their first rows.
package struct RowGroups: Sendable {
    /// The id of each group, and the ordinal of its first row in the document.
    private(set) var ids: [FoundID] = []
    private(set) var starts: [Int] = []
    /// The group of each row that was read, in the document's order.
    package var ofRow: [UInt32] = []
    /// The texts of the ids, one after the other, and where each ends.
    private var texts: [UInt8] = []
    private var ends: [Int] = []
    /// The numbers of groups by the hashes of their ids; nil if there are none, as in most documents.
    private var table: NameTable?

    package var count: Int { ids.count }

    package init() {}

    @inline(__always)
    mutating func append(_ group: Int) { ofRow.append(UInt32(truncatingIfNeeded: group)) }

    /// The number of a group; nil if no row belongs to it. O(bytes).
    package func number(of text: UnsafeRawBufferPointer) -> Int? {
        table?.first(UInt64(idHash(text.baseAddress!, text.count))) { withText(of: $0) { $0.hasSameBytes(as: text) } }
    }

    /// Adds a new group; returns its number.
    mutating func insert(_ text: UnsafeRawBufferPointer, _ id: FoundID, at ordinal: Int) -> Int {
        var table = exchange(&self.table, with: nil) ?? NameTable(0)
        _ = table.insert(UInt64(idHash(text.baseAddress!, text.count)), ids.count)
        self.table = table
        ids.append(id)
        starts.append(ordinal)
        texts.append(contentsOf: text)
        ends.append(texts.count)
        return ids.count - 1
    }

    /// The same for an id that is not in a document.
    package mutating func insert(_ text: UnsafeRawBufferPointer) -> Int {
        insert(text, FoundID(start: 0, count: text.count, flags: []), at: count)
    }

    /// Notes that a group has a row at an ordinal, with its id written as in `id`.
    mutating func note(_ group: Int, _ id: FoundID, at ordinal: Int) {
        if ordinal < starts[group] { (ids[group], starts[group]) = (id, ordinal) }
    }

    package func text(of group: Int) -> [UInt8] { withText(of: group) { Array($0) } }

    /// Calls `body` with the text of a group's id.
    @inline(__always)
    package func withText<Result>(of group: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let range = (group == 0 ? 0 : ends[group - 1])..<ends[group]
        return texts.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// The same without groups that no row belongs to, in the order of their first rows. O(rows).
    package var withoutUnused: RowGroups {
        var used = RowGroups()
        used.ofRow.reserveCapacity(ofRow.count)
        for group in ofRow {
            used.append(
                withText(of: Int(group)) { used.number(of: $0) ?? used.insert($0, ids[Int(group)], at: used.count) })
        }
        return used
    }

    /// Memory held, in bytes.
    package var footprint: Int {
        ofRow.capacity * 4 + (table?.footprint ?? 0) + ids.capacity * MemoryLayout<FoundID>.stride + texts.capacity
            + (starts.capacity + ends.capacity) * MemoryLayout<Int>.stride
    }

    /// The groups of all rows, including those taken over, by the sections that these are in. O(items).
    ///
    /// - Parameter order: the items of the columns, in the document's order.
    func all(in columns: Columns, _ order: [UInt32], _ sectionOfGroup: [UInt32]) -> RowGroups {
        var (all, groupOfSection) = (self, [UInt32](filled: 0, count: columns.sections.count))
        for (group, section) in sectionOfGroup.enumerated() {
            groupOfSection[Int(section)] = UInt32(truncatingIfNeeded: group)
        }
        all.ofRow = order.lazy.map { columns.nodes[Int($0)] }.filter { $0.level == 0 }
            .map { groupOfSection[Int($0.section)] }
        return all
    }

    /// The groups of the rows among some items of a document, in ascending order. O(items).
    func keeping(_ items: [UInt32], of document: ColumnsView) -> RowGroups {
        var kept = self
        kept.ofRow = []
        var (next, row, item) = (0, 0, 0)
        while item < document.nodes.count {
            while next < items.count, Int(items[next]) < item { next += 1 }
            if next < items.count, Int(items[next]) == item { kept.ofRow.append(ofRow[row]) }
            (row, item) = (row + 1, Int(document.nodes[item].end))
        }
        return kept.withoutUnused
    }
}

/// Rows that a document with groups has in common with a known state; they have no children. Their runs are
/// `StateParser.sharedRuns`, by ordinals in both documents.
struct TakenRows: Sendable {
    /// How much further on the text of each run is.
    var shifts: [UInt32] = []
    var count = 0
    /// For each section of the known state, as far as needed: the group of its rows, below zero if not known, and how
    /// many of them were taken over.
    var sections: [(group: Int32, count: UInt32)] = []
}

extension UnsafeRawBufferPointer {
    /// The first Unicode scalars of UTF-8 text, at most this many. O(result).
    package func prefix(ofScalars most: Int) -> Slice<UnsafeRawBufferPointer> {
        if count <= most { return self[...] }
        // All but the first byte of a scalar begin with the bits 10.
        let scalars = indices.lazy.filter { self[$0] & 0xC0 != 0x80 }
        return self[..<(scalars.dropFirst(most).first ?? count)]
    }
}
