// A hash of a JSON value that ignores what equality ignores: members are summed, so their order cannot matter; strings
// are hashed by their text, numbers by their token; arrays are folded in order. Two 64-bit sums over keyed terms
// collide by chance once in 2^64, and a client without the key cannot search for a collision.

/// The fingerprint of accepted JSON text, apart from `ignored`. Equal values have equal fingerprints. O(n).
func fingerprint(of text: UnsafeRawBufferPointer, by hash: KeyedHash, ignoring ignored: PlaceSet) -> UInt64 {
    guard let start = text.baseAddress, text.count > 0 else { return 0 }
    var cursor = JSONCursor(start)
    return takeFingerprint(&cursor, hash, ignored)
}

/// The fingerprint of a string's text.
@inline(__always)
func fingerprint(of string: JSONString, by hash: KeyedHash) -> UInt64 {
    if !string.isEscaped { return hash.hash(string.start, string.count, from: Kind.string.rawValue) }
    return Array(string.text).withUnsafeBytes { text in
        hash.hash(text.baseAddress ?? string.start, text.count, from: Kind.string.rawValue)
    }
}

private enum Kind: UInt64 {
    case string = 1
    case token, array, object
}

private func takeFingerprint(_ cursor: inout JSONCursor, _ hash: KeyedHash, _ ignored: PlaceSet) -> UInt64 {
    switch cursor.byte {
    case UInt8(ascii: "\""): return fingerprint(of: cursor.takeString(), by: hash)
    case UInt8(ascii: "{"): return takeObject(&cursor, hash, ignored)
    case UInt8(ascii: "["): return takeArray(&cursor, hash, ignored)
    default:
        let token = cursor.takeToken()
        return hash.hash(token.baseAddress!, token.count, from: Kind.token.rawValue)
    }
}

private func takeArray(_ cursor: inout JSONCursor, _ hash: KeyedHash, _ ignored: PlaceSet) -> UInt64 {
    var state = Kind.array.rawValue
    guard cursor.enter() else { return hash.mixed(state, Kind.array.rawValue) }
    var index = 0
    repeat {
        if let inner = ignored.below(index) {
            state = hash.mixed(state, takeFingerprint(&cursor, hash, inner))
        } else {
            cursor.skipValue()
        }
        index += 1
    } while cursor.takesComma()
    return hash.mixed(state, Kind.array.rawValue)
}

private func takeObject(_ cursor: inout JSONCursor, _ hash: KeyedHash, _ ignored: PlaceSet) -> UInt64 {
    let sum = cursor.enter() ? takeMembers(&cursor, hash, ignored) : 0
    return hash.mixed(Kind.object.rawValue &+ sum, Kind.object.rawValue)
}

/// Takes the members of an object from the name at the cursor on, and the closing bracket. Equal members have equal
/// sums, in any order.
func takeMembers(_ cursor: inout JSONCursor, _ hash: KeyedHash, _ ignored: PlaceSet) -> UInt64 {
    var sum: UInt64 = 0
    repeat {
        let name = cursor.takeName()
        if let inner = ignored.below(name) {
            let mark = fingerprint(of: name, by: hash)
            sum &+= hash.mixed(mark, takeFingerprint(&cursor, hash, inner))
        } else {
            cursor.skipValue()
        }
    } while cursor.takesComma()
    return sum
}
