// Sections out of flat rows. A document with a place for groups is read as one list, in the document's order; which
// group each row belongs to is noted beside it. Only then are the rows put into sections, by counting: rows of one
// section keep their order, and nothing is compared. So all that reading does (violations, skipped elements, the
// comparison with a known state) knows nothing of groups.
//
// A state remembers the document's order if that is another one (`Columns.documentOrder`), since the next document most
// likely resembles this one: `KnownState` walks through it in that order. Rows that are taken over from there stay
// where they are until their places are known (`TakenRows`), so each is copied once; and they are in the group that
// they were in, so a group's value is read once for each section, and not once for each row. If a document has the same
// rows in the same groups, which is most common, not even that: its records are those of the known state, with other
// offsets (`arrangeAsKnown`).

/// The groups of a document's rows, each with a number in the order of its first row.
package struct RowGroups: Sendable {
    /// The id of each group, and the place of its first row in the document.
    private(set) var ids: [FoundID] = []
    private(set) var starts: [Int] = []
    /// The group of each row that was read, in the document's order.
    package var ofRow: [UInt32] = []
    /// The texts of the ids, one after the other, and where each ends.
    private var texts: [UInt8] = []
    private var ends: [Int] = []
    private var hashes: [UInt32] = []
    /// Numbers of groups plus one, by hash, with linear probing; a power of two, and at most half are in use.
    private var slots: [UInt32] = []

    package var count: Int { ids.count }

    package init() {}

    /// Notes the group of the next row.
    @inline(__always)
    mutating func append(_ group: Int) { ofRow.append(UInt32(truncatingIfNeeded: group)) }

    /// The number of a group; nil if no row belongs to it. O(bytes).
    package func number(of text: UnsafeRawBufferPointer) -> Int? {
        if let last = ofRow.last, Int(last) < count, hasText(Int(last), text) { return Int(last) }
        if slots.isEmpty { return nil }
        let hash = idHash(text.baseAddress!, text.count)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let group = Int(slots[slot] - 1)
            if hashes[group] == hash, hasText(group, text) { return group }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    @inline(__always)
    private func hasText(_ group: Int, _ text: UnsafeRawBufferPointer) -> Bool {
        let place = place(ofText: group)
        return place.count == text.count
            && texts.withUnsafeBytes {
                compareBytes($0.baseAddress! + place.lowerBound, text.baseAddress!, text.count) == 0
            }
    }

    @inline(__always)
    private func place(ofText group: Int) -> Range<Int> { (group == 0 ? 0 : ends[group - 1])..<ends[group] }

    /// Adds a group that there is not yet; returns its number.
    mutating func insert(_ text: UnsafeRawBufferPointer, _ id: FoundID, at place: Int) -> Int {
        ids.append(id)
        starts.append(place)
        texts.append(contentsOf: text)
        ends.append(texts.count)
        hashes.append(idHash(text.baseAddress!, text.count))
        if 2 * ids.count > slots.count {
            slots = [UInt32](filled: 0, count: max(16, 2 * slots.count))
            for group in hashes.indices { fill(group) }
        } else {
            fill(ids.count - 1)
        }
        return ids.count - 1
    }

    /// The same, of an id that is not in a document.
    package mutating func insert(_ text: UnsafeRawBufferPointer) -> Int {
        insert(text, FoundID(start: 0, count: text.count, flags: []), at: count)
    }

    /// Notes that a group has a row at a place, where its id is written so.
    mutating func note(_ group: Int, _ id: FoundID, at place: Int) {
        if place < starts[group] { (ids[group], starts[group]) = (id, place) }
    }

    private mutating func fill(_ group: Int) {
        var slot = Int(hashes[group]) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(truncatingIfNeeded: group + 1)
    }

    /// The text of a group's id.
    package func text(of group: Int) -> [UInt8] { Array(texts[place(ofText: group)]) }

    /// Calls `body` with the text of a group's id.
    package func withText<Result>(of group: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        texts.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[place(ofText: group)])) }
    }

    /// The same without groups that no row belongs to, in the order of their first rows. O(rows).
    package var withoutUnused: RowGroups {
        var used = RowGroups()
        used.ofRow.reserveCapacity(ofRow.count)
        for group in ofRow {
            let number = text(of: Int(group)).withUnsafeBytes {
                used.number(of: $0) ?? used.insert($0, ids[Int(group)], at: used.count)
            }
            used.append(number)
        }
        return used
    }

    /// Memory held, in bytes.
    package var footprint: Int {
        (ofRow.capacity + slots.capacity + hashes.capacity) * 4 + ids.capacity * MemoryLayout<FoundID>.stride
            + texts.capacity + (starts.capacity + ends.capacity) * MemoryLayout<Int>.stride
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
        for group in groups.starts.indices.sorted(by: { groups.starts[$0] < groups.starts[$1] })
        where sectionOfGroup[group] == .max {
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
        // An array of no elements made this way would write to the one that all threads share.
        let count = nodes.count + taken.count
        guard count > 0 else { return [] }
        let sectionOfKnown = taken.sections.map { $0.group < 0 ? 0 : sectionOfGroup[Int($0.group)] }
        var placement = Placement(next, sectionOfKnown: sectionOfKnown)
        var (placed, shown) = ([Node](), [Payload]())
        var partners = [Int32](filled: -1, count: count)
        let order = [UInt32](unsafeUninitializedCapacity: count) { order, used in
            placed = Array(unsafeUninitializedCapacity: count) { nodes, used in
                shown = Array(unsafeUninitializedCapacity: count) { payloads, used in
                    partners.withUnsafeMutableBufferPointer { partners in
                        let memory = Placement.Memory(
                            nodes: nodes.baseAddress!, payloads: payloads.baseAddress!, order: order.baseAddress!,
                            partners: partners.baseAddress!)
                        place(documents, by: groups, taken, known, with: &placement, into: memory)
                    }
                    used = count
                }
                used = count
            }
            used = count
        }
        (nodes, payloads) = (placed, shown)
        if taken.count > 0 { showsAnything = true }
        if placement.flags.contains(.isCollapsed) { hasCollapsed = true }
        if placement.flags.contains(.escapedID) { isFlat = false }
        // Without it, later documents are read as if nothing was known.
        if !placement.isInOrder, self.place.shape.places?.element.isInPlace == true { documentOrder = order }
        return taken.count == 0 ? [] : Placement.runs(partners)
    }

    /// Places the rows that were read, and those that were taken over, in the order of the document.
    private func place(
        _ runs: [Kinship.Run], by groups: RowGroups, _ taken: TakenRows, _ known: ColumnsView,
        with placement: inout Placement, into memory: Placement.Memory
    ) {
        var run = 0
        forEachRow(of: groups) { section, items in
            while run < runs.count, runs[run].new == placement.count {
                placement.append(runs[run], of: known, shiftedBy: taken.shifts[run], into: memory)
                run += 1
            }
            placement.append(items, of: self, to: section, into: memory)
        }
        while run < runs.count {
            placement.append(runs[run], of: known, shiftedBy: taken.shifts[run], into: memory)
            run += 1
        }
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
private struct Placement {
    /// Where items go, what they show, the place of each in the order of the document, and the known state's item at
    /// each place, or -1.
    struct Memory {
        let nodes: UnsafeMutablePointer<Node>
        let payloads: UnsafeMutablePointer<Payload>
        let order: UnsafeMutablePointer<UInt32>
        let partners: UnsafeMutablePointer<Int32>
    }

    /// How many were placed.
    private(set) var count = 0
    private(set) var isInOrder = true
    /// Those that any item taken over has.
    private(set) var flags: NodeFlags = []
    /// Where the next item of each section goes, and the section here of each one of the known state.
    private var next: [UInt32]
    private let sectionOfKnown: [UInt32]

    init(_ next: [UInt32], sectionOfKnown: [UInt32]) { (self.next, self.sectionOfKnown) = (next, sectionOfKnown) }

    /// Places an item that was read, and what is below it.
    mutating func append(_ items: Range<Int>, of builder: ColumnsBuilder, to section: Int, into memory: Memory) {
        let shift = Int(next[section]) - items.lowerBound
        next[section] += UInt32(truncatingIfNeeded: items.count)
        isInOrder = isInOrder && items.lowerBound + shift == count
        for item in items {
            var node = builder.nodes[item]
            node.section = UInt32(truncatingIfNeeded: section)
            node.end &+= UInt32(truncatingIfNeeded: shift)
            if node.parent >= 0 { node.parent &+= Int32(truncatingIfNeeded: shift) }
            (memory.nodes + item + shift).initialize(to: node)
            (memory.payloads + item + shift).initialize(to: builder.payloads[item])
            (memory.order + count).initialize(to: UInt32(truncatingIfNeeded: item + shift))
            count += 1
        }
    }

    /// Places rows of the known state. Where a document changed little, this is most of the work; so records are moved
    /// as words.
    mutating func append(_ run: Kinship.Run, of known: ColumnsView, shiftedBy shift: UInt32, into memory: Memory) {
        let (nodes, payloads, first) = (known.nodes.baseAddress!, known.payloads.baseAddress!, count)
        let (placed, shown, partners) = (memory.nodes, memory.payloads, memory.partners)
        let places = memory.order + first
        let hasKind = UInt64(NodeFlags.hasKind.rawValue) << 56
        var (flags, moved) = (UInt64(0), UInt32(0))
        known.columns.documentOrder.withUnsafeBufferPointer { order in
            sectionOfKnown.withUnsafeBufferPointer { sections in
                next.withUnsafeMutableBufferPointer { next in
                    let (sections, next) = (sections.baseAddress!, next.baseAddress!)
                    let order = order.isEmpty ? nil : order.baseAddress! + run.old
                    for index in 0..<run.count {
                        let item = order.map { Int($0[index]) } ?? run.old + index
                        let words = Node.words(nodes + item)
                        let section = Int(sections[Int(words.1 >> 32)])
                        let place = next[section]
                        next[section] = place &+ 1
                        flags |= words.0
                        Node.initialize(
                            placed + Int(place), from: words, section: UInt32(truncatingIfNeeded: section),
                            end: place &+ 1, shiftedBy: shift)
                        var payload = payloads[item]
                        payload.contentStart &+= shift
                        payload.kindStart &+= words.0 & hasKind != 0 ? shift : 0
                        (shown + Int(place)).initialize(to: payload)
                        places[index] = place
                        partners[Int(place)] = Int32(truncatingIfNeeded: item)
                        moved |= place ^ UInt32(truncatingIfNeeded: first &+ index)
                    }
                }
            }
        }
        self.flags.formUnion(NodeFlags(rawValue: UInt8(truncatingIfNeeded: flags >> 56)))
        isInOrder = isInOrder && moved == 0
        count += run.count
    }

    /// Items of two states as runs, given the item of the old one at each place of the new one, or -1.
    static func runs(_ partners: [Int32]) -> [Kinship.Run] {
        partners.withUnsafeBufferPointer { partners in
            var (runs, item) = ([Kinship.Run](), 0)
            while item < partners.count {
                let first = item
                item += 1
                if partners[first] < 0 { continue }
                while item < partners.count, partners[item] == partners[item - 1] &+ 1 { item += 1 }
                runs.append(Kinship.Run(old: Int(partners[first]), new: first, count: item - first))
            }
            return runs
        }
    }
}

extension Node {
    /// A node of the top level as it stands in memory: where its id is and its flags, its hash and section, its parent
    /// and end.
    @inline(__always)
    fileprivate static func words(_ node: UnsafePointer<Node>) -> (UInt64, UInt64) {
        let memory = UnsafeRawPointer(node)
        return (load64(memory), load64(memory + 8))
    }

    /// Writes these words as a visible node without children, with another section and end, and its id further on.
    @inline(__always)
    fileprivate static func initialize(
        _ node: UnsafeMutablePointer<Node>, from words: (UInt64, UInt64), section: UInt32, end: UInt32,
        shiftedBy shift: UInt32
    ) {
        let memory = UnsafeMutableRawPointer(node)
        let kept = ~(UInt64(NodeFlags.isHidden.rawValue) << 56 | 0xFFFF_FFFF)
        let idStart = UInt32(truncatingIfNeeded: words.0) &+ shift
        memory.storeBytes(of: words.0 & kept | UInt64(idStart), as: UInt64.self)
        memory.storeBytes(
            of: words.1 & 0xFFFF_FFFF | UInt64(section) << 32, toByteOffset: 8, as: UInt64.self)
        memory.storeBytes(of: 0xFFFF_FFFF | UInt64(end) << 32, toByteOffset: 16, as: UInt64.self)
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
        let place = groupedRow ?? itemCount - 1
        if let number = groups.number(of: id) {
            if place < groups.starts[number] {
                let found = whole.flatMap { id.count == text.count ? $0 : nil } ?? store.append(idText: id)
                groups.note(number, found, at: place)
            }
            return number
        }
        guard id.canBeID else {
            refuseGroup()
            return nil
        }
        // Rows that are left out make no sections: then these are counted at the end.
        guard groups.count < limits.maxSections || keepsFirst || skipsInvalid else {
            exceed(
                "sections", limit: limits.maxSections, actual: limits.maxSections + 1,
                at: groupedRow.map(Location.row) ?? .item(""))
            return nil
        }
        let found = whole.flatMap { id.count == text.count ? $0 : nil } ?? store.append(idText: id)
        return groups.insert(id, found, at: place)
    }

    /// Ends a document with groups: finds those of the rows that were taken over, unless all rows are in the places and
    /// groups that they were in.
    mutating func endGroups() throws(JSONError) {
        guard let known, taken.count > 0, let element = builder.place.shape.places?.element else { return }
        // Then its rows are in their sections, as those of a document without groups are.
        isArranged = arrangeAsKnown(known)
        if !isArranged { try findGroups(ofKnown: known, element) }
    }

    /// Finds the groups of rows that were taken over from the known state: those of one section have one group, of
    /// which the first one tells the id. O(rows).
    private mutating func findGroups(ofKnown known: KnownState, _ element: StateShape.Element) throws(JSONError) {
        defer { groupedRow = nil }
        for (run, shift) in zip(reusedRuns, taken.shifts) {
            var place = run.old
            while true {
                place = known.count(from: place, to: run.old + run.count, in: &taken)
                guard place < run.old + run.count else { break }
                let section = known.section(ofRowAt: place)
                groupedRow = place - run.old + run.new
                let group = try readGroup(inElementAt: section.element + Int(Int32(bitPattern: shift)), element)
                if taken.sections.count <= section.index {
                    let unknown = repeatElement((group: Int32(-1), count: UInt32(0)), count: section.index + 1)
                    taken.sections += unknown.dropFirst(taken.sections.count)
                }
                taken.sections[section.index].group = Int32(truncatingIfNeeded: group ?? groupOfNone())
            }
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

// MARK: - The same rows in the same groups

extension StateParser {
    /// Takes the records of the known state, if the rows of the document are its rows, in the same places, with the
    /// same ids, in the same groups: only what they show may differ, and the offsets of texts. O(rows that were read +
    /// sections · log items), and O(items) as memory.
    mutating func arrangeAsKnown(_ known: KnownState) -> Bool {
        guard builder.sections.isEmpty, skipped.isEmpty, itemCount == known.view.nodes.count,
            reusedRuns.allSatisfy(\.isInPlace), let firstPlaces = known.placesOfGroups,
            let items = itemsOfKnown(known)
        else { return false }
        let (view, read, rows) = (known.view, builder, Dictionary(uniqueKeysWithValues: zip(items, items.indices)))
        (builder.nodes, builder.payloads) = (Array(view.nodes), Array(view.payloads))
        builder.sections = Array(view.sections)
        for (index, place) in firstPlaces.enumerated() {
            let section = view.sections[index]
            builder.sections[index].flags.subtract([.integerID, .escapedID])
            builder.sections[index].setID(
                rows[Int(section.firstItem)].map { groups.ids[Int(groups.ofRow[$0])] }
                    ?? id(ofKnown: section, known.element(at: place), movedWith: place))
        }
        for (run, shift) in zip(reusedRuns, taken.shifts) where shift != 0 {
            known.order.withUnsafeBufferPointer { order in
                builder.shift(order.isEmpty ? nil : order.baseAddress! + run.old, run.old, run.count, by: shift)
            }
        }
        for (row, item) in items.enumerated() {
            var node = read.nodes[row]
            (node.section, node.end) = (view.nodes[item].section, view.nodes[item].end)
            (builder.nodes[item], builder.payloads[item]) = (node, read.payloads[row])
        }
        (builder.documentOrder, builder.showsAnything) = (known.order, true)
        reusedRuns = []
        var next = 0
        for item in items.sorted() + [view.nodes.count] {
            if item > next { reusedRuns.append(Kinship.Run(old: next, new: next, count: item - next)) }
            next = item + 1
        }
        return true
    }

    /// The known state's items of the rows that were read; nil if any has another id or another group.
    private func itemsOfKnown(_ known: KnownState) -> [Int]? {
        let view = known.view
        var (items, row) = ([Int](), 0)
        let areSame = reusedRuns.allOthers(of: view.nodes.count) { place in
            let (item, node) = (known.item(at: place), builder.nodes[row])
            let old = view.nodes[item]
            let id = scanner.base + Int(node.idStart)
            let group = groups.text(of: Int(groups.ofRow[row]))
            let section = view.text.bytes(ofID: view.sections[Int(old.section)])
            guard node.flags.isDisjoint(with: [.escapedID, .isCollapsed]), !old.flags.contains(.escapedID),
                node.isInteger == old.isInteger, node.idCount == old.idCount,
                sameBytes(id, view.text.at(old.idStart), Int(node.idCount)),
                group.withUnsafeBytes({ $0.hasSameBytes(as: section) })
            else { return false }
            items.append(item)
            row += 1
            return true
        }
        return areSame ? items : nil
    }

    /// The id of a section of the known state here, whose first row was taken over: in the row's element, or stored.
    private mutating func id(ofKnown section: SectionNode, _ element: Range<Int>, movedWith place: Int) -> FoundID {
        let flags = section.flags.intersection(.integerID)
        if element.contains(Int(section.idStart)), !section.flags.contains(.escapedID) {
            let run = reusedRuns.indices.partitionPoint { reusedRuns[$0].old + reusedRuns[$0].count <= place }
            let start = Int(section.idStart &+ taken.shifts[run])
            return FoundID(start: start, count: Int(section.idCount), flags: flags)
        }
        return store.append(idText: known!.view.text.bytes(ofID: section))
    }
}

extension ColumnsBuilder {
    /// Moves the texts of items on: of so many from one on, or in an order.
    fileprivate mutating func shift(
        _ order: UnsafePointer<UInt32>?, _ first: Int, _ count: Int, by shift: UInt32
    ) {
        nodes.withUnsafeMutableBufferPointer { nodes in
            payloads.withUnsafeMutableBufferPointer { payloads in
                for index in 0..<count {
                    let item = order.map { Int($0[index]) } ?? first + index
                    nodes[item].idStart &+= shift
                    payloads[item].shift(by: shift, nodes[item].flags)
                }
            }
        }
    }
}

extension KnownState {
    /// The places of the first rows of all sections, if these are the groups of the rows in their order, and nothing is
    /// collapsed; else nil.
    fileprivate var placesOfGroups: [Int]? {
        guard view.allVisible, !view.columns.hasCollapsed,
            view.sections.allSatisfy({ $0.firstItem < $0.endItem && !$0.flags.contains(.hasContent) })
        else { return nil }
        let places = view.sections.map { place(ofItem: Int($0.firstItem)) }
        return zip(places, places.dropFirst()).allSatisfy(<) ? places : nil
    }

    /// Where the element of the row at a place is.
    fileprivate func element(at place: Int) -> Range<Int> {
        let payload = view.payloads[item(at: place)]
        return Int(payload.contentStart)..<Int(payload.contentStart) + Int(payload.contentCount)
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
