// What a document holds besides its list, as the state's own content. The document has been read by then, so this walk
// checks nothing. It is a walk of its own, since these pointers may lead past the list.

extension StateReader {
    /// Keeps what a shape asks for of the document at `document`, without its list.
    ///
    /// - Parameter list: the member or element that holds the list.
    mutating func keep(_ rest: StateShape.Rest, of document: Range<Int>, without list: Range<Int>) {
        var writer = JSONWriter(capacity: 256)
        switch rest {
        case .none: return
        case .all: append(document, without: list, to: &writer)
        case .members(let pointers):
            var cursor = JSONCursor(scanner.base + document.lowerBound)
            guard cursor.byte == UInt8(ascii: "{") else { return }
            append(membersOf: &cursor, pointers.map { $0.tokens[...] }, without: list, to: &writer)
        }
        let bytes = writer.bytes()
        let start = bytes.withUnsafeBytes { store.append(value: $0) }
        builder.list = ListContent(start..<start + bytes.count)
    }

    /// Appends a value without the member or element that holds the list, if that is in it.
    private func append(_ value: Range<Int>, without list: Range<Int>, to writer: inout JSONWriter) {
        guard value.lowerBound <= list.lowerBound, list.upperBound <= value.upperBound else {
            return writer.append(scanner.text(value))
        }
        let cut = withComma(list)
        writer.append(scanner.text(value.lowerBound..<cut.lowerBound))
        writer.append(scanner.text(cut.upperBound..<value.upperBound))
    }

    /// Takes an object and appends it with only the members that pointers lead to; returns whether there are any.
    @discardableResult
    private func append(
        membersOf cursor: inout JSONCursor, _ pointers: [ArraySlice<[UInt8]>], without list: Range<Int>,
        to writer: inout JSONWriter
    ) -> Bool {
        writer.append(byte: UInt8(ascii: "{"))
        guard cursor.enter() else {
            writer.append(byte: UInt8(ascii: "}"))
            return false
        }
        repeat {
            let start = cursor.at
            let name = cursor.takeName()
            if start - scanner.base == list.lowerBound {
                cursor.at = scanner.base + list.upperBound
                continue
            }
            let inner = pointers.filter { name.isText($0.first!) }.map { $0.dropFirst() }
            let isWhole = inner.contains { $0.isEmpty }
            guard isWhole || !inner.isEmpty && cursor.byte == UInt8(ascii: "{") else {
                cursor.skipValue()
                continue
            }
            let before = writer.count
            writer.separate()
            writer.append(start, name.start + name.count + 1 - start)
            writer.append(byte: UInt8(ascii: ":"))
            if isWhole {
                let value = cursor.at - scanner.base
                cursor.skipValue()
                append(value..<cursor.at - scanner.base, without: list, to: &writer)
            } else if !append(membersOf: &cursor, inner, without: list, to: &writer) {
                writer.truncate(to: before)
            }
        } while cursor.takesComma()
        defer { writer.append(byte: UInt8(ascii: "}")) }
        return writer.needsComma
    }
}
