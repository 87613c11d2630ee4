/// Writes an object, member by member, omitting those whose values are nil.
package struct JSONObject: Sendable {
    /// The object so far. Append only values, or whole members after the first one.
    package var writer: JSONWriter

    package init(capacity: Int = 256) {
        writer = JSONWriter(capacity: capacity)
        writer.append("{")
    }

    /// Begins a member; append its value to `writer` next.
    package mutating func name(_ name: StaticString) {
        writer.separate()
        writer.append("\"")
        writer.append(name)
        writer.append("\":")
    }

    /// Begins a member whose name is known only now.
    package mutating func name(of name: String) {
        writer.separate()
        writer.append(string: name)
        writer.append(":")
    }

    package mutating func number(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        self.name(name)
        writer.append(value)
    }

    package mutating func text(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        writer.append(string: value)
    }

    /// A string of 16 hexadecimal digits.
    package mutating func hex(_ name: StaticString, _ value: UInt64) {
        self.name(name)
        writer.append("\"")
        writer.append(hex: value)
        writer.append("\"")
    }

    /// A value that is JSON already.
    package mutating func json(_ name: StaticString, _ value: [UInt8]) {
        self.name(name)
        writer.append(value)
    }

    package mutating func null(_ name: StaticString) {
        self.name(name)
        writer.append("null")
    }

    package mutating func list<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ write: (inout JSONObject, Element) -> Void
    ) {
        self.name(name)
        writer.append("[")
        for element in elements {
            writer.separate()
            write(&self, element)
        }
        writer.append("]")
    }

    package mutating func object(_ name: StaticString, _ members: (inout JSONObject) -> Void) {
        self.name(name)
        object(members)
    }

    /// An object as an element of a list.
    package mutating func object(_ members: (inout JSONObject) -> Void) {
        writer.append("{")
        members(&self)
        writer.append("}")
    }

    package consuming func bytes() -> [UInt8] {
        writer.append("}")
        return writer.bytes()
    }

    /// The whole object as the body of an answer, with a line feed at its end for terminals.
    package consuming func body() -> [UInt8] {
        writer.append("}\n")
        return writer.bytes()
    }
}

// MARK: - Members one by one

/// The members of an object and of all objects nested in it, listed in one pass and taken by name.
///
/// A member of a nested object follows the member that holds the object, so a walk over siblings skips nested ones in
/// one step. Listing each object's members on arrival would read the deepest bytes once per level. Arrays have none.
struct JSONMembers {
    struct Member {
        var name: JSONString
        var value: UnsafeRawBufferPointer
        /// Index after the last member nested in the value.
        fileprivate(set) var end: Int
        fileprivate(set) var isTaken = false

        /// Whether the value is an object, whose members are listed.
        var isObject: Bool { value.first == UInt8(ascii: "{") }
        var isNull: Bool { value.first == UInt8(ascii: "n") }
    }

    private var members: [Member] = []

    init() {}

    init(_ object: UnsafeRawBufferPointer) { load(object) }

    /// Lists the members of an object in place of those listed before; any other value has none. O(bytes).
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

    /// The members of the whole object, nested ones included.
    var all: Range<Int> { members.indices }

    /// The members nested in a member's value.
    func inside(_ index: Int) -> Range<Int> { index + 1..<members[index].end }

    mutating func take(_ index: Int) { members[index].isTaken = true }

    /// The first member from `index` on not taken, of the object with this range; its end if none is left.
    func firstLeft(from index: Int, in range: Range<Int>) -> Int {
        var index = index
        while index < range.upperBound, members[index].isTaken { index = members[index].end }
        return index
    }
}

/// Finds the members of one object by name: O(1), except that the first name asked for out of order costs O(members).
struct MemberSearch {
    private let range: Range<Int>
    private var expected: Int
    /// Nil until it is needed.
    private var table: NameTable?

    init(_ range: Range<Int>) { (self.range, expected) = (range, range.lowerBound) }

    mutating func find(_ name: JSONString, in members: JSONMembers) -> Int? {
        let isExpected = expected < range.upperBound && members[expected].name == name
        guard let index = isExpected ? expected : search(for: name, in: members) else { return nil }
        expected = members[index].end
        return index
    }

    private mutating func search(for name: JSONString, in members: JSONMembers) -> Int? {
        if table == nil {
            var table = NameTable(0)
            var index = range.lowerBound
            while index < range.upperBound {
                _ = table.insert(NameTable.hash(members[index].name), index)
                index = members[index].end
            }
            self.table = table
        }
        return table!.first(NameTable.hash(name)) { members[$0].name == name }
    }
}
