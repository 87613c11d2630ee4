// When the tests of a view take two values as equal: white space, the order of members, escapes and the way a number is
// written do not matter, at any depth. The equality of contents compares number tokens as text, so its fingerprints
// cannot be used. A test against many values is one look-up, by a hash that is keyed by the process; two different
// values are taken as equal with a chance of 1 in 2^64.

/// The hash of an accepted JSON value; equal values have the same. O(bytes).
func valueHash(at start: UnsafeRawPointer) -> UInt64 {
    var cursor = JSONCursor(start)
    return takeValueHash(&cursor)
}

/// The hash of a string with a text.
func valueHash(ofText text: UnsafeRawBufferPointer) -> UInt64 {
    let nothing = UnsafeRawPointer(StaticString("").utf8Start)
    return valueHash(of: JSONString(start: text.baseAddress ?? nothing, count: text.count, isEscaped: false))
}

func valueHash(of string: JSONString) -> UInt64 { fingerprint(of: string, by: .process) }

private func takeValueHash(_ cursor: inout JSONCursor) -> UInt64 {
    let hash = KeyedHash.process
    switch cursor.byte {
    case UInt8(ascii: "\""): return valueHash(of: cursor.takeString())
    case UInt8(ascii: "{"):
        var sum: UInt64 = 0
        if cursor.enter() {
            repeat {
                let name = valueHash(of: cursor.takeName())
                sum &+= hash.mixed(name, takeValueHash(&cursor))
            } while cursor.takesComma()
        }
        return hash.mixed(sum, 3)
    case UInt8(ascii: "["):
        var state: UInt64 = 5
        if cursor.enter() {
            repeat { state = hash.mixed(state, takeValueHash(&cursor)) } while cursor.takesComma()
        }
        return hash.mixed(state, 5)
    case UInt8(ascii: "n"), UInt8(ascii: "t"), UInt8(ascii: "f"):
        let word = cursor.takeToken()
        return hash.hash(word.baseAddress!, word.count, from: 7)
    default: return DecimalToken(cursor.takeToken()).hashed(by: hash)
    }
}
