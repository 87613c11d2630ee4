/// The members of an object and of all objects in it, listed in one pass and to be taken by name.
///
/// A member of a nested object stands behind the member that holds the object, so that a walk from member to member
/// skips what is in them in one step: who lists the members of each object as it comes to it reads the deepest bytes
/// once a level. What is in an array is not listed.
struct JSONMembers {
    struct Member {
        var name: JSONString
        var value: UnsafeRawBufferPointer
        /// Behind all that is in the value.
        fileprivate(set) var end: Int
        fileprivate(set) var isTaken = false

        /// Whether the value is an object, whose members are listed.
        var isObject: Bool { value.first == UInt8(ascii: "{") }
        var isNull: Bool { value.first == UInt8(ascii: "n") }
    }

    private var members: [Member] = []

    /// No members yet.
    init() {}

    /// Lists the members of an object. O(bytes).
    init(_ object: UnsafeRawBufferPointer) { load(object) }

    /// Lists the members of an object, in place of any other's; of any other value there are none. O(bytes).
    mutating func load(_ object: UnsafeRawBufferPointer) {
        members.removeAll(keepingCapacity: true)
        guard object.first == UInt8(ascii: "{") else { return }
        var cursor = JSONCursor(object.baseAddress!)
        append(&cursor)
    }

    private mutating func append(_ object: inout JSONCursor) {
        guard object.enter() else { return }
        repeat {
            let name = object.takeName()
            let (index, start) = (members.count, object.at)
            members.append(Member(name: name, value: UnsafeRawBufferPointer(start: start, count: 1), end: 0))
            if object.byte == UInt8(ascii: "{") { append(&object) } else { object.skipValue() }
            members[index].value = UnsafeRawBufferPointer(start: start, count: object.at - start)
            members[index].end = members.count
        } while object.takesComma()
    }

    subscript(index: Int) -> Member { members[index] }

    /// Where the members of the whole object stand, with all that is in them.
    var all: Range<Int> { members.indices }

    /// Where the members of a member's value stand.
    func inside(_ index: Int) -> Range<Int> { index + 1..<members[index].end }

    /// Takes a member: it is then no longer left.
    mutating func take(_ index: Int) { members[index].isTaken = true }

    /// The first member at or behind `index`, of those of the object whose members stand in `range`, that was not
    /// taken; the end of `range` if there is none.
    func firstLeft(from index: Int, in range: Range<Int>) -> Int {
        var index = index
        while index < range.upperBound, members[index].isTaken { index = members[index].end }
        return index
    }
}

/// Finds the members of one object by name. Those asked for in their own order cost O(1), and so do others, but that
/// the first of them costs O(members).
struct MemberSearch {
    private let range: Range<Int>
    private var expected: Int
    /// Hash of a name above the member's index and one; zero where there is none. Empty until it is needed.
    private var slots: [UInt64] = []

    /// Searches the members that stand in a range.
    init(_ range: Range<Int>) {
        self.range = range
        expected = range.lowerBound
    }

    /// The member of that name.
    mutating func find(_ name: JSONString, in members: JSONMembers) -> Int? {
        if expected < range.upperBound, members[expected].name == name {
            defer { expected = members[expected].end }
            return expected
        }
        if slots.isEmpty { fill(members) }
        let hash = Self.hash(name)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let index = Int(truncatingIfNeeded: slots[slot] & 0xFFFF_FFFF) - 1
            if slots[slot] >> 32 == hash, members[index].name == name {
                expected = members[index].end
                return index
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private mutating func fill(_ members: JSONMembers) {
        var size = 16
        var count = 0
        var index = range.lowerBound
        while index < range.upperBound {
            count += 1
            if count * 2 > size { size *= 2 }
            index = members[index].end
        }
        slots = [UInt64](filled: 0, count: size)
        index = range.lowerBound
        while index < range.upperBound {
            let hash = Self.hash(members[index].name)
            var slot = Int(truncatingIfNeeded: hash) & (size - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = hash << 32 | UInt64(truncatingIfNeeded: index + 1)
            index = members[index].end
        }
    }

    private static func hash(_ name: JSONString) -> UInt64 { fingerprint(of: name, by: .process) >> 32 }
}
