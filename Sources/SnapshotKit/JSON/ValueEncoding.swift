// Values as JSON without Foundation. Containers may be filled in any order, so a value is a tree before it is text.

extension JSONWriter {
    /// Appends a value as its own `encode(to:)` writes it: what only Foundation's `JSONEncoder` knows, such as its form
    /// of `Data`, `URL` and `Decimal`, is not known here.
    ///
    /// - Throws: what the value throws, and `EncodingError.invalidValue` for a number that JSON does not have.
    mutating func append(encoding value: some Encodable) throws {
        let root = EncodedValue()
        try EncodedPlace(value: root, codingPath: []).encode(value)
        root.write(into: &self)
    }
}

/// A value while it is encoded.
private final class EncodedValue {
    /// Finished JSON, of what has no parts: what encodes nothing is an object, as in Foundation.
    var text = Array("{}".utf8)
    /// What an object or an array holds; elements have no names.
    private(set) var parts: [(name: String?, value: EncodedValue)]?
    private var isObject = false

    func begin(asObject: Bool) { (parts, isObject) = (parts ?? [], asObject) }

    func append(_ name: String? = nil) -> EncodedValue {
        let value = EncodedValue()
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
}

// MARK: - The encoder

/// A place in the tree.
private struct EncodedPlace: Encoder, SingleValueEncodingContainer {
    let value: EncodedValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// A class and its superclass may both begin the object.
    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        value.begin(asObject: true)
        return KeyedEncodingContainer(EncodedMembers<Key>(place: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        value.begin(asObject: false)
        return EncodedElements(place: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() { value.text = Array("null".utf8) }

    func encode(_ new: some Encodable) throws {
        var writer = JSONWriter(capacity: 0)
        switch new {
        case let text as JSONText: return value.text = text.bytes
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
        value.text = writer.bytes()
    }
}

/// An array's elements.
private struct EncodedElements: UnkeyedEncodingContainer {
    let place: EncodedPlace
    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { place.value.parts?.count ?? 0 }

    private func next() -> EncodedPlace { EncodedPlace(value: place.value.append(), codingPath: place.codingPath) }

    func encodeNil() { next().encodeNil() }
    func encode(_ element: some Encodable) throws { try next().encode(element) }
    func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> { next().container(keyedBy: type) }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
}

/// An object's members.
private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: EncodedPlace
    var codingPath: [any CodingKey] { place.codingPath }

    private func member(_ key: Key) -> EncodedPlace {
        EncodedPlace(value: place.value.append(key.stringValue), codingPath: place.codingPath + [key])
    }

    func encodeNil(forKey key: Key) { member(key).encodeNil() }
    func encode(_ value: some Encodable, forKey key: Key) throws { try member(key).encode(value) }
    func nestedContainer<Nested>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        member(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder {
        EncodedPlace(value: place.value.append("super"), codingPath: place.codingPath)
    }
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
