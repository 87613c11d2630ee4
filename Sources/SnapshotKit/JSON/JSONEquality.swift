// When are two contents the same JSON value? White space, order of members and the way a string is escaped do not matter; number
// tokens are compared as text, so that 1.0 and 1 differ and nothing above 2^53 is ever mistaken. Most pairs are the same bytes,
// which one memcmp tells; the next most common are the same members in the same order, which two cursors in step tell without
// an allocation. Only members that changed places cost a search; if there are many of them, memory too.

/// Whether two accepted JSON texts are the same value, leaving out `ignored`. O(n), or O(n log n) where members changed places.
func sameValue(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer, ignoring ignored: IgnoredPlaces) -> Bool {
    guard let first = one.baseAddress, let second = other.baseAddress else { return one.count == other.count }
    if one.count == other.count, compareBytes(first, second, one.count) == 0 { return true }
    var left = JSONCursor(first)
    var right = JSONCursor(second)
    return takesSameValue(&left, &right, ignored)
}

/// Takes a value from each cursor if they are the same; where it returns false the cursors stand anywhere.
private func takesSameValue(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: IgnoredPlaces) -> Bool {
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

private func takesSameArray(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: IgnoredPlaces) -> Bool {
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
    return (!hasLeft || takesIgnored(&left, from: index, ignored)) && (!hasRight || takesIgnored(&right, from: index, ignored))
}

/// Takes the rest of an array, if all of it is left out.
private func takesIgnored(_ cursor: inout JSONCursor, from start: Int, _ ignored: IgnoredPlaces) -> Bool {
    var index = start
    repeat {
        if ignored.isEmpty || ignored.below(index) != nil { return false }
        cursor.skipValue()
        index += 1
    } while cursor.takesComma()
    return true
}

private func takesSameObject(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: IgnoredPlaces) -> Bool {
    guard ignored.isEmpty else { return takesSameMembers(&left, &right, ignored) }
    let (leftStart, rightStart) = (left, right)
    var (hasLeft, hasRight) = (left.enter(), right.enter())
    while hasLeft, hasRight {
        guard left.takeName() == right.takeName() else {
            (left, right) = (leftStart, rightStart)
            return takesSameFewMembers(&left, &right) ?? takesSameMembers(&left, &right, ignored)
        }
        guard takesSameValue(&left, &right, ignored) else { return false }
        (hasLeft, hasRight) = (left.takesComma(), right.takesComma())
    }
    return hasLeft == hasRight
}

/// Where a member of an object stands.
private struct MemberPlace {
    var name: JSONString
    var value: UnsafeRawPointer
}

/// Members in any order, where they are so few that each may be searched for, and that the stack holds them; nil, and nothing taken,
/// if they are more. Members that only changed places as a block are found at once.
private func takesSameFewMembers(_ left: inout JSONCursor, _ right: inout JSONCursor) -> Bool? {
    withUnsafeTemporaryAllocation(of: MemberPlace.self, capacity: 16) { places -> Bool? in
        guard let (count, end) = listMembers(right, places) else { return nil }
        var cursor = left
        var (found, next) = (0, 0)
        guard cursor.enter() else { return count == 0 }
        repeat {
            let name = cursor.takeName()
            // No name stands twice: as many on either side, and each found, are the same members.
            var misses = 0
            while misses < count, places[next].name != name {
                next = next + 1 < count ? next + 1 : 0
                misses += 1
            }
            guard misses < count else { return false }
            var value = JSONCursor(places[next].value)
            guard takesSameValue(&cursor, &value, .none) else { return false }
            next = next + 1 < count ? next + 1 : 0
            found += 1
        } while cursor.takesComma()
        guard found == count else { return false }
        (left, right) = (cursor, end)
        return true
    }
}

/// Lists the members of an object; nil if they are more than there is room for.
private func listMembers(
    _ object: JSONCursor, _ places: UnsafeMutableBufferPointer<MemberPlace>
) -> (count: Int, end: JSONCursor)? {
    var cursor = object
    var count = 0
    guard cursor.enter() else { return (0, cursor) }
    repeat {
        guard count < places.count else { return nil }
        let name = cursor.takeName()
        places.initializeElement(at: count, to: MemberPlace(name: name, value: cursor.at))
        cursor.skipValue()
        count += 1
    } while cursor.takesComma()
    return (count, cursor)
}

private struct Member {
    let name: JSONString
    let value: UnsafeRawPointer
    let ignored: IgnoredPlaces
    let mark: UInt64
}

/// Members in any order, however many: both sides sorted by a hash of the name, then in step.
private func takesSameMembers(_ left: inout JSONCursor, _ right: inout JSONCursor, _ ignored: IgnoredPlaces) -> Bool {
    let ours = members(&left, ignored)
    let theirs = members(&right, ignored)
    guard ours.count == theirs.count else { return false }
    for (one, other) in zip(ours, theirs) {
        guard one.mark == other.mark, one.name == other.name else { return false }
        var (first, second) = (JSONCursor(one.value), JSONCursor(other.value))
        guard takesSameValue(&first, &second, one.ignored) else { return false }
    }
    return true
}

private func members(_ cursor: inout JSONCursor, _ ignored: IgnoredPlaces) -> [Member] {
    var members: [Member] = []
    guard cursor.enter() else { return members }
    repeat {
        let name = cursor.takeName()
        if let inner = ignored.isEmpty ? ignored : ignored.below(name) {
            members.append(
                Member(name: name, value: cursor.at, ignored: inner, mark: fingerprint(of: name, by: .process)))
        }
        cursor.skipValue()
    } while cursor.takesComma()
    members.sort { $0.mark < $1.mark }
    return members
}
