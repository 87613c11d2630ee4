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

    /// The whole object; consumes the writer.
    package consuming func bytes() -> [UInt8] {
        writer.append("}")
        return writer.bytes()
    }
}
