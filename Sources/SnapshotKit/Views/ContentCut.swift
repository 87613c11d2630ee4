// Contents with only some of their members, each as it was written. An inner object that would be left with none is
// left out, and so is any other value that a pointer leads into; arrays are not entered.

/// Which members of a content are shown.
enum ContentCut: Sendable {
    case nothing
    /// These, with all that is in them.
    case members(PlaceSet)

    /// Nil if all is shown. The places are those of an item, a section or the list.
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
    /// Takes an object, and appends one with those of its members that are in `places`; whether there are any.
    fileprivate mutating func append(membersOf cursor: inout JSONCursor, in places: PlaceSet) -> Bool {
        append("{")
        let first = count
        if cursor.enter() {
            repeat {
                let name = cursor.takeName()
                let below = places.below(name)
                if let below, below.isEmpty || cursor.byte != UInt8(ascii: "{") {
                    cursor.skipValue()
                    continue
                }
                let start = count
                separate()
                append(name: name)
                if let below {
                    guard !append(membersOf: &cursor, in: below) else { continue }
                    truncate(to: start)
                } else {
                    append(cursor.takeValue())
                }
            } while cursor.takesComma()
        }
        defer { append("}") }
        return count > first
    }
}

extension Columns {
    /// The same state with its contents cut to the members that a view shows. O(items + bytes).
    func cut(by parts: StateView.Parts) -> Columns {
        compacted { owner, content, writer in
            let cut =
                switch owner {
                case .list: parts.listFields
                case .section: parts.sectionFields
                case .item: parts.fields
                }
            guard let cut else {
                writer.append(content)
                return true
            }
            return cut.append(content, to: &writer)
        }
    }
}
