/// First in, first out, in one array, amortised O(1). An element is released as soon as it is taken out.
public struct Queue<Element> {
    @usableFromInline var storage: [Element?] = []
    @usableFromInline var start = 0

    /// An empty queue.
    @inlinable public init() {}

    /// Whether there are no elements.
    @inlinable public var isEmpty: Bool { start == storage.count }
    /// The number of elements.
    @inlinable public var count: Int { storage.count - start }
    /// The element that comes out next.
    @inlinable public var first: Element? { isEmpty ? nil : storage[start] }
    /// All elements, in order. O(n).
    public var elements: [Element] { storage[start...].compactMap { $0 } }

    /// Adds an element at the end.
    @inlinable public mutating func append(_ element: Element) { storage.append(element) }

    /// Adds several elements at the end.
    @inlinable public mutating func append(contentsOf more: some Sequence<Element>) {
        for element in more { append(element) }
    }

    /// Changes the first element, if there is one.
    @inlinable public mutating func updateFirst(_ change: (inout Element) -> Void) {
        guard !isEmpty, var element = storage[start].take() else { return }
        change(&element)
        storage[start] = element
    }

    /// Removes and returns the first element, if there is one.
    @inlinable public mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[start].take()
        start += 1
        if start == storage.count {
            // Usually there is only one element, and this saves a call.
            if start == 1 { storage.removeLast() } else { storage.removeAll(keepingCapacity: storage.count < 4096) }
            start = 0
        } else if start >= 64, start * 2 >= storage.count {
            storage.removeFirst(start)
            start = 0
        }
        return element
    }
}
