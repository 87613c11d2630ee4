/// Work of one kind that is done in slices, first come first served.
struct Backlog<Element> {
    private var queue = Queue<Element>()

    /// How long one slice takes, in nanoseconds. A turn has five at most, so whoever comes meanwhile waits for some
    /// milliseconds.
    static var slice: Int64 { 2_000_000 }
    /// How many are done between two looks at the clock, which costs as much as the smallest of them.
    static var stride: Int { 16 }

    var isEmpty: Bool { queue.isEmpty }

    /// Puts one behind those that wait.
    mutating func append(_ element: Element) { queue.append(element) }

    /// The same with several.
    mutating func append(contentsOf more: some Sequence<Element>) {
        for element in more { queue.append(element) }
    }

    /// Takes out the first.
    mutating func next() -> Element? { queue.popFirst() }

    /// Does what there is until the slice is over, `stride` at least. The action must not come back to this value.
    mutating func work(_ clock: () -> Instant, _ action: (Element) -> Void) {
        guard !queue.isEmpty else { return }
        let end = queue.count > Self.stride ? clock() + Self.slice : nil
        var done = 0
        while let element = queue.popFirst() {
            action(element)
            done += 1
            if done % Self.stride == 0, let end, clock() >= end { return }
        }
    }
}
