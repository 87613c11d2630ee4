// The rest of a document, besides its list, as the state's own content. Lists are cut out before pointers are followed,
// since these may lead past them, and into them.

extension StateParser {
    /// Keeps the parts of the document that a shape asks for, without its lists.
    ///
    /// - Parameter lists: the members or elements that hold them, in the document's order.
    mutating func keep(_ rest: StateShape.Rest, of document: Range<Int>, without lists: [Range<Int>]) {
        if case .none = rest { return }
        let size = lists.reduce(document.count) { $0 - $1.count }
        guard takesRoom(for: size, at: document.lowerBound) else { return }
        // Lists, each as one byte, go with a comma each: the last one first, so that the offsets of the others stay.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + lists.count)
        var (from, cuts): (Int, [Int]) = (document.lowerBound, [])
        for list in lists {
            bytes += scanner.text(from..<list.lowerBound)
            cuts.append(bytes.count)
            bytes.append(0)
            from = list.upperBound
        }
        bytes += scanner.text(from..<document.upperBound)
        for cut in cuts.reversed() {
            bytes.removeSubrange(bytes.withUnsafeBytes { Self.withComma(cut..<cut + 1, in: $0.baseAddress!) })
        }
        if case .members(let pointers) = rest {
            var writer = JSONWriter(capacity: bytes.count)
            let text = JSONText(accepted: bytes)
            guard text.withBytes({ writer.append(membersOf: $0, at: PointerSet(pointers)) }) else { return }
            bytes = writer.bytes()
        }
        let start = bytes.withUnsafeBytes { store.append(value: $0) }
        builder.list = ListContent(start..<start + bytes.count)
    }
}
