// Which element of a list without ids is which item of the head? Heckel's algorithm (1978) over three classes of
// likeness: equal values, the same texts in the same places, and at last the position alone. What is alike and left
// once in each list is a pair; pairs spread to alike neighbours, front to back and back to front; then what is alike
// within a gap is paired in order. Elements are never compared with each other: each class is a number, found by a
// hash, so everything is O(n + m).
//
// A list is a row of positions: the beginning, its elements, with the headers of the sections that both lists have in
// between, and the end. These are pairs from the start, so that no step needs an exception for them.
//
// Rejected: pairs of the most equal members. They gave 30 of 40 cities another id once a text was among the measures,
// and 84 of 100 lines of a log.

/// Finds the elements of one list that continue those of another.
private struct ElementMatching {
    private(set) var old: MatchedList
    private(set) var new: MatchedList

    /// - Parameter blocks: pairs, each as one position; in ascending order of the new list, none over a header.
    init(old: Int, new: Int, blocks: [SharedRuns.Run], headers: SharedHeaders) {
        let order = blocks.indices.sorted { blocks[$0].old < blocks[$1].old }
        self.old = MatchedList(old, order.map { (blocks[$0].old, blocks[$0].count) }, headers.old)
        self.new = MatchedList(new, blocks.map { ($0.new, $0.count) }, headers.new)
        pair(0, 0)
        pair(self.old.count - 1, self.new.count - 1)
        for (header, partner) in headers.partners.enumerated() {
            pair(self.old.headers[partner], self.new.headers[header])
        }
        for (index, block) in order.enumerated() { pair(self.old.blocks[index], self.new.blocks[block]) }
    }

    var hasLeft: Bool { old.hasLeft && new.hasLeft }

    var pairs: [SharedRuns.Run] {
        var pairs: [SharedRuns.Run] = []
        for position in 0..<new.count where new.elements[position] >= 0 && new.partners[position] >= 0 {
            let element = Int(old.elements[Int(new.partners[position])])
            pairs.append(
                joining: SharedRuns.Run(
                    old: element, new: Int(new.elements[position]), count: Int(new.lengths[position])))
        }
        return pairs
    }

    private mutating func pair(_ one: Int, _ other: Int) {
        old.partners[one] = Int32(truncatingIfNeeded: other)
        new.partners[other] = Int32(truncatingIfNeeded: one)
    }

    /// Pairs elements of one class.
    ///
    /// - Parameter numbers: the class of each element of the new list; -1 for one that is like nothing.
    mutating func pairAlike(_ classes: ElementClasses, _ numbers: [Int32]) {
        old.setClasses(classes.numbers)
        new.setClasses(numbers)
        pairOnly(classes)
        for position in 0..<new.count - 1 { pairNeighbours(of: position, 1) }
        for position in (1..<new.count).reversed() { pairNeighbours(of: position, -1) }
        pairInGaps(classes.count)
    }

    private mutating func pairOnly(_ classes: ElementClasses) {
        // The position of the only one of each class in the new list; below zero if there are none or several.
        var only = [Int32](filled: -1, count: classes.count)
        for position in 0..<new.count where new.classes[position] >= 0 {
            let number = Int(new.classes[position])
            only[number] = only[number] == -1 ? Int32(truncatingIfNeeded: position) : -2
        }
        for position in 0..<old.count where old.classes[position] >= 0 {
            let number = Int(old.classes[position])
            if only[number] >= 0, classes.only[number] >= 0 { pair(position, Int(only[number])) }
        }
    }

    /// Pairs what is alike and stands next to a pair in both lists.
    @inline(__always)
    private mutating func pairNeighbours(of position: Int, _ step: Int) {
        let partner = Int(new.partners[position])
        if partner < 0 { return }
        let (one, other) = (partner + step, position + step)
        if new.partners[other] < 0, old.partners[one] < 0, new.classes[other] >= 0,
            new.classes[other] == old.classes[one]
        {
            pair(one, other)
        }
    }

    /// Pairs, in each gap, the first that are alike with each other, then the second.
    private mutating func pairInGaps(_ count: Int) {
        let gaps = gaps
        if gaps.isEmpty { return }
        var first = [Int32](filled: -1, count: count)
        var next = [Int32](filled: -1, count: old.count)
        for gap in gaps {
            for position in gap.old.reversed() where old.classes[position] >= 0 {
                let number = Int(old.classes[position])
                (next[position], first[number]) = (first[number], Int32(truncatingIfNeeded: position))
            }
            for position in gap.new where new.classes[position] >= 0 {
                let number = Int(new.classes[position])
                let one = Int(first[number])
                if one < 0 { continue }
                first[number] = next[one]
                pair(one, position)
            }
            for position in gap.old where old.classes[position] >= 0 { first[Int(old.classes[position])] = -1 }
        }
    }

    /// Pairs elements by their positions in gaps with as many on both sides, where they may be one.
    mutating func pairByPosition(where mayBeOne: (_ old: Int, _ new: Int) -> Bool) {
        for gap in gaps where gap.old.count == gap.new.count {
            for (one, other) in zip(gap.old, gap.new)
            where mayBeOne(Int(old.elements[one]), Int(new.elements[other])) { pair(one, other) }
        }
    }

    /// What is left between two pairs that follow each other in both lists, if something is left in both. O(n + m).
    private var gaps: [(old: Range<Int>, new: Range<Int>)] {
        var (gaps, start) = ([(old: Range<Int>, new: Range<Int>)](), 0)
        for end in 1..<new.count where new.partners[end] >= 0 {
            defer { start = end }
            if end == start + 1 { continue }
            let first = Int(new.partners[start]) + 1
            var last = first
            while old.partners[last] < 0 { last += 1 }
            if last > first, last == Int(new.partners[end]) { gaps.append((first..<last, start + 1..<end)) }
        }
        return gaps
    }
}

/// One of two lists, by position.
private struct MatchedList {
    /// The element at each position, the first one of a block; -1 for the beginning, a header and the end.
    private(set) var elements: [Int32] = [-1]
    private(set) var lengths: [Int32] = [0]
    /// The class of an element without a partner; -1 for one that is like nothing.
    private(set) var classes: [Int32] = []
    /// The position of its partner in the other list; -1 for none.
    var partners: [Int32] = []
    private(set) var headers: [Int] = []
    private(set) var blocks: [Int] = []
    private let all: Int

    init(_ all: Int, _ blocks: [(start: Int, count: Int)], _ headers: [Int]) {
        self.all = all
        var next = 0
        for header in headers + [all] {
            while next < header {
                var length = 1
                if self.blocks.count < blocks.count, blocks[self.blocks.count].start == next {
                    length = blocks[self.blocks.count].count
                    self.blocks.append(elements.count)
                }
                append(next, length)
                next += length
            }
            self.headers.append(elements.count)
            append(-1, 0)
        }
        partners = [Int32](filled: -1, count: elements.count)
    }

    private mutating func append(_ element: Int, _ length: Int) {
        elements.append(Int32(truncatingIfNeeded: element))
        lengths.append(Int32(truncatingIfNeeded: length))
    }

    var count: Int { elements.count }
    var hasLeft: Bool { partners.contains { $0 < 0 } }

    mutating func setClasses(_ numbers: [Int32]) {
        classes = elements.indices.map { partners[$0] >= 0 ? -1 : numbers[Int(elements[$0])] }
    }

    /// The hashes of the elements without a partner, zero for all others.
    func left(_ hash: (Int) -> UInt64) -> [UInt64] {
        var hashes = [UInt64](filled: 0, count: all)
        for position in elements.indices where partners[position] < 0 {
            hashes[Int(elements[position])] = hash(Int(elements[position]))
        }
        return hashes
    }
}

/// What counts when elements are compared.
struct ElementLikeness {
    /// The places in an element that are ignored, and with them the one of its group.
    let ignored: PointerSet
    let texts: PointerSet

    init(ignoring ignored: [JSONPointer], groupAt: JSONPointer?) {
        self.ignored = PointerSet(ignored)
        texts = groupAt.map { PointerSet(ignored + [$0]) } ?? self.ignored
    }

    /// The elements of a new list that continue old ones, in its order; all others are new. O(elements), and O(bytes)
    /// of those without an equal one.
    ///
    /// - Parameters:
    ///   - numbers: the class of each element of the new list, or -1; not of those in `runs`.
    ///   - runs: equal elements, in ascending order of the new list.
    func pairs(
        _ old: ElementClasses, _ numbers: [Int32], sharing runs: [SharedRuns.Run] = [],
        headers: SharedHeaders = SharedHeaders(),
        oldText: (Int) -> UnsafeRawBufferPointer, newText: (Int) -> UnsafeRawBufferPointer
    ) -> [SharedRuns.Run] {
        var numbers = numbers
        let blocks = old.certain(runs, headers, &numbers)
        var matching = ElementMatching(old: old.count, new: numbers.count, blocks: blocks, headers: headers)
        if matching.hasLeft { matching.pairAlike(old, numbers) }
        guard matching.hasLeft else { return matching.pairs }
        let oldLeft = matching.old.left { textHash(of: oldText($0), ignoring: texts) }
        let newLeft = matching.new.left { textHash(of: newText($0), ignoring: texts) }
        let classes = ElementClasses(oldLeft)
        matching.pairAlike(classes, newLeft.map(classes.number))
        matching.pairByPosition { one, other in
            let (oldText, newText) = (oldText(one), newText(other))
            guard oldText.isContainer, oldText.first == newText.first else { return false }
            return oldLeft[one] == 0 && newLeft[other] == 0 || shareMember(oldText, newText, ignoring: ignored)
        }
        return matching.pairs
    }
}
