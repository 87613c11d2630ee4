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
/// Exact while members are in the same order. Otherwise two different values are taken for the same with a chance of 1
/// in 2^64, since they are compared by a hash keyed per process.
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

/// Takes a value from each cursor; true if they are the same. Otherwise the cursors are left anywhere.
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
        if let inner = ignored.below(index) {
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

/// Takes the rest of an array; true if all of it is ignored.
private func takesIgnored(_ cursor: inout JSONCursor, from start: Int, _ ignored: PlaceSet) -> Bool {
    var index = start
    repeat {
        if ignored.below(index) != nil { return false }
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
        if let inner = ignored.below(name) {
            guard takesSameValue(&left, &right, inner) else { return false }
        } else {
            left.skipValue()
            right.skipValue()
        }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
    }
    return (!hasLeft || takesIgnoredMembers(&left, ignored)) && (!hasRight || takesIgnoredMembers(&right, ignored))
}

/// Takes the rest of an object; true if all of it is ignored.
private func takesIgnoredMembers(_ cursor: inout JSONCursor, _ ignored: PlaceSet) -> Bool {
    repeat {
        if ignored.below(cursor.takeName()) != nil { return false }
        cursor.skipValue()
    } while cursor.takesComma()
    return true
}
