// Values as JSON without Foundation. Containers may be filled in any order, so a value is a tree before it is text.

extension JSONWriter {
    /// Appends a value as its own `encode(to:)` writes it: what only Foundation's `JSONEncoder` knows, such as its form
    /// of `Data`, `URL` and `Decimal`, is not known here.
    ///
    /// - Throws: what the value throws, and `EncodingError.invalidValue` for a number that JSON does not have.
    mutating func append(encoding value: some Encodable) throws {
        let root = EncodedValue()
        try root.encode(value)
        root.write(into: &self)
    }
}

/// A value while it is encoded.
private final class EncodedValue: Encoder, SingleValueEncodingContainer {
    let codingPath: [any CodingKey]
    /// Finished JSON, of what has no parts: what encodes nothing is an object, as in Foundation.
    private var text = Array("{}".utf8)
    /// What an object or an array holds; elements have no names.
    private(set) var parts: [(name: String?, value: EncodedValue)]?
    private var isObject = false
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ codingPath: [any CodingKey] = []) { self.codingPath = codingPath }

    func append(_ name: String? = nil, below key: [any CodingKey] = []) -> EncodedValue {
        let value = EncodedValue(codingPath + key)
        parts?.append((name, value))
        return value
    }

    func write(into writer: inout JSONWriter) {
        guard let parts else { return writer.append(text) }
        writer.append(isObject ? "{" : "[")
        for (name, value) in parts {
            writer.separate()
            if let name {
                writer.append(string: name)
                writer.append(":")
            }
            value.write(into: &writer)
        }
        writer.append(isObject ? "}" : "]")
    }

    /// A class and its superclass may both begin the object.
    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        (parts, isObject) = (parts ?? [], true)
        return KeyedEncodingContainer(EncodedMembers<Key>(object: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        (parts, isObject) = (parts ?? [], false)
        return EncodedElements(array: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { text = Array("null".utf8) }

    func encode(_ new: some Encodable) throws {
        var writer = JSONWriter(capacity: 0)
        switch new {
        case let json as JSONText: writer.append(json.bytes)
        case let text as String: writer.append(string: text)
        case let flag as Bool: writer.append(flag ? "true" : "false")
        case let number as any BinaryInteger: writer.append(verbatim: number.description)
        case let number as any BinaryFloatingPoint:
            guard number.isFinite else {
                let context = EncodingError.Context(codingPath: codingPath, debugDescription: "JSON has no \(number)")
                throw EncodingError.invalidValue(new, context)
            }
            let text = "\(number)"
            writer.append(verbatim: text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
        default: return try new.encode(to: self)
        }
        text = writer.bytes()
    }
}

/// An array's elements.
private struct EncodedElements: UnkeyedEncodingContainer {
    let array: EncodedValue
    var codingPath: [any CodingKey] { array.codingPath }
    var count: Int { array.parts?.count ?? 0 }

    func encodeNil() { array.append().encodeNil() }
    func encode(_ element: some Encodable) throws { try array.append().encode(element) }
    func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        array.append().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { array.append().unkeyedContainer() }
    func superEncoder() -> any Encoder { array.append() }
}

/// An object's members.
private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let object: EncodedValue
    var codingPath: [any CodingKey] { object.codingPath }

    private func member(_ key: Key) -> EncodedValue { object.append(key.stringValue, below: [key]) }

    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode(_ value: some Encodable, forKey key: Key) throws { try member(key).encode(value) }
    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        member(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { object.append("super") }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

// MARK: - JSON in other encoders

extension JSONText: Encodable {
    /// Encodes the value. An encoder of another format takes numbers as `Int64`, `UInt64` or `Double`.
    ///
    /// - Throws: `EncodingError.invalidValue` for a number that none of them holds.
    public func encode(to encoder: any Encoder) throws { try EncodedSlice(slice: slice).encode(to: encoder) }
}

/// A JSON value as one of an encoder.
private struct EncodedSlice: Encodable {
    let slice: JSONSlice

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if slice.isNull { return try container.encodeNil() }
        if let text = slice.string { return try container.encode(text) }
        if let flag = slice.flag { return try container.encode(flag) }
        // As a dictionary: no key strategy changes its names.
        if let members = slice.members { return try container.encode(members.mapValues(EncodedSlice.init)) }
        if let elements = slice.elements { return try container.encode(elements.map(EncodedSlice.init)) }
        let text = String(decoding: slice.text, as: UTF8.self)
        if let integer = Int64(text) { return try container.encode(integer) }
        if let integer = UInt64(text) { return try container.encode(integer) }
        guard let number = slice.number, number.isFinite, Self.isSame(text, "\(number)") else {
            let why = "\(text) has more digits than an encoder takes"
            throw EncodingError.invalidValue(
                text, EncodingError.Context(codingPath: encoder.codingPath, debugDescription: why))
        }
        try container.encode(number)
    }

    private static func isSame(_ one: String, _ other: String) -> Bool {
        Array(one.utf8).withUnsafeBytes { one in
            Array(other.utf8).withUnsafeBytes { DecimalToken.compare(DecimalToken(one), DecimalToken($0)) == 0 }
        }
    }
}
