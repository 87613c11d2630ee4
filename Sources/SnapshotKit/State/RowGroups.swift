// Sections out of flat rows. A document with a place for groups is read as one list, in the document's order; which
// group each row belongs to is noted beside it. Only then are the rows put into sections, by counting: rows of one
// section keep their order, and nothing is compared. So all that reading does (violations, skipped elements, the
// comparison with a known state) knows nothing of groups.
//
// A state remembers the document's order if that is another one (`Columns.documentOrder`), since the next document most
// likely resembles this one: `KnownState` walks through it in that order. Rows that are taken over from there stay
// where they are until their places are known (`TakenRows`), so each is copied once; and they are in the group that
// they were in, so a group's value is read once for each section, and not once for each row.

/// The groups of a document's rows, each with a number in the order of its first row.
package struct RowGroups: Sendable {
    /// The id of each group.
    private(set) var ids: [FoundID] = []
    /// The group of each row that was read, in the document's order.
    package var ofRow: [UInt32] = []
    private var texts: [[UInt8]] = []
    private var hashes: [UInt32] = []
    /// Numbers of groups plus one, by hash, with linear probing; a power of two, and at most half are in use.
    private var slots = [UInt32](filled: 0, count: 16)

    package var count: Int { ids.count }

    package init() {}

    /// Notes the group of the next row.
    @inline(__always)
    mutating func append(_ group: Int) { ofRow.append(UInt32(truncatingIfNeeded: group)) }

    /// The number of a group; nil if no row belongs to it. O(bytes).
    package func number(of text: UnsafeRawBufferPointer) -> Int? {
        if let last = ofRow.last, Int(last) < count, texts[Int(last)].hasSameBytes(as: text) { return Int(last) }
        let hash = idHash(text.baseAddress!, text.count)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let group = Int(slots[slot] - 1)
            if hashes[group] == hash, texts[group].hasSameBytes(as: text) { return group }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a group that there is not yet; returns its number.
    mutating func insert(_ text: UnsafeRawBufferPointer, _ id: FoundID) -> Int {
        ids.append(id)
        texts.append(Array(text))
        hashes.append(idHash(text.baseAddress!, text.count))
        if 2 * ids.count > slots.count {
            slots = [UInt32](filled: 0, count: 2 * slots.count)
            for group in hashes.indices { place(group) }
        } else {
            place(ids.count - 1)
        }
        return ids.count - 1
    }

    /// The same, of an id that is not in a document.
    package mutating func insert(_ text: UnsafeRawBufferPointer) -> Int {
        insert(text, FoundID(start: 0, count: text.count, flags: []))
    }

    private mutating func place(_ group: Int) {
        var slot = Int(hashes[group]) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(truncatingIfNeeded: group + 1)
    }

    /// The text of a group's id.
    package func text(of group: Int) -> [UInt8] { texts[group] }

    /// The same without groups that no row belongs to, in the order of their first rows. O(rows).
    package var withoutUnused: RowGroups {
        var used = RowGroups()
        used.ofRow.reserveCapacity(ofRow.count)
        for group in ofRow {
            let number = texts[Int(group)].withUnsafeBytes { used.number(of: $0) ?? used.insert($0, ids[Int(group)]) }
            used.append(number)
        }
        return used
    }

    /// Memory held, in bytes.
    package var footprint: Int {
        (ofRow.capacity + slots.capacity + hashes.capacity) * 4 + ids.capacity * MemoryLayout<FoundID>.stride
            + texts.reduce(0) { $0 + $1.capacity + 48 }
    }
}

extension [UInt8] {
    @inline(__always)
    fileprivate func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
        withUnsafeBytes { $0.hasSameBytes(as: other) }
    }
}

/// Rows that a document with groups has in common with a known state; they have no children. The runs of them are
/// `StateParser.reusedRuns`, by places in both documents.
struct TakenRows: Sendable {
    /// How much further on the text of each run is.
    var shifts: [UInt32] = []
    /// The number of all.
    var count = 0
    /// For each section of the known state, as far as they are needed: the group of its rows, below zero if that is not
    /// known, and how many of them were taken over.
    var sections: [(group: Int32, count: UInt32)] = []
}

// MARK: - Putting rows into sections

extension ColumnsBuilder {
    /// Begins the sections of groups that the document does not list, in the order of their first rows, and notes in
    /// `sectionOfGroup` where each group goes. O(sections).
    ///
    /// - Parameters:
    ///   - text: of the document, and what is stored behind it.
    ///   - known: the state in which sections are collapsed that are to stay so, unless the document lists them.
    mutating func beginSections(of groups: RowGroups, in text: TextView, keepingExpandedOf known: Columns?) {
        sectionOfGroup = [UInt32](filled: .max, count: groups.count)
        for section in sections.indices.reversed() where sections[section].idCount > 0 {
            let id = text.bytes(at: sections[section].idStart, Int(sections[section].idCount))
            if let group = groups.number(of: id) { sectionOfGroup[group] = UInt32(truncatingIfNeeded: section) }
        }
        for group in 0..<groups.count where sectionOfGroup[group] == .max {
            beginSection()
            setID(ofSection: openSection, groups.ids[group])
            sectionOfGroup[group] = UInt32(truncatingIfNeeded: openSection)
            if let known, known.isCollapsed(section: groups.text(of: group)) { collapse(.section(openSection)) }
        }
    }

    /// Puts the items, which are in the document's order, and those that were taken over, into the sections of their
    /// groups. O(items).
    ///
    /// - Parameters:
    ///   - known: the state that rows were taken over from.
    ///   - documents: the runs of these, by their places in both documents.
    /// - Returns: the runs of the same rows as items of both states.
    mutating func arrange(
        by groups: RowGroups, with taken: TakenRows, of known: ColumnsView, _ documents: [Kinship.Run]
    ) -> [Kinship.Run] {
        var next = [UInt32](filled: 0, count: sections.count)
        forEachRow(of: groups) { section, items in next[section] += UInt32(truncatingIfNeeded: items.count) }
        for section in taken.sections where section.count > 0 {
            next[Int(sectionOfGroup[Int(section.group)])] += section.count
        }
        var start: UInt32 = 0
        for section in sections.indices {
            (sections[section].firstItem, sections[section].endItem) = (start, start + next[section])
            (next[section], start) = (start, start + next[section])
        }
        var placement = Placement(
            self, next, taken, known, sectionOfGroup: sectionOfGroup, count: nodes.count + taken.count)
        var run = 0
        forEachRow(of: groups) { section, items in
            while run < documents.count, documents[run].new == placement.count {
                placement.append(documents[run], shiftedBy: taken.shifts[run])
                run += 1
            }
            placement.append(items, to: section)
        }
        while run < documents.count {
            placement.append(documents[run], shiftedBy: taken.shifts[run])
            run += 1
        }
        let runs = placement.runs
        (nodes, payloads) = placement.records()
        if taken.count > 0 { showsAnything = true }
        if placement.flags.contains(.isCollapsed) { hasCollapsed = true }
        if placement.flags.contains(.escapedID) { isFlat = false }
        // Without it, later documents are read as if nothing was known.
        if !placement.isInOrder, place.shape.places?.element.isInPlace == true { documentOrder = placement.order }
        return runs
    }

    /// Calls `body` with each item of the top level: the section that it goes into, and the range of it and what is
    /// below it.
    @inline(__always)
    private func forEachRow(of groups: RowGroups, _ body: (_ section: Int, _ items: Range<Int>) -> Void) {
        var (row, item) = (0, 0)
        while item < nodes.count {
            let end = Int(nodes[item].end)
            body(Int(sectionOfGroup[Int(groups.ofRow[row])]), item..<end)
            (row, item) = (row + 1, end)
        }
    }
}

/// Puts the items of a document into their sections, one after the other.
private struct Placement: ~Copyable {
    /// How many were placed.
    private(set) var count = 0
    private(set) var isInOrder = true
    /// Those that any item taken over has.
    private(set) var flags: NodeFlags = []
    private let builder: ColumnsBuilder
    private let known: ColumnsView
    private let total: Int
    private let nodes: UnsafeMutablePointer<Node>
    private let payloads: UnsafeMutablePointer<Payload>
    /// The place of each item in the order of the document.
    private let places: UnsafeMutablePointer<UInt32>
    /// The known state's item at each place; -1 if it was not taken over.
    private let partners: UnsafeMutablePointer<Int32>
    /// Where the next item of each section goes, and the section here of each one of the known state.
    private var next: [UInt32]
    private let sectionOfKnown: [UInt32]

    init(
        _ builder: ColumnsBuilder, _ next: [UInt32], _ taken: TakenRows, _ known: ColumnsView,
        sectionOfGroup: [UInt32], count: Int
    ) {
        (self.builder, self.next, self.known, total) = (builder, next, known, count)
        sectionOfKnown = taken.sections.map { $0.group < 0 ? 0 : sectionOfGroup[Int($0.group)] }
        (nodes, payloads) = (.allocate(capacity: count), .allocate(capacity: count))
        (places, partners) = (.allocate(capacity: count), .allocate(capacity: count))
        partners.initialize(repeating: -1, count: count)
    }

    deinit {
        nodes.deallocate()
        payloads.deallocate()
        places.deallocate()
        partners.deallocate()
    }

    /// Places an item that was read, and what is below it.
    mutating func append(_ items: Range<Int>, to section: Int) {
        let first = Int(next[section])
        next[section] += UInt32(truncatingIfNeeded: items.count)
        isInOrder = isInOrder && first == count
        let shift = first - items.lowerBound
        for item in items {
            var node = builder.nodes[item]
            node.section = UInt32(truncatingIfNeeded: section)
            node.end &+= UInt32(truncatingIfNeeded: shift)
            if node.parent >= 0 { node.parent &+= Int32(truncatingIfNeeded: shift) }
            (nodes + item + shift).initialize(to: node)
            (payloads + item + shift).initialize(to: builder.payloads[item])
            (places + count).initialize(to: UInt32(truncatingIfNeeded: item + shift))
            count += 1
        }
    }

    /// Places rows of the known state. The time for a document that changed little is spent here.
    mutating func append(_ run: Kinship.Run, shiftedBy shift: UInt32) {
        let (nodes, payloads, places, partners) = (nodes, payloads, places + count, partners)
        let (known, first) = (known, UInt32(truncatingIfNeeded: count))
        var (flags, isInOrder) = (self.flags, self.isInOrder)
        known.columns.documentOrder.withUnsafeBufferPointer { order in
            sectionOfKnown.withUnsafeBufferPointer { sectionOfKnown in
                next.withUnsafeMutableBufferPointer { next in
                    for index in 0..<run.count {
                        let item = order.isEmpty ? run.old + index : Int(order[run.old + index])
                        var (node, payload) = (known.nodes[item], known.payloads[item])
                        node.section = sectionOfKnown[Int(node.section)]
                        let place = next[Int(node.section)]
                        next[Int(node.section)] = place + 1
                        node.end = place + 1
                        node.idStart &+= shift
                        node.flags.remove(.isHidden)
                        flags.formUnion(node.flags)
                        payload.shift(by: shift, node.flags)
                        (nodes + Int(place)).initialize(to: node)
                        (payloads + Int(place)).initialize(to: payload)
                        (places + index).initialize(to: place)
                        partners[Int(place)] = Int32(truncatingIfNeeded: item)
                        isInOrder = isInOrder && place == first + UInt32(truncatingIfNeeded: index)
                    }
                }
            }
        }
        (self.flags, self.isInOrder) = (flags, isInOrder)
        count += run.count
    }

    /// The place of each item in the order of the document.
    var order: [UInt32] { Array(UnsafeBufferPointer(start: places, count: total)) }

    func records() -> ([Node], [Payload]) {
        (
            Array(UnsafeBufferPointer(start: nodes, count: total)),
            Array(UnsafeBufferPointer(start: payloads, count: total))
        )
    }

    /// What was taken over, as runs of items of both states.
    var runs: [Kinship.Run] {
        var (runs, item) = ([Kinship.Run](), 0)
        while item < total {
            let first = item
            item += 1
            if partners[first] < 0 { continue }
            while item < total, partners[item] == partners[item - 1] + 1 { item += 1 }
            runs.append(Kinship.Run(old: Int(partners[first]), new: first, count: item - first))
        }
        return runs
    }
}

extension Columns {
    fileprivate func isCollapsed(section id: [UInt8]) -> Bool {
        id.withUnsafeBytes { section(withID: $0) }.map { sections[$0].flags.contains(.isCollapsed) } ?? false
    }
}

// MARK: - The document's order
//
// What is wrong with a document, and what is left out of it, is told in its own order, of the rows that were read and
// those that were taken over. That is rare, and so built only then.

extension ColumnsBuilder {
    /// Some items of a document that was read, in ascending order, each with its ancestors. O(items).
    ///
    /// - Parameter sections: those that hold them; if they hold none, the items are a list of their own.
    init(of document: ColumnsView, _ items: [UInt32], in sections: [SectionNode]) {
        self.init()
        (nodes, payloads) = (items.map { document.nodes[Int($0)] }, items.map { document.payload(ofItem: Int($0)) })
        self.sections = sections
        list = document.columns.list
        (hasCollapsed, showsAnything) = (document.columns.hasCollapsed, !document.payloads.isEmpty)
        isFlat = false
        let isApart = sections.last.map { $0.endItem == 0 } ?? true
        let lists = isApart ? [SectionNode().holding(0..<nodes.count)] : sections
        ColumnsAssembly.outline(&nodes, lists, from: 0)
    }

    /// All rows of a document with groups as one list, without looking at sections. O(items).
    func inDocumentOrder(with taken: TakenRows, of known: ColumnsView, _ runs: [Kinship.Run]) -> ColumnsBuilder {
        var all = self
        (all.nodes, all.payloads) = ([], [])
        var read = 0
        let take = { (items: Range<Int>) in
            let shift = all.nodes.count - items.lowerBound
            for item in items {
                var node = nodes[item]
                (node.section, node.end) = (0, node.end &+ UInt32(truncatingIfNeeded: shift))
                if node.parent >= 0 { node.parent &+= Int32(truncatingIfNeeded: shift) }
                all.nodes.append(node)
                all.payloads.append(payloads[item])
            }
            read = items.upperBound
        }
        for (run, shift) in zip(runs, taken.shifts) {
            take(read..<read + run.new - all.nodes.count)
            for place in run.old..<run.old + run.count {
                let item = known.columns.item(atDocumentPlace: place)
                var (node, payload) = (known.nodes[item], known.payloads[item])
                node.idStart &+= shift
                node.flags.remove(.isHidden)
                (node.section, node.end) = (0, UInt32(truncatingIfNeeded: all.nodes.count + 1))
                payload.shift(by: shift, node.flags)
                all.nodes.append(node)
                all.payloads.append(payload)
            }
        }
        take(read..<nodes.count)
        all.showsAnything = true
        return all
    }

    /// Sets the order of the document again, in which each item's content is its element. O(n log n).
    mutating func setDocumentOrder() {
        let starts = payloads.map(\.contentStart)
        documentOrder = starts.indices.map { UInt32(truncatingIfNeeded: $0) }
            .sorted { starts[Int($0)] < starts[Int($1)] }
    }
}

extension RowGroups {
    /// The groups of all rows, also those that were taken over. O(rows).
    func all(with taken: TakenRows, _ runs: [Kinship.Run], of known: Columns?) -> RowGroups {
        guard let known, taken.count > 0 else { return self }
        var all = self
        all.ofRow = []
        var read = 0
        for run in runs {
            let count = run.new - all.ofRow.count
            all.ofRow += ofRow[read..<read + count]
            read += count
            for place in run.old..<run.old + run.count {
                let section = known.nodes[known.item(atDocumentPlace: place)].section
                all.append(Int(taken.sections[Int(section)].group))
            }
        }
        all.ofRow += ofRow[read...]
        return all
    }

    /// The groups of those rows that are among some items of a document, in ascending order. O(items).
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

extension Columns {
    /// The item that stood at a place among the items of the document that was read.
    @inline(__always)
    func item(atDocumentPlace place: Int) -> Int { documentOrder.isEmpty ? place : Int(documentOrder[place]) }
}

// MARK: - Reading groups

extension StateParser {
    /// Takes the value that tells a row's group; returns the group's number, or nil, with a violation noted, if the
    /// value can be no id.
    mutating func readGroup(_ element: StateShape.Element, depth: Int) throws(JSONError) -> Int? {
        if try takeNull() { return groupOfNone() }
        let start = scanner.at
        switch scanner.byte(start) {
        case UInt8(ascii: "\""):
            let token = try scanner.takeString()
            if token.isEscaped {
                let text = Array(StringText(scanner.base + token.start, token.count))
                return text.withUnsafeBytes { group(of: $0, element.groupPrefix, nil) }
            }
            let text = scanner.text(token.start..<token.start + token.count)
            return group(of: text, element.groupPrefix, FoundID(start: token.start, count: token.count, flags: []))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if try scanner.takeNumber() {
                let text = scanner.text(start..<scanner.at)
                return group(
                    of: text, element.groupPrefix, FoundID(start: start, count: text.count, flags: .integerID))
            }
        default: try scanner.skipValue(depth: depth)
        }
        refuseGroup()
        return nil
    }

    mutating func refuseGroup() {
        note("invalid-group", "what a row is grouped by must be a string or an integer that can be an id", at: .group)
    }

    /// The group of the rows without one.
    mutating func groupOfNone() -> Int { Array("none".utf8).withUnsafeBytes { group(of: $0, nil, nil) } ?? 0 }

    /// The group of a text, or of its first scalars.
    ///
    /// - Parameter whole: where the text is in the document, if that is written as it is.
    private mutating func group(of text: UnsafeRawBufferPointer, _ prefix: Int?, _ whole: FoundID?) -> Int? {
        if text.isEmpty { return groupOfNone() }
        let id = UnsafeRawBufferPointer(rebasing: text.prefix(ofScalars: prefix ?? text.count))
        if let number = groups.number(of: id) { return number }
        guard id.canBeID else {
            refuseGroup()
            return nil
        }
        guard groups.count < limits.maxSections else {
            exceed("sections", limit: limits.maxSections, actual: limits.maxSections + 1, at: .item(""))
            return nil
        }
        return groups.insert(id, whole.flatMap { id.count == text.count ? $0 : nil } ?? store.append(idText: id))
    }

    /// Takes rows over from the known state, whose text is `shift` bytes further on here: those of one section have one
    /// group, of which the first one tells the id. O(rows).
    mutating func take(_ run: KnownState.Run, shiftedBy shift: Int) throws(JSONError) {
        taken.shifts.append(UInt32(truncatingIfNeeded: shift))
        taken.count += run.places.count
        guard let known, let element = builder.place.shape.places?.element else { return }
        var place = run.places.lowerBound
        while true {
            place = known.count(from: place, to: run.places.upperBound, in: &taken)
            guard place < run.places.upperBound else { return }
            let section = known.section(ofRowAt: place)
            let start = section.element + shift
            let group: Int?
            if let id = section.id {
                let found = FoundID(start: start + id.offset, count: id.count, flags: id.flags)
                let text = scanner.text(found.start..<found.start + found.count)
                group = groups.number(of: text) ?? groups.insert(text, found)
            } else {
                group = try readGroup(inElementAt: start, element)
            }
            if taken.sections.count <= section.index {
                let unknown = repeatElement((group: Int32(-1), count: UInt32(0)), count: section.index + 1)
                taken.sections += unknown.dropFirst(taken.sections.count)
            }
            taken.sections[section.index].group = Int32(truncatingIfNeeded: group ?? groupOfNone())
        }
    }

    private mutating func readGroup(
        inElementAt start: Int, _ element: StateShape.Element
    ) throws(JSONError) -> Int? {
        guard let value = groupPlace.value(in: scanner.base + start, entersArrays: true) else { return nil }
        let end = scanner.at
        scanner.at = value - scanner.base
        let group = try readGroup(element, depth: 0)
        scanner.at = end
        return group
    }
}

extension UnsafeRawBufferPointer {
    /// Whether a text can be an id.
    package var canBeID: Bool { !isEmpty && count <= StateLimits.maxIDBytes && !holdsControlCharacter }

    /// The first so many Unicode scalars of UTF-8 text. O(result).
    package func prefix(ofScalars most: Int) -> Slice<UnsafeRawBufferPointer> {
        if count <= most { return self[...] }
        var (end, scalars) = (0, 0)
        while end < count {
            // All but a scalar's first byte begin with the bits 10.
            if self[end] & 0xC0 != 0x80 {
                if scalars == most { break }
                scalars += 1
            }
            end += 1
        }
        return self[..<end]
    }
}
