// All look-ups of values at JSON Pointers are done here: what equality ignores, what a view shows, tests and orders by,
// where a shape finds its list. The pointers form a tree of names, built once, and a walk down a value descends the
// tree alongside it: each name is searched among the next steps of one step only, however many pointers there are.
// Nothing is allocated, and no reference counted: all steps are in one piece of memory.
//
// Rejected: an object for each step, which a walk would retain for each value it enters; and comparing each pointer
// with each name, at a cost of pointers times names.

/// Pointers followed together through a value.
package struct PointerSet: Hashable, Sendable {
    /// Nil without pointers.
    private let tree: Tree?

    static let none = PointerSet([])

    /// Builds the tree. O(bytes · log pointers).
    package init(_ pointers: [JSONPointer]) { tree = pointers.isEmpty ? nil : Tree(pointers) }

    package var pointers: [JSONPointer] { tree?.pointers ?? [] }

    @inline(__always)
    package var isEmpty: Bool { tree == nil }

    /// Calls `body` with the place where all pointers begin, that of the whole value. Places are valid while it runs.
    @inline(__always)
    func withRoot<Result, Failure: Error>(_ body: (PointerPlace) throws(Failure) -> Result) throws(Failure) -> Result {
        defer { withExtendedLifetime(tree) {} }
        return try body(PointerPlace(step: tree?.root))
    }

    package static func == (one: PointerSet, other: PointerSet) -> Bool {
        one.tree === other.tree || one.pointers == other.pointers
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(pointers) }
}

/// How far some pointers of a set have led.
struct PointerPlace {
    /// Pointers by number, a bit each; from the 64th on they share the last bit.
    typealias Numbers = UInt64

    /// Nil where no pointer leads.
    fileprivate let step: UnsafePointer<Step>?

    /// Whether no pointer ends here or leads on.
    @inline(__always)
    var isAside: Bool { step == nil }

    @inline(__always)
    var isEnd: Bool { ending != 0 }

    /// The pointers that end here.
    @inline(__always)
    var ending: Numbers { step?.pointee.ending ?? 0 }

    /// The pointers that end here or lead on.
    @inline(__always)
    var passing: Numbers { step?.pointee.passing ?? 0 }

    /// The place of a member. O(log pointers).
    @inline(__always)
    func below(_ name: JSONString) -> PointerPlace {
        guard let step, step.pointee.count > 0 else { return PointerPlace(step: nil) }
        return name.isEscaped
            ? Array(name.text).withUnsafeBytes(step.below)
            : step.below(UnsafeRawBufferPointer(start: name.start, count: name.count))
    }

    /// The place of an element. O(pointers).
    @inline(__always)
    func below(_ index: Int) -> PointerPlace {
        guard let step, step.pointee.count > 0 else { return PointerPlace(step: nil) }
        return step.below(index)
    }

    /// Calls `body` with the name of each member at which a pointer ends, but for those of these pointers.
    func forEachEnd(except found: Numbers = 0, _ body: (UnsafeRawBufferPointer) -> Void) {
        for each in children where each.pointee.ending & ~found != 0 {
            let name = UnsafeRawPointer(each) + each.pointee.name
            body(UnsafeRawBufferPointer(start: name, count: each.pointee.nameCount))
        }
    }

    /// Whether a pointer ends at a member, or at an element, of an object or an array here.
    fileprivate func endsBelow(inArray: Bool) -> Bool {
        children.contains { $0.pointee.ending != 0 && (!inArray || $0.pointee.index >= 0) }
    }

    private var children: some Sequence<UnsafePointer<Step>> {
        (0..<(step?.pointee.count ?? 0)).lazy.map { [step] in step! + step!.pointee.below + $0 }
    }
}

// MARK: The tree

/// A name that comes next in some pointers after the same names.
private struct Step {
    /// How far away the name is, in bytes.
    var name = 0
    var nameCount = 0
    /// How far away the first step below is, in steps, and how many there are: by their names' lengths, then by bytes.
    var below = 0
    var count = 0
    /// The name as an array's index; -1 if it is none.
    var index = -1
    var ending: PointerPlace.Numbers = 0
    var passing: PointerPlace.Numbers = 0
}

extension UnsafePointer<Step> {
    fileprivate func below(_ name: UnsafeRawBufferPointer) -> PointerPlace {
        let steps = self + pointee.below
        var (low, high) = (0, pointee.count)
        while low < high {
            let middle = (low + high) >> 1
            let step = steps + middle
            var order = step.pointee.nameCount - name.count
            if order == 0 {
                let text = UnsafeRawPointer(step) + step.pointee.name
                if name.count == 0 || sameBytes(text, name.baseAddress!, name.count) { return PointerPlace(step: step) }
                order = compareBytes(text, name.baseAddress!, name.count)
            }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return PointerPlace(step: nil)
    }

    fileprivate func below(_ index: Int) -> PointerPlace {
        let steps = self + pointee.below
        return PointerPlace(step: (0..<pointee.count).first { steps[$0].index == index }.map { steps + $0 })
    }
}

/// The steps, the root first and those below one side by side; behind them their names.
private final class Tree: @unchecked Sendable {
    let pointers: [JSONPointer]
    /// Written by the initializer alone.
    let root: UnsafePointer<Step>

    init(_ pointers: [JSONPointer]) {
        self.pointers = pointers
        // Once sorted, those that pass a step are adjacent, and those that end there come first.
        let sorted = pointers.indices.sorted { Self.precedes(pointers[$0].tokens, pointers[$1].tokens) }
        let most = pointers.reduce(1) { $0 + $1.tokens.count }
        let bytes = pointers.reduce(0) { $1.tokens.reduce($0) { $0 + $1.count } }
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: most * MemoryLayout<Step>.stride + bytes, alignment: MemoryLayout<Step>.alignment)
        let steps = memory.initializeMemory(as: Step.self, repeating: Step(), count: most)
        var end = UnsafeMutableRawPointer(steps + most)
        // For each step, the pointers that pass it, and how many of their names lead to it.
        var passing = [(sorted.indices, level: 0)]
        passing.reserveCapacity(most)
        var next = 0
        while next < passing.count {
            let (range, level) = passing[next]
            steps[next].below = passing.count - next
            var last: [UInt8]?
            for index in range {
                let tokens = pointers[sorted[index]].tokens
                let bit: PointerPlace.Numbers = 1 << min(sorted[index], 63)
                steps[next].passing |= bit
                guard tokens.count > level else {
                    steps[next].ending |= bit
                    continue
                }
                if tokens[level] != last {
                    let (name, step) = (tokens[level], steps + passing.count)
                    step.pointee.name = end - UnsafeMutableRawPointer(step)
                    step.pointee.nameCount = name.count
                    step.pointee.index = name.arrayIndex ?? -1
                    end.copyMemory(from: name, byteCount: name.count)
                    end += name.count
                    passing.append((index..<index, level + 1))
                    steps[next].count += 1
                    last = name
                }
                passing[passing.count - 1].0 = passing[passing.count - 1].0.lowerBound..<index + 1
            }
            next += 1
        }
        root = UnsafePointer(steps)
    }

    /// Whether a pointer comes before another: by the first names that differ, in the order of steps.
    private static func precedes(_ one: [[UInt8]], _ other: [[UInt8]]) -> Bool {
        for (name, second) in zip(one, other) where name != second {
            return name.count == second.count ? name.lexicographicallyPrecedes(second) : name.count < second.count
        }
        return one.count < other.count
    }

    deinit { root.deallocate() }
}

// MARK: Walks

extension PointerSet {
    /// Whether an accepted JSON text has an object or an array that has one of the places, or could have it. O(n).
    func mayLead(into text: UnsafeRawBufferPointer) -> Bool {
        guard !isEmpty, let start = text.baseAddress, text.count > 0 else { return false }
        var cursor = JSONCursor(start)
        return withRoot { cursor.findsParent(of: $0) }
    }

    /// Whether an accepted JSON text has a value outside the places, objects aside. O(n).
    func leaveValue(of text: UnsafeRawBufferPointer) -> Bool {
        guard let start = text.baseAddress, text.count > 0 else { return false }
        var cursor = JSONCursor(start)
        return withRoot { cursor.findsValue(outside: $0) }
    }

    /// The start of the value at the first of the places that an accepted value has; nil if it has none. O(n).
    func value(in whole: UnsafeRawPointer, entersArrays: Bool) -> UnsafeRawPointer? {
        withRoot { root in
            var cursor = JSONCursor(whole)
            return root.isEnd || cursor.findsValue(below: root, entersArrays: entersArrays) ? cursor.at : nil
        }
    }
}

extension JSONCursor {
    /// Moves to the first value at the end of a pointer inside the one here; takes the one here if there is none.
    fileprivate mutating func findsValue(below place: PointerPlace, entersArrays: Bool) -> Bool {
        let isObject = byte == UInt8(ascii: "{")
        guard isObject || entersArrays && byte == UInt8(ascii: "[") else {
            skipValue()
            return false
        }
        guard enter() else { return false }
        var index = 0
        repeat {
            let inner = isObject ? place.below(takeName()) : place.below(index)
            if inner.isEnd { return true }
            if inner.isAside {
                skipValue()
            } else if findsValue(below: inner, entersArrays: entersArrays) {
                return true
            }
            index += 1
        } while takesComma()
        return false
    }

    /// Takes the value here, or a part of it; whether a pointer ends below an object or array of it, even at nothing.
    mutating func findsParent(of place: PointerPlace) -> Bool {
        let isObject = byte == UInt8(ascii: "{")
        guard !place.isAside, isObject || byte == UInt8(ascii: "[") else {
            skipValue()
            return false
        }
        if place.endsBelow(inArray: !isObject) { return true }
        guard enter() else { return false }
        var index = 0
        repeat {
            if findsParent(of: isObject ? place.below(takeName()) : place.below(index)) { return true }
            index += 1
        } while takesComma()
        return false
    }

    /// Takes the value here, or a part of it; returns whether it holds a value where no pointer ends, objects aside.
    fileprivate mutating func findsValue(outside place: PointerPlace) -> Bool {
        if place.isEnd {
            skipValue()
            return false
        }
        guard byte == UInt8(ascii: "{") else { return true }
        guard enter() else { return false }
        repeat { if findsValue(outside: place.below(takeName())) { return true } } while takesComma()
        return false
    }
}

extension JSONWriter {
    /// Appends an object with only its members at the places, as written; false, and nothing, for any other value.
    /// Arrays are not entered, and an inner object that would be left without members is left out. O(bytes).
    package mutating func append(membersOf value: UnsafeRawBufferPointer, at places: PointerSet) -> Bool {
        guard value.first == UInt8(ascii: "{") else { return false }
        var cursor = JSONCursor(value.baseAddress!)
        _ = places.withRoot { append(membersOf: &cursor, below: $0) }
        return true
    }

    /// Takes an object, and appends it with only its members at the places; returns whether there are any.
    private mutating func append(membersOf cursor: inout JSONCursor, below place: PointerPlace) -> Bool {
        append("{")
        let first = count
        if cursor.enter() {
            repeat {
                let name = cursor.takeName()
                let inner = place.below(name)
                guard inner.isEnd || !inner.isAside && cursor.byte == UInt8(ascii: "{") else {
                    cursor.skipValue()
                    continue
                }
                let start = count
                separate()
                append(name: name)
                if inner.isEnd {
                    append(cursor.takeValue())
                } else if !append(membersOf: &cursor, below: inner) {
                    truncate(to: start)
                }
            } while cursor.takesComma()
        }
        defer { append("}") }
        return count > first
    }
}
