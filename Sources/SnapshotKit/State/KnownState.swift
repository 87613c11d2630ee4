// Reading upon a state that is known. A new state most often resembles the one before it, byte by byte; where an item's
// text is the same, it need not be read again: comparing memory is ten times as fast as a strict scan, and the item's
// record is there already.
//
// What makes it safe: text is taken over from the start of an item up to the start of its next sibling, both as the
// scanner found them in the known document, and only where the new document also stands at the start of an item of a
// list at the same level, with as much depth left. The same bytes in the same place of the grammar mean the same. Ids
// are still checked for duplicates with all others. Whatever is not the same, or does not begin with its id, is read as
// always; so a state is the same whatever it was read upon, only sooner. Where pointers say where ids stand, the text
// of an item is its element, wherever the id is in it.

/// The state that a new document is compared with, and where in it.
struct KnownState {
    private let view: ColumnsView
    /// The item that most likely comes next: one of the top level, or none behind the last.
    private var next = 0
    private let isFlat: Bool
    /// Whether the whole element is an item's content, and its id somewhere in that.
    private let hasElements: Bool
    /// Whether what says nothing of `expanded` is as it is here.
    private let keepsExpanded: Bool

    init(_ view: ColumnsView, keepsExpanded: Bool = false) {
        (self.view, isFlat, hasElements) = (view, view.columns.isFlat, view.columns.place.shape.places != nil)
        self.keepsExpanded = keepsExpanded
    }

    /// Where it has to be known what a document says of `expanded`: as long as all is expanded here there is nothing to
    /// keep.
    var said: SaidExpanded? { keepsExpanded && view.columns.hasCollapsed ? SaidExpanded() : nil }

    /// Siblings, and all that is below them, that stand in both documents.
    struct Run {
        /// Their items in the known state.
        let nodes: Range<Int>
        /// Where their text starts there.
        let start: Int
        /// Bytes up to the next sibling, which is none of them.
        let length: Int
        /// Siblings among them.
        let count: Int
    }

    /// How many items a document of so many bytes may have, if it resembles this one.
    func expectedItems(in count: Int) -> Int { min(view.nodes.count, count / 4) }

    /// Whether items may be taken over by a list at a place. Not where something of them stands behind the document, or
    /// is not from there at all.
    func fits(_ place: ElementPlace) -> Bool {
        let ours = view.columns.place
        return place.room >= ours.room && place.shape.hasElements(of: ours.shape) && !ours.hasStoredKinds
            && place.shape.places?.element.isInPlace != false && (!ours.hasKept || keepsExpanded)
    }

    /// The items from the next one on whose text also stands at `text`, of which `count` bytes are left; at most `most`
    /// with what is below them. O(bytes that are the same).
    mutating func takeRun(at text: UnsafeRawPointer, count: Int, most: Int, levels: Int) -> Run? {
        guard next < view.nodes.count, let start = start(of: next) else { return nil }
        let reach = start + commonPrefix(text, view.text.first + start, min(count, view.columns.text.count - start))
        let first = next
        let siblings = siblings(from: first, within: reach, most: most, levels: levels)
        var (end, taken) = (siblings.end, siblings.count)
        // Only where the next sibling starts do both documents stand at the same place again.
        while taken > 0 {
            if let stop = self.start(of: end), stop <= reach {
                next = end
                return Run(nodes: first..<end, start: start, length: stop - start, count: taken)
            }
            taken -= 1
            repeat { end -= 1 } while view.nodes[end].level > 0
        }
        return nil
    }

    /// What of an item's text stands in the order of the items: its content where that is the element, else its id.
    @inline(__always)
    private func order(_ item: Int) -> Int {
        Int(hasElements ? view.payloads[item].contentStart : view.nodes[item].idStart)
    }

    /// How many items of the same list, from one on, have their ids in the document and stand within as many levels,
    /// and the sibling behind them, which starts within what both documents have.
    @inline(__always)
    private func siblings(from first: Int, within reach: Int, most: Int, levels: Int) -> (end: Int, count: Int) {
        let section = view.nodes[first].section
        let limit = min(
            Int(view.sections[Int(section)].endItem),
            most >= view.nodes.count - first ? view.nodes.count : first + most + 1)
        if isFlat, levels > 0 {
            var (end, rest) = (first, limit - first - 1)
            // The last one that is within reach: a step is tried from large to small.
            while rest > 0 {
                let step = (rest + 1) / 2
                if order(end + step) <= reach { end += step }
                rest -= step
            }
            return (end, end - first)
        }
        var (end, count, seen) = (first, 0, 0)
        for index in first..<limit {
            let node = view.nodes[index]
            if node.level == 0 {
                guard order(index) <= reach else { break }
                (end, count, seen) = (index, seen, seen + 1)
            }
            if node.flags.contains(.escapedID) || Int(node.level) >= levels { break }
        }
        return (end, count)
    }

    /// Where an item's text starts: its element, the id itself, or the brace before `"id":`; nil where something else
    /// stands between.
    @inline(__always)
    private func start(of item: Int) -> Int? {
        let node = view.nodes[item]
        if node.flags.contains(.escapedID) { return nil }
        if hasElements { return Int(view.payloads[item].contentStart) }
        let token = Int(node.idStart) - (node.flags.contains(.integerID) ? 0 : 1)
        if node.flags.contains(.isBare) { return token }
        // `{"id":` in one comparison, as compact writers have it.
        if token >= 6, load64(view.text.first + token - 6) & 0xFFFF_FFFF_FFFF == Self.compactOpening {
            return token - 6
        }
        return spacedStart(before: token)
    }

    private static let compactOpening: UInt64 = 0x3A22_6469_227B

    /// The same, with space between.
    private func spacedStart(before token: Int) -> Int? {
        let colon = skipSpaceBack(token) - 1
        guard colon >= 0, byte(colon) == UInt8(ascii: ":") else { return nil }
        let name = skipSpaceBack(colon) - 4
        guard name > 0, load32(view.text.first + name) == Self.idName else { return nil }
        let brace = skipSpaceBack(name) - 1
        return brace >= 0 && byte(brace) == UInt8(ascii: "{") ? brace : nil
    }

    private static let idName: UInt64 = 0x2264_6922

    private func byte(_ offset: Int) -> UInt8 { view.text.first.load(fromByteOffset: offset, as: UInt8.self) }

    private func skipSpaceBack(_ offset: Int) -> Int {
        var at = offset
        while at > 0, [0x20, 0x0A, 0x0D, 0x09].contains(byte(at - 1)) { at -= 1 }
        return at
    }

    // MARK: Going on

    /// Hears of an item that was read: what stood behind it most likely comes next. If it is new, that is what was
    /// expected before.
    mutating func passed(_ node: Node, in text: UnsafeRawPointer) {
        guard node.idCount > 0, !node.flags.contains(.escapedID), !view.nodes.isEmpty else { return }
        let id = UnsafeRawBufferPointer(start: text + Int(node.idStart), count: Int(node.idCount))
        if next < view.nodes.count, hasID(next, id) {
            next = Int(view.nodes[next].end)
        } else if let item = view.item(withID: id), view.nodes[item].level == 0 {
            next = Int(view.nodes[item].end)
        }
    }

    @inline(__always)
    private func hasID(_ item: Int, _ id: UnsafeRawBufferPointer) -> Bool {
        let node = view.nodes[item]
        return Int(node.idCount) == id.count && sameBytes(view.text.at(node.idStart), id.baseAddress!, id.count)
    }

    /// Puts the records of a run into a state that is being read, in which its text stands `shift` bytes further on.
    func append(_ run: Run, shiftedBy shift: Int, to builder: inout ColumnsBuilder) {
        builder.append(view.nodes[run.nodes], view.payloads.isEmpty ? nil : view.payloads[run.nodes], shiftedBy: shift)
    }
}

extension StateReader {
    /// Prepares for a document that most likely resembles a known state.
    mutating func expect(_ known: KnownState) {
        self.known = known
        said = known.said
        builder.expect(items: known.expectedItems(in: scanner.end))
    }

    /// Takes items that the known state has too, if the next ones are such, and stands before the next item then.
    ///
    /// - Returns: how many siblings were taken.
    mutating func takeKnownItems() -> Int {
        scanner.skipSpace()
        let most = limits.maxItems - builder.nodes.count
        guard
            let run = known?.takeRun(
                at: scanner.base + scanner.at, count: scanner.end - scanner.at, most: most, levels: limits.maxNesting)
        else { return 0 }
        taken.append(ReusedRun(old: run.nodes.lowerBound, new: builder.nodes.count, count: run.nodes.count))
        known!.append(run, shiftedBy: scanner.at - run.start, to: &builder)
        scanner.at += run.length
        return run.count
    }
}
