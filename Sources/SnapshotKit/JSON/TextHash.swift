// Two elements of a list are often the same thing with other measures: a city with another temperature, a player with
// another score. What stays then is the text. So lists without ids are compared by what their elements say, and where.

/// A hash of the texts in an object or array, each with its place unless that is ignored; zero without any. O(bytes).
func textHash(of value: UnsafeRawBufferPointer, ignoring ignored: PointerSet) -> UInt64 {
    guard value.isContainer, let start = value.baseAddress else { return 0 }
    var cursor = JSONCursor(start)
    return ignored.withRoot { takeTexts(&cursor, $0) }
}

private func takeTexts(_ cursor: inout JSONCursor, _ ignored: PointerPlace) -> UInt64 {
    let hash = KeyedHash.process
    let kind = cursor.byte
    switch kind {
    case UInt8(ascii: "\""): return fingerprint(of: cursor.takeString(), by: hash)
    case UInt8(ascii: "{"), UInt8(ascii: "["): break
    default:
        cursor.skipValue()
        return 0
    }
    guard cursor.enter() else { return 0 }
    var (sum, index): (UInt64, Int) = (0, 0)
    repeat {
        let name = kind == UInt8(ascii: "{") ? cursor.takeName() : nil
        let place = name.map(ignored.below) ?? ignored.below(index)
        if place.isEnd {
            cursor.skipValue()
        } else {
            let texts = takeTexts(&cursor, place)
            let mark = texts == 0 ? 0 : name.map { fingerprint(of: $0, by: hash) } ?? UInt64(index)
            if texts != 0 { sum &+= hash.mixed(mark, texts) }
        }
        index += 1
    } while cursor.takesComma()
    return sum == 0 ? 0 : hash.mixed(UInt64(kind) &+ sum, sum)
}

extension UnsafeRawBufferPointer {
    /// Whether an accepted JSON value is an object or an array.
    var isContainer: Bool { first == UInt8(ascii: "{") || first == UInt8(ascii: "[") }
}
