// When are two contents the same JSON value? White space, order of members and the way a string is escaped do not
// matter; number tokens are compared as text, so that 1.0 and 1 differ and nothing above 2^53 is ever mistaken. Most
// pairs are the same bytes, which one memcmp tells; the next most common are the same members in the same order, which
// two cursors in step tell without an allocation. Where two names differ, the members that are left of the two objects
// are compared by a hash that does not see their order. So after the memcmp each byte is read once, in step or by the
// hash, however deep it stands.
//
// Rejected: searching for each name. To list the members of an object is to skip what is in them, and their own objects
// do so again: the depth times the bytes, or, for whoever starts over at the first name that differs, two to the power
// of the depth.

/// Whether two accepted JSON texts are the same value, leaving out `ignored`. O(n).
///
/// Exact while members stand in the same order. Two different values whose members do not are taken for one with a
/// chance of 1 in 2^64, by a hash that is keyed by the process.
func sameValue(
    _ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, ignoring ignored: PlaceSet
) -> Bool {
    guard one.count > 0, other.count > 0, let first = one.baseAddress, let second = other.baseAddress else {
        return one.count == other.count
    }
    if one.count == other.count, compareBytes(first, second, one.count) == 0 { return true }
    var left = JSONCursor(first)
    var right = JSONCursor(second)
    return takesSameValue(&left, &right, ignored)
}

/// Takes a value from each cursor if they are the same; where it returns false the cursors stand anywhere.
private func takesSameValue(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PlaceSet) -> Bool {
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

private func takesSameArray(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PlaceSet) -> Bool {
    var (hasLeft, hasRight) = (left.enter(), right.enter())
    var index = 0
    while hasLeft, hasRight {
        if let inner = ignored.isEmpty ? ignored : ignored.below(index) {
            guard takesSameValue(&left, &right, inner) else { return false }
        } else {
            left.skipValue()
            right.skipValue()
        }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
        index += 1
    }
    return (!hasLeft || takesIgnored(&left, from: index, ignored))
        && (!hasRight || takesIgnored(&right, from: index, ignored))
}

/// Takes the rest of an array, if all of it is left out.
private func takesIgnored(_ cursor: inout JSONCursor, from start: Int, _ ignored: PlaceSet) -> Bool {
    var index = start
    repeat {
        if ignored.isEmpty || ignored.below(index) != nil { return false }
        cursor.skipValue()
        index += 1
    } while cursor.takesComma()
    return true
}

private func takesSameObject(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: PlaceSet) -> Bool {
    var (hasLeft, hasRight) = (left.enter(), right.enter())
    while hasLeft, hasRight {
        let (leftMember, rightMember) = (left, right)
        let name = left.takeName()
        guard name == right.takeName() else {
            (left, right) = (leftMember, rightMember)
            return takeMembers(&left, .process, ignored) == takeMembers(&right, .process, ignored)
        }
        if let inner = ignored.isEmpty ? ignored : ignored.below(name) {
            guard takesSameValue(&left, &right, inner) else { return false }
        } else {
            left.skipValue()
            right.skipValue()
        }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
    }
    return (!hasLeft || takesIgnoredMembers(&left, ignored)) && (!hasRight || takesIgnoredMembers(&right, ignored))
}

/// Takes the rest of an object, if all of it is left out.
private func takesIgnoredMembers(_ cursor: inout JSONCursor, _ ignored: PlaceSet) -> Bool {
    repeat {
        if ignored.isEmpty || ignored.below(cursor.takeName()) != nil { return false }
        cursor.skipValue()
    } while cursor.takesComma()
    return true
}
