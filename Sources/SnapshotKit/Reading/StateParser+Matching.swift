// Elements without ids (`idBy=match`). Only when all of them have been read, and are in the sections of their groups,
// is each given the id of the item that it continues, or a new one. Most have the text of an item of the head, whose
// class is theirs, and their ids are copied in one piece.

/// The head whose items elements without ids continue, and how new ids begin.
public struct ElementHead: Sendable {
    /// The sequence of the write.
    let sequence: UInt64
    /// The hashes of the head's contents by `hash`, apart from what is ignored; nil if they are unknown.
    let prints: [Fingerprint]?
    let hash: KeyedHash
    let ignored: [JSONPointer]
    /// The section whose items alone they continue; nil for the whole state.
    var section: [UInt8]?

    /// A write that continues a state of which nothing is known.
    public init(sequence: UInt64) { self.init(sequence: sequence, prints: nil, hash: .process, ignored: []) }

    init(sequence: UInt64, prints: [Fingerprint]?, hash: KeyedHash, ignored: [JSONPointer]) {
        (self.sequence, self.prints, self.hash, self.ignored) = (sequence, prints, hash, ignored)
    }
}

/// The elements of a document in which they have no ids, while it is read.
final class ElementReading {
    let head: ElementHead
    let likeness: ElementLikeness
    let hasHead: Bool
    /// The hashes of the elements that were read, not taken over, in the document's order.
    var hashes: [UInt64] = []
    /// The sequence of the write.
    var sequence: UInt64
    private var known: ElementClasses?

    init(_ head: ElementHead, groupAt: JSONPointer?, hasHead: Bool) {
        (self.head, self.hasHead, sequence) = (head, hasHead, head.sequence)
        likeness = ElementLikeness(ignoring: head.ignored, groupAt: groupAt)
    }

    func hash(_ element: UnsafeRawBufferPointer) -> UInt64 {
        fingerprint(of: element, by: head.hash, ignoring: likeness.ignored)
    }

    /// The head's items that may be continued; nil if all are. O(items).
    func items(of view: ColumnsView) -> [Int]? {
        var items = view.nodes.indices
        if let section = head.section {
            guard let index = section.withUnsafeBytes({ view.section(withID: $0) }) else { return [] }
            items = Int(view.sections[index].firstItem)..<Int(view.sections[index].endItem)
        } else if view.nodes.allSatisfy({ $0.level == 0 }) {
            return nil
        }
        return items.filter { view.nodes[$0].level == 0 }
    }

    func classes(of view: ColumnsView) -> ElementClasses {
        if let known { return known }
        let items = items(of: view) ?? Array(view.nodes.indices)
        let classes = ElementClasses(items.map { head.prints?[$0].content ?? hash(view.content(ofItem: $0)) })
        known = classes
        return classes
    }
}

extension StateParser {
    /// Notes an element that was read; what follows its equal in the known state most likely comes next.
    @inline(never)
    mutating func passElement(_ item: Int, usesKnown: Bool) {
        guard let elements, elements.hasHead else { return }
        let hash = elements.hash(scanner.text(builder.payloads[item].content))
        elements.hashes.append(hash)
        guard usesKnown, let view = known?.view else { return }
        let classes = elements.classes(of: view)
        let number = classes.number(of: hash)
        known?.passed(equal: number < 0 ? -1 : Int(classes.only[Int(number)]))
    }

    /// Gives the items of a state the ids of those that they continue, or new ones. O(items), and O(bytes) of those
    /// that were read.
    ///
    /// - Parameters:
    ///   - runs: what was taken over from the head; afterwards, what of it has also its ids.
    ///   - order: the items in the document's order, if that is another one.
    func match(
        _ builder: inout ColumnsBuilder, _ elements: ElementReading, with head: Columns, _ runs: inout [SharedRuns.Run],
        order: [UInt32]?, in text: TextRope
    ) -> TextRope {
        head.withView { view in
            var pairs: [SharedRuns.Run] = []
            if elements.hasHead, !view.nodes.isEmpty {
                let numbers = numbers(of: elements, view, order, builder.nodes.count)
                pairs = text.withView { builder.pairs(elements, in: view, numbers, sharing: runs, $0) }
            }
            runs = runs.aligned(with: pairs)
            var store = TokenBuffer(base: text.count, capacity: builder.nodes.count * 12)
            builder.setIDs(pairs, of: view, elements.sequence, in: &store)
            return store.count == 0 ? text : text.appending(store)
        }
    }

    private func numbers(
        of elements: ElementReading, _ head: ColumnsView, _ order: [UInt32]?, _ count: Int
    ) -> [Int32] {
        var (numbers, read) = ([Int32](filled: -1, count: count), 0)
        let classes = elements.classes(of: head)
        sharedRuns.forOthers(of: count) { index in
            numbers[order.map { Int($0[index]) } ?? index] = classes.number(of: elements.hashes[read])
            read += 1
        }
        return numbers
    }
}

extension [SharedRuns.Run] {
    /// The parts of runs whose items are pairs, too. Both are in ascending order of the new state. O(runs).
    fileprivate func aligned(with pairs: [SharedRuns.Run]) -> [SharedRuns.Run] {
        var (parts, next) = ([SharedRuns.Run](), 0)
        for run in self {
            while next < pairs.count, pairs[next].new + pairs[next].count <= run.new { next += 1 }
            var index = next
            while index < pairs.count, pairs[index].new < run.new + run.count {
                let pair = pairs[index]
                let (start, end) = (Swift.max(pair.new, run.new), Swift.min(pair.new + pair.count, run.new + run.count))
                if pair.old - pair.new == run.old - run.new {
                    parts.append(SharedRuns.Run(old: start - run.new + run.old, new: start, count: end - start))
                }
                index += 1
            }
        }
        return parts
    }
}

extension ColumnsBuilder {
    fileprivate func pairs(
        _ elements: ElementReading, in head: ColumnsView, _ numbers: [Int32], sharing runs: [SharedRuns.Run],
        _ text: TextView
    ) -> [SharedRuns.Run] {
        let items = elements.items(of: head)
        if items?.isEmpty == true { return [] }
        // The rows of one section are a list of their own.
        let headers = elements.head.section == nil ? sharedHeaders(with: head, items, text) : SharedHeaders()
        let pairs = elements.likeness.pairs(
            elements.classes(of: head), numbers, sharing: runs, headers: headers,
            oldText: { head.content(ofItem: items?[$0] ?? $0) },
            newText: { text.bytes(at: payloads[$0].contentStart, Int(payloads[$0].contentCount)) })
        guard let items else { return pairs }
        return pairs.flatMap { pair in
            (0..<pair.count).map { SharedRuns.Run(old: items[pair.old + $0], new: pair.new + $0, count: 1) }
        }
    }

    private func sharedHeaders(with head: ColumnsView, _ items: [Int]?, _ text: TextView) -> SharedHeaders {
        var (headers, olds, seen) = (SharedHeaders(), [Int](), Set<Int>())
        for section in sections {
            // Two with one id are refused later.
            guard let old = head.section(withID: text.bytes(ofID: section)), seen.insert(old).inserted else { continue }
            headers.new.append(Int(section.firstItem))
            olds.append(old)
        }
        let sorted = olds.sorted()
        headers.old = sorted.map { section in
            let first = Int(head.sections[section].firstItem)
            return items.map { items in items.indices.partitionPoint { items[$0] < first } } ?? first
        }
        headers.partners = olds.map { old in sorted.indices.partitionPoint { sorted[$0] < old } }
        return headers
    }

    /// Sets the ids of all items: those of their partners in a head, or new ones.
    mutating func setIDs(
        _ pairs: [SharedRuns.Run], of head: ColumnsView, _ sequence: UInt64, in store: inout TokenBuffer
    ) {
        var (newIDs, item) = (ElementIDs(sequence), 0)
        for pair in pairs + [SharedRuns.Run(old: 0, new: nodes.count, count: 0)] {
            while item < pair.new {
                let id = newIDs.next { head.item(withID: $0) != nil }
                setID(ofItem: item, id.withUnsafeBytes { store.append(idText: $0) })
                nodes[item].hash = 0
                item += 1
            }
            takeIDs(pair, of: head, in: &store)
            item += pair.count
        }
    }

    /// Gives items the ids of others, copied together where they stand side by side in the head's text.
    private mutating func takeIDs(_ pair: SharedRuns.Run, of head: ColumnsView, in store: inout TokenBuffer) {
        let others = head.nodes[pair.old..<pair.old + pair.count]
        var next = others.startIndex
        while next < others.endIndex {
            let (start, first) = (next, others[next])
            next += 1
            let stored: Int
            if first.flags.isDisjoint(with: .idStorage) {
                var last = first.idStart + UInt32(first.idCount)
                while next < others.endIndex, others[next].idStart == last + 2,
                    others[next].flags.isDisjoint(with: .idStorage)
                {
                    last += 2 + UInt32(others[next].idCount)
                    next += 1
                }
                let ids = UnsafeRawBufferPointer(
                    start: head.text.at(first.idStart) - 1, count: Int(last - first.idStart) + 2)
                stored = store.append(ids) + 1
            } else {
                stored = store.append(head.id(ofItem: start))
                if first.flags.contains(.escapedID) { isFlat = false }
            }
            let shift = UInt32(truncatingIfNeeded: stored) &- first.idStart
            nodes.withUnsafeMutableBufferPointer { nodes in
                for index in start..<next {
                    let (item, other) = (pair.new + index - pair.old, others[index])
                    (nodes[item].idStart, nodes[item].idCount) = (other.idStart &+ shift, other.idCount)
                    nodes[item].flags.subtract(.idStorage)
                    nodes[item].flags.formUnion(other.flags.intersection(.idStorage))
                    nodes[item].hash = other.hash
                }
            }
        }
    }
}

/// New ids for elements without one: the sequence of the write, and a count.
package struct ElementIDs {
    private let start: [UInt8]
    private var count = 0

    package init(_ sequence: UInt64) { start = Array("\(sequence).".utf8) }

    /// The next one that is not taken.
    package mutating func next(isTaken: (UnsafeRawBufferPointer) -> Bool) -> [UInt8] {
        while true {
            let id = start + "\(count)".utf8
            count += 1
            if !id.withUnsafeBytes(isTaken) { return id }
        }
    }
}
