// Contents with some of their members only, each as it was written. An object inside that would be left with none is
// left out, and so is what is no object where a pointer leads on; arrays are not entered.

/// Which members of a content are shown.
enum ContentCut: Sendable {
    case nothing
    /// These and what is in them.
    case members(PlaceSet)

    /// Nil where all is shown. The pointers lead into what has the content.
    init?(_ places: [ItemPlace]) {
        let pointers = places.compactMap { place -> JSONPointer? in
            if case .content(let path) = place { JSONPointer(tokens: path.names) } else { nil }
        }
        if pointers.contains(.root) { return nil }
        self = pointers.isEmpty ? .nothing : .members(PlaceSet(pointers))
    }

    /// Appends what is shown of a content; false, and nothing appended, where nothing is. O(bytes).
    func append(_ content: UnsafeRawBufferPointer, to writer: inout JSONWriter) -> Bool {
        guard case .members(let places) = self, content.first == UInt8(ascii: "{") else { return false }
        var cursor = JSONCursor(content.baseAddress!)
        _ = writer.append(membersOf: &cursor, in: places)
        return true
    }
}

extension JSONWriter {
    /// Takes an object, and appends one with those members that are among places; whether there are any.
    fileprivate mutating func append(membersOf cursor: inout JSONCursor, in places: PlaceSet) -> Bool {
        append(byte: UInt8(ascii: "{"))
        var list = JSONList()
        if cursor.enter() {
            repeat {
                let name = cursor.takeName()
                let below = places.below(name)
                if let below, below.isEmpty || cursor.byte != UInt8(ascii: "{") {
                    cursor.skipValue()
                    continue
                }
                let before = (count: count, list: list)
                list.separate(&self)
                append(name: name)
                if let below {
                    guard !append(membersOf: &cursor, in: below) else { continue }
                    truncate(to: before.count)
                    list = before.list
                } else {
                    append(cursor.takeValue())
                }
            } while cursor.takesComma()
        }
        append(byte: UInt8(ascii: "}"))
        return !list.isEmpty
    }
}
