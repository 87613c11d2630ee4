// Reading with the help of a known state: an item with the same text need not be read again. Comparing memory is ten
// times as fast as a strict scan, and the item's record exists already.
//
// Why this is safe: text is taken over from the start of an item to the start of a sibling behind it, or to the end of
// the last one, all as the scanner found them in the known document, and only if the new document is also at the start
// of an item of the top level, with as much depth left. The same bytes at the same point of the grammar mean the same.
// Ids are still checked for duplicates. Whatever differs, or does not begin with its id, is read as usual; so only the
// time depends on the known state. In a document with pointers the text of an item is its element.
//
// Items are numbered here by their ordinals in the known document, which differ from their ordinals in the state if
// rows were put into sections; then none are nested.

/// The state that a new document is compared with, and the position in it.
struct IncrementalParse {
    let view: ColumnsView
    /// See `Columns.documentOrder`.
    let order: [UInt32]
    /// The ordinal of the top-level item that most likely comes next; the number of items if none is left.
    private var next = 0
    /// The last comparison: how much further on the new text is, and the range in this one where the two are the same.
    /// Runs inside of that range need no further comparison.
    private var compared = (shift: 0, same: 0..<0)
    /// Whether the next id in the document is known to be none of this state's.
    private var isNew = false
    private let isFlat: Bool
    /// Whether an item's content is its whole element, with the id somewhere in it.
    private let hasElements: Bool
    /// Whether items without `expanded` keep that of this state.
    let keepsExpanded: Bool
    /// What elements without ids need to know of this state.
    let head: Boxed<ElementHead>?

    init(_ view: ColumnsView, keepsExpanded: Bool = false, head: Boxed<ElementHead>? = nil) {
        (self.view, order, isFlat) = (view, view.columns.documentOrder, view.columns.isFlat)
        hasElements = view.columns.settings.shape.mapping != nil
        (self.keepsExpanded, self.head) = (keepsExpanded, head)
    }

    /// Siblings, with everything nested in them, that both documents have.
    struct Run {
        /// Their ordinals in the known document, and where their text starts there.
        let ordinals: Range<Int>
        let start: Int
        /// Bytes up to the next sibling, which is not part of the run, or up to the end of the last one.
        let length: Int
        /// Whether the last sibling of its list is part of it.
        let reachesEnd: Bool
    }

    /// Whether a list may take items over: not if parts of them are stored behind the document or come from elsewhere.
    func fits(_ settings: ParseSettings) -> Bool {
        let ours = view.columns.settings
        return settings.room >= ours.room && settings.shape.hasElements(of: ours.shape) && !ours.hasStoredKinds
            && settings.shape.mapping?.element.isVerbatim != false && (!ours.hasKept || keepsExpanded)
    }

    /// Takes the items from the next one on whose text is also at `text`, which has `count` bytes left; at most `most`
    /// items, nested ones included. O(equal bytes).
    fileprivate mutating func takeRun(at text: UnsafeRawPointer, count: Int, most: Int, levels: Int) -> Run? {
        guard next < view.nodes.count, let start = start(of: next) else { return nil }
        let shift = Int(bitPattern: text) - Int(bitPattern: view.text.first + start)
        if compared.shift != shift || !compared.same.contains(start) {
            let length = commonPrefix(text, view.text.first + start, min(count, view.columns.text.bytes.count - start))
            compared = (shift, start..<start + length)
        }
        let reach = compared.same.isEmpty ? start : compared.same.upperBound
        let first = next
        let siblings = siblings(from: first, within: reach, most: most, levels: levels)
        var (end, siblingCount) = (siblings.end, siblings.count)
        let endItem = endItem(after: first)
        if siblings.areAll, endItem - first <= most, let stop = self.end(ofLast: end, within: reach) {
            next = endItem
            return Run(ordinals: first..<endItem, start: start, length: stop - start, reachesEnd: true)
        }
        // Both documents are at the same point of the grammar again only where the next sibling starts.
        while siblingCount > 0 {
            if let stop = self.start(of: end), stop <= reach {
                next = end
                return Run(ordinals: first..<end, start: start, length: stop - start, reachesEnd: false)
            }
            siblingCount -= 1
            repeat { end -= 1 } while node(at: end).level > 0
        }
        return nil
    }

    /// Moves to another item if it has the id of the item at `text`, which has `count` bytes left: so rows around a
    /// gap, and rows that moved, are not read again. Returns false if the next item is already the right one, or if the
    /// id needs a full parse. O(bytes before the id).
    fileprivate mutating func seek(_ text: UnsafeRawPointer, count: Int) -> Bool {
        // The text before an id is usually the same in all items.
        let like = min(next, view.nodes.count - 1)
        guard like >= 0, let start = start(of: like) else { return false }
        let node = node(at: like)
        let lead = Int(node.idStart) - start
        guard lead < count, sameBytes(text, view.text.first + start, lead),
            let id = Self.plainID(at: text + lead, isInteger: node.flags.contains(.integerID)),
            next > like || !hasID(like, id)
        else { return false }
        guard let item = view.item(withID: id), view.nodes[item].level == 0 else {
            isNew = true
            return false
        }
        next = ordinal(ofItem: item)
        return true
    }

    // MARK: Ordinals

    @inline(__always)
    func item(at ordinal: Int) -> Int { order.isEmpty ? ordinal : Int(order[ordinal]) }

    @inline(__always)
    private func node(at ordinal: Int) -> Node { view.nodes[item(at: ordinal)] }

    /// O(1), or O(log n) if the state has another order than its document.
    func ordinal(ofItem item: Int) -> Int {
        order.isEmpty
            ? item : order.indices.partitionPoint { self.order(ofItem: Int(order[$0])) < self.order(ofItem: item) }
    }

    /// The text of a short id. A number may be longer than this shows.
    @inline(__always)
    private static func plainID(at start: UnsafeRawPointer, isInteger: Bool) -> UnsafeRawBufferPointer? {
        var count = 0
        if isInteger {
            while count < 20, start.load(fromByteOffset: count, as: UInt8.self).isDigit { count += 1 }
        } else {
            var stops = stringStops(load64(start))
            while stops == 0, count < 64 {
                count += 8
                stops = stringStops(load64(start + count))
            }
            count += stops.trailingZeroBitCount / 8
            guard start.load(fromByteOffset: count, as: UInt8.self) == UInt8(ascii: "\"") else { return nil }
        }
        return count > 0 ? UnsafeRawBufferPointer(start: start, count: count) : nil
    }

    /// Ascends with the ordinal: the offset of the content if this is the element, else of the id.
    @inline(__always)
    private func order(ofItem item: Int) -> Int {
        Int(hasElements ? view.payloads[item].contentStart : view.nodes[item].idStart)
    }

    /// How many siblings, from one on, have their ids in the document and at most this many levels; the next one, which
    /// starts within the shared bytes; and whether it is the last of its list, and like them.
    @inline(__always)
    private func siblings(
        from first: Int, within reach: Int, most: Int, levels: Int
    ) -> (end: Int, count: Int, areAll: Bool) {
        let endItem = endItem(after: first)
        let limit = min(endItem, most >= view.nodes.count - first ? view.nodes.count : first + most + 1)
        if isFlat, levels > 0 {
            let end = (first + 1..<limit).partitionPoint { order(ofItem: item(at: $0)) <= reach } - 1
            return (end, end - first, end + 1 == endItem)
        }
        var (end, count, seen, checked) = (first, 0, 0, first)
        for index in first..<limit {
            let node = node(at: index)
            if node.level == 0 {
                guard order(ofItem: item(at: index)) <= reach else { break }
                (end, count, seen) = (index, seen, seen + 1)
            }
            if node.flags.contains(.escapedID) || Int(node.level) >= levels { break }
            checked = index + 1
        }
        return (end, count, checked == endItem)
    }

    private func endItem(after ordinal: Int) -> Int {
        order.isEmpty ? Int(view.sections[Int(view.nodes[ordinal].section)].endItem) : view.nodes.count
    }

    /// Where the text of the last item of a list ends, if both documents share all of it; nil for a number, which may
    /// continue in the new document. O(bytes after its content).
    private func end(ofLast ordinal: Int, within reach: Int) -> Int? {
        let item = item(at: ordinal)
        let (node, payload) = (view.nodes[item], view.payload(ofItem: item))
        let isInteger = node.flags.contains(.integerID)
        let known =
            node.flags.contains(.hasContent)
            ? Int(payload.contentStart) + Int(payload.contentCount)
            : Int(node.idStart) + Int(node.idCount) + (isInteger ? 0 : 1)
        guard known <= reach else { return nil }
        if hasElements { return byte(known - 1) == UInt8(ascii: "}") ? known : nil }
        if node.flags.contains(.isBare) { return isInteger ? nil : known }
        var cursor = JSONCursor(view.text.first + known)
        while cursor.takesComma() {
            _ = cursor.takeName()
            cursor.skipValue()
        }
        let end = cursor.at - view.text.first
        return end <= reach ? end : nil
    }

    /// Where an item's text starts: at its element, at the id itself, or at the brace before `"id":`; else nil.
    @inline(__always)
    private func start(of ordinal: Int) -> Int? {
        let item = item(at: ordinal)
        let node = view.nodes[item]
        if node.flags.contains(.escapedID) { return nil }
        if hasElements { return Int(view.payloads[item].contentStart) }
        let token = Int(node.idStart) - (node.flags.contains(.integerID) ? 0 : 1)
        if node.flags.contains(.isBare) { return token }
        // `{"id":` in one comparison, as compact writers write it.
        if token >= 6, load64(view.text.first + token - 6) & 0xFFFF_FFFF_FFFF == 0x3A22_6469_227B { return token - 6 }
        return spacedStart(before: token)
    }

    private func spacedStart(before token: Int) -> Int? {
        let colon = skipSpaceBack(token) - 1
        guard colon >= 0, byte(colon) == UInt8(ascii: ":") else { return nil }
        let name = skipSpaceBack(colon) - 4
        guard name > 0, load32(view.text.first + name) == 0x2264_6922 else { return nil }  // "id"
        let brace = skipSpaceBack(name) - 1
        return brace >= 0 && byte(brace) == UInt8(ascii: "{") ? brace : nil
    }

    private func byte(_ offset: Int) -> UInt8 { view.text.first.load(fromByteOffset: offset, as: UInt8.self) }

    private func skipSpaceBack(_ offset: Int) -> Int {
        var at = offset
        while at > 0, [0x20, 0x0A, 0x0D, 0x09].contains(byte(at - 1)) { at -= 1 }
        return at
    }

    /// Moves past an item that was read: what followed it most likely comes next.
    mutating func passed(_ node: Node, in text: UnsafeRawPointer) {
        defer { isNew = false }
        guard !isNew, node.idCount > 0, !node.flags.contains(.escapedID), !view.nodes.isEmpty else { return }
        let id = UnsafeRawBufferPointer(start: text + Int(node.idStart), count: Int(node.idCount))
        if next < view.nodes.count, hasID(next, id) {
            pass(next)
        } else if let item = view.item(withID: id), view.nodes[item].level == 0 {
            pass(ordinal(ofItem: item))
        }
    }

    /// Moves past an element without an id, or past the item that is its only equal here (-1: none).
    mutating func passed(equal item: Int) {
        next = min(item < 0 ? next : ordinal(ofItem: item), view.nodes.count - 1) + 1
    }

    private mutating func pass(_ ordinal: Int) {
        let item = item(at: ordinal)
        next = ordinal + Int(view.nodes[item].end) - item
    }

    @inline(__always)
    private func hasID(_ ordinal: Int, _ id: UnsafeRawBufferPointer) -> Bool {
        let node = node(at: ordinal)
        return Int(node.idCount) == id.count && sameBytes(view.text.at(node.idStart), id.baseAddress!, id.count)
    }

    /// Notes the sections of a run's rows while their groups are known; returns the first ordinal where one is not.
    func count(from ordinal: Int, to end: Int, in taken: inout TakenRows) -> Int {
        let nodes = view.nodes.baseAddress!
        return order.withUnsafeBufferPointer { order in
            taken.sections.withUnsafeMutableBufferPointer { sections in
                var ordinal = ordinal
                while ordinal < end {
                    let section = Int(nodes[order.isEmpty ? ordinal : Int(order[ordinal])].section)
                    guard section < sections.count, sections[section].group >= 0 else { break }
                    sections[section].count &+= 1
                    ordinal += 1
                }
                return ordinal
            }
        }
    }
}

extension StateParser {
    mutating func expect(_ known: consuming IncrementalParse) {
        if known.keepsExpanded, known.view.columns.hasCollapsed { mentioned = [] }
        builder.expect(items: min(known.view.nodes.count, scanner.end / 4))
        self.known = known
        sharedRuns.reserveCapacity(8)
    }

    /// Takes the items at the scanner that the known state has, too; returns whether that was the last one of the list.
    mutating func takesKnownItems() -> Bool {
        scanner.skipSpace()
        repeat {
            guard
                let run = known!.takeRun(
                    at: scanner.base + scanner.at, count: scanner.end - scanner.at,
                    most: limits.maxItems - itemCount, levels: limits.maxNesting)
            else { continue }  // What comes next may be elsewhere in the known state.
            let shift = scanner.at - run.start
            sharedRuns.append(SharedRuns.Run(old: run.ordinals.lowerBound, new: itemCount, count: run.ordinals.count))
            if groupPlace.isEmpty {
                let (nodes, payloads) = (known!.view.nodes, known!.view.payloads)
                builder.append(nodes[run.ordinals], payloads.isEmpty ? nil : payloads[run.ordinals], shiftedBy: shift)
            } else {
                taken.shifts.append(UInt32(truncatingIfNeeded: shift))
                taken.count += run.ordinals.count
            }
            scanner.at += run.length
            if run.reachesEnd { return true }
        } while elements == nil && known!.seek(scanner.base + scanner.at, count: scanner.end - scanner.at)
        return false
    }
}
