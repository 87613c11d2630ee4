extension JSONText {
    /// An accepted content with another value at a place, or without one (nil). Missing objects on the way are made;
    /// everything else is copied as written. Nil if the content is no object, if there is nothing to remove, or if
    /// something other than objects is on the way to a missing value. O(bytes).
    init?(setting value: [UInt8]?, at pointer: JSONPointer, in content: UnsafeRawBufferPointer) {
        guard let base = content.baseAddress, content.first == UInt8(ascii: "{"), !pointer.tokens.isEmpty else {
            return nil
        }
        var (place, isInObjects) = (Optional(base), true)
        for token in pointer.tokens {
            guard let step = place else { break }
            isInObjects = isInObjects && JSONCursor(step).byte == UInt8(ascii: "{")
            place = PointerSet([JSONPointer(tokens: [token])]).value(in: step, entersArrays: true)
        }
        if let start = place, value != nil || !isInObjects {
            // An element of an array cannot be removed: null says as little.
            var cursor = JSONCursor(start)
            var writer = JSONWriter(capacity: content.count + 64)
            writer.append(base, start - base)
            writer.append(value ?? Array("null".utf8))
            cursor.skipValue()
            writer.append(cursor.at, base + content.count - cursor.at)
            self.init(padding: writer)
        } else {
            guard isInObjects, place != nil || value != nil else { return nil }
            // A merge patch (RFC 7396) of that member alone.
            var patch = JSONWriter()
            for token in pointer.tokens {
                patch.append("{")
                patch.append(string: token)
                patch.append(":")
            }
            patch.append(value ?? Array("null".utf8))
            for _ in pointer.tokens { patch.append("}") }
            self = JSONText(padding: patch).withBytes { JSONText(merging: $0, into: content) }
        }
    }
}
