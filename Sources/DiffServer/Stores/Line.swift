/// A queue in an array: what was taken out at the front is left behind until it is the greater part.
struct Line<Element> {
    private var storage: [Element?] = []
    private var start = 0

    var isEmpty: Bool { start == storage.count }
    var count: Int { storage.count - start }
    var first: Element? { isEmpty ? nil : storage[start] }
    var elements: [Element] { storage[start...].compactMap { $0 } }

    mutating func append(_ element: Element) { storage.append(element) }

    /// Changes the first element, if there is one.
    mutating func updateFirst(_ change: (inout Element) -> Void) {
        guard !isEmpty, var element = storage[start] else { return }
        storage[start] = nil
        change(&element)
        storage[start] = element
    }

    mutating func popFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = storage[start]
        storage[start] = nil
        start += 1
        if start == storage.count {
            storage.removeAll(keepingCapacity: storage.count < 4096)
            start = 0
        } else if start >= 64, start * 2 >= storage.count {
            storage.removeFirst(start)
            start = 0
        }
        return element
    }
}
