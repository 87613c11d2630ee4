/// Work of one kind that is done in slices, first come first served.
struct Backlog<Element> {
    /// Those before `position` are done, and nil.
    private var elements: [Element?] = []
    private var position = 0

    /// How long one slice takes, in nanoseconds. A turn has four at most, so whoever comes meanwhile waits for some
    /// milliseconds.
    static var slice: Int64 { 2_000_000 }
    /// How many are done between two looks at the clock, which costs as much as the smallest of them.
    static var stride: Int { 16 }

    var isEmpty: Bool { elements.isEmpty }

    /// Puts more behind those that wait. O(1) each.
    mutating func append(_ more: some Sequence<Element>) {
        if position > elements.count / 2 {
            elements.removeFirst(position)
            position = 0
        }
        for element in more { elements.append(element) }
    }

    /// Takes out the first.
    mutating func next() -> Element? {
        guard position < elements.count else { return nil }
        let element = elements[position].take()
        position += 1
        if position == elements.count {
            elements.removeAll(keepingCapacity: position <= Self.stride)
            position = 0
        }
        return element
    }

    /// Does what there is until the slice is over, `stride` at least. The action must not come back to this value.
    mutating func work(_ clock: () -> Instant, _ action: (Element) -> Void) {
        guard !elements.isEmpty else { return }
        let end = elements.count - position > Self.stride ? clock() + Self.slice : nil
        var done = 0
        while let element = next() {
            action(element)
            done += 1
            if done % Self.stride == 0, let end, clock() >= end { return }
        }
    }
}
