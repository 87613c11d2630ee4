// When are two contents the same JSON value? White space, the order of members and the escaping of strings do not
// matter; number tokens are compared as text, so 1.0 and 1 differ, and numbers above 2^53 are never confused. Most
// pairs have the same bytes, which one memcmp finds; next most common are the same members in the same order, which two
// cursors in step compare without an allocation. From the first name that differs, the remaining members of both
// objects are compared by a hash that ignores order. So after the memcmp each byte is read once, however deeply nested.
//
// Rejected: searching for each name. Listing an object's members means skipping over nested objects, which then list
// theirs: depth times bytes, or 2 to the power of the depth if each level starts over at the first name that differs.

/// Whether two accepted JSON texts are the same value apart from `ignored`. O(n).
///
/// A pointer to the whole ignores nothing: a content ignored altogether would be no content. Exact while members are in
/// the same order; otherwise two different values are taken for equal with a chance of 1 in 2^64.
func sameValue(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, ignoring ignored: PointerSet) -> Bool {
    guard one.count > 0, other.count > 0, let first = one.baseAddress, let second = other.baseAddress else {
        return one.count == other.count
    }
    if one.count == other.count, compareBytes(first, second, one.count) == 0 { return true }
    var left = JSONCursor(first)
    var right = JSONCursor(second)
    return ignored.withRoot { takesSameValue(&left, &right, $0) }
}

/// Takes a value from each cursor; true if they are the same. Otherwise the cursors may be anywhere.
private func takesSameValue(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PointerPlace) -> Bool {
    switch (left.byte, right.byte) {
    case (UInt8(ascii: "\""), UInt8(ascii: "\"")): return left.takeString() == right.takeString()
    case (UInt8(ascii: "{"), UInt8(ascii: "{")): return takesSameObject(&left, &right, ignored)
    case (UInt8(ascii: "["), UInt8(ascii: "[")): return takesSameArray(&left, &right, ignored)
    case (UInt8(ascii: "\""), _), (_, UInt8(ascii: "\"")), (UInt8(ascii: "{"), _), (_, UInt8(ascii: "{")),
        (UInt8(ascii: "["), _), (_, UInt8(ascii: "[")):
        return false
    default:
        return left.takeToken().elementsEqual(right.takeToken())
    }
}

private func takesSameOrIgnored(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PointerPlace) -> Bool {
    guard ignored.isEnd else { return takesSameValue(&left, &right, ignored) }
    left.skipValue()
    right.skipValue()
    return true
}

private func takesSameArray(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PointerPlace) -> Bool {
    var (hasLeft, hasRight) = (left.enter(), right.enter())
    var index = 0
    while hasLeft, hasRight {
        guard takesSameOrIgnored(&left, &right, ignored.below(index)) else { return false }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
        index += 1
    }
    return (!hasLeft || takesIgnored(&left, isObject: false, from: index, ignored))
        && (!hasRight || takesIgnored(&right, isObject: false, from: index, ignored))
}

/// Takes the rest of an array or of an object; true if all of it is ignored.
private func takesIgnored(
    _ cursor: inout JSONCursor, isObject: Bool, from start: Int = 0, _ ignored: PointerPlace
) -> Bool {
    var index = start
    repeat {
        if !(isObject ? ignored.below(cursor.takeName()) : ignored.below(index)).isEnd { return false }
        cursor.skipValue()
        index += 1
    } while cursor.takesComma()
    return true
}

private func takesSameObject(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PointerPlace) -> Bool {
    var (hasLeft, hasRight) = (left.enter(), right.enter())
    while hasLeft, hasRight {
        let (leftMember, rightMember) = (left, right)
        let name = left.takeName()
        guard name == right.takeName() else {
            (left, right) = (leftMember, rightMember)
            let hash = ValueHash(by: .process)
            return hash.takeMembers(&left, ignored) == hash.takeMembers(&right, ignored)
        }
        guard takesSameOrIgnored(&left, &right, ignored.below(name)) else { return false }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
    }
    return (!hasLeft || takesIgnored(&left, isObject: true, ignored))
        && (!hasRight || takesIgnored(&right, isObject: true, ignored))
}

/// Whether two objects have an equal member, or two arrays an equal element at one index, apart from `ignored`. O(n).
func shareMember(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, ignoring ignored: PointerSet) -> Bool {
    guard one.isContainer, one.first == other.first, let first = one.baseAddress, let second = other.baseAddress
    else { return false }
    var (left, right) = (JSONCursor(first), JSONCursor(second))
    guard left.enter(), right.enter() else { return false }
    return ignored.withRoot { takeSharedMember(&left, &right, isObject: one.first == UInt8(ascii: "{"), $0) }
}

/// Takes members or elements in step, up to the first equal one, or to the first other name.
private func takeSharedMember(
    _ left: inout JSONCursor, _ right: inout JSONCursor, isObject: Bool, _ ignored: PointerPlace
) -> Bool {
    var index = 0
    repeat {
        var place = ignored.below(index)
        if isObject {
            let (leftMember, rightMember) = (left, right)
            let name = left.takeName()
            guard name == right.takeName() else {
                (left, right) = (leftMember, rightMember)
                let hash = ValueHash(by: .process)
                var marks: Set<UInt64> = []
                hash.takeMembers(&left, ignored) { marks.insert($0) }
                var isShared = false
                hash.takeMembers(&right, ignored) { isShared = isShared || marks.contains($0) }
                return isShared
            }
            place = ignored.below(name)
        }
        let (one, other) = (left.takeValue(), right.takeValue())
        var (inner, second) = (JSONCursor(one.baseAddress!), JSONCursor(other.baseAddress!))
        if !place.isEnd, one.hasSameBytes(as: other) || takesSameValue(&inner, &second, place) { return true }
        index += 1
    } while left.takesComma() && right.takesComma()
    return false
}

// MARK: - Hashes
//
// A hash of a JSON value that ignores what equality ignores: members are summed, so their order cannot matter. Numbers
// are hashed as written, which is how contents are compared, or by value, which is how views compare. Two 64-bit sums
// over keyed terms collide by chance once in 2^64, and a client without the key cannot search for a collision.

/// The fingerprint of accepted JSON text, apart from `ignored`, equal for equal values. `known` strings are not read.
package func fingerprint(
    of text: UnsafeRawBufferPointer, by hash: KeyedHash, ignoring ignored: PointerSet,
    knowing known: (string: JSONString, print: UInt64)? = nil
) -> UInt64 {
    guard let start = text.baseAddress, text.count > 0 else { return 0 }
    var cursor = JSONCursor(start)
    return ignored.withRoot { ValueHash(by: hash, known: known).takeValue(&cursor, $0) }
}

/// The fingerprint of a string's text.
@inline(__always)
package func fingerprint(of string: JSONString, by hash: KeyedHash) -> UInt64 {
    if !string.isEscaped { return hash.hash(string.start, string.count, from: Kind.string.rawValue) }
    return string.text.bytes().withUnsafeBytes { text in
        hash.hash(text.baseAddress ?? string.start, text.count, from: Kind.string.rawValue)
    }
}

extension KeyedHash.Growing {
    /// The fingerprint of a string to which more can be appended.
    init(ofStringBy hash: KeyedHash) { self.init(by: hash, from: Kind.string.rawValue) }
}

/// A hash, by the process's key, of the accepted value at an address. Numbers count by value. O(bytes).
func numericHash(at start: UnsafeRawPointer) -> UInt64 {
    var cursor = JSONCursor(start)
    return PointerSet.none.withRoot { ValueHash(by: .process, readsNumbers: true).takeValue(&cursor, $0) }
}

private enum Kind: UInt64 {
    case string = 1
    case token, array, object
}

/// Hashes what a cursor takes.
private struct ValueHash {
    private let hash: KeyedHash
    private let readsNumbers: Bool
    private let known: (string: JSONString, print: UInt64)?

    init(by hash: KeyedHash, readsNumbers: Bool = false, known: (string: JSONString, print: UInt64)? = nil) {
        (self.hash, self.readsNumbers, self.known) = (hash, readsNumbers, known)
    }

    fileprivate func takeValue(_ cursor: inout JSONCursor, _ ignored: PointerPlace) -> UInt64 {
        switch cursor.byte {
        case UInt8(ascii: "\""):
            let string = cursor.takeString(knowing: known?.string)
            return string.start == known?.string.start ? known!.print : fingerprint(of: string, by: hash)
        case UInt8(ascii: "{"): return takeObject(&cursor, ignored)
        case UInt8(ascii: "["): return takeArray(&cursor, ignored)
        default:
            let token = cursor.takeToken()
            // No literal name begins with a character below the letters.
            if readsNumbers, token[0] < UInt8(ascii: "A") { return DecimalToken(token).hashed(by: hash) }
            return hash.hash(token.baseAddress!, token.count, from: Kind.token.rawValue)
        }
    }

    private func takeArray(_ cursor: inout JSONCursor, _ ignored: PointerPlace) -> UInt64 {
        var state = Kind.array.rawValue
        guard cursor.enter() else { return hash.mixed(state, Kind.array.rawValue) }
        var index = 0
        repeat {
            let place = ignored.below(index)
            if place.isEnd { cursor.skipValue() } else { state = hash.mixed(state, takeValue(&cursor, place)) }
            index += 1
        } while cursor.takesComma()
        return hash.mixed(state, Kind.array.rawValue)
    }

    private func takeObject(_ cursor: inout JSONCursor, _ ignored: PointerPlace) -> UInt64 {
        let sum = cursor.enter() ? takeMembers(&cursor, ignored) : 0
        return hash.mixed(Kind.object.rawValue &+ sum, Kind.object.rawValue)
    }

    /// Takes the members of an object from the name at the cursor on, and the bracket. Their order does not matter.
    func takeMembers(_ cursor: inout JSONCursor, _ ignored: PointerPlace) -> UInt64 {
        var sum: UInt64 = 0
        takeMembers(&cursor, ignored) { sum &+= $0 }
        return sum
    }

    /// The same; calls `body` with the hash of each member.
    @inline(__always)
    func takeMembers(_ cursor: inout JSONCursor, _ ignored: PointerPlace, _ body: (UInt64) -> Void) {
        repeat {
            let name = cursor.takeName()
            let place = ignored.below(name)
            if place.isEnd {
                cursor.skipValue()
            } else {
                let mark = fingerprint(of: name, by: hash)
                body(hash.mixed(mark, takeValue(&cursor, place)))
            }
        } while cursor.takesComma()
    }
}
