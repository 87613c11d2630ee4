extension Array {
    /// `count` times the same. What `init(repeating:count:)` and `init(unsafeUninitializedCapacity:)` do, but in line:
    /// those call generic code that looks up the type of their storage, some 500 instructions.
    @inline(__always)
    init(filled element: Element, count: Int) {
        self = []
        reserveCapacity(count)
        append(contentsOf: repeatElement(element, count: count))
    }
}
