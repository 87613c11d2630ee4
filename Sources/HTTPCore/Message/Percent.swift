/// Percent-encoding and decoding (RFC 3986 §2.1).
///
/// A path is split at its raw `/` before its segments are decoded, so `%2F` is a character of a segment and not a
/// separator. Nothing is decoded twice, so `%2525` is `%25`.
package enum Percent {
    /// The decoded text; nil if an escape is malformed, or the result is not UTF-8 or contains NUL.
    static func decoded(_ encoded: UnsafeRawBufferPointer) -> String? {
        guard encoded.position(of: UInt8(ascii: "%"), from: 0) != nil else {
            return String(decoding: encoded, as: UTF8.self)  // the parser has checked that it is ASCII
        }
        var octets: [UInt8] = []
        octets.reserveCapacity(encoded.count)
        var index = 0
        while index < encoded.count {
            var octet = encoded[index]
            if octet == UInt8(ascii: "%") {
                guard let escaped = Self.octet(encoded, index) else { return nil }
                octet = escaped
                index += 2
            }
            guard octet != 0 else { return nil }
            octets.append(octet)
            index += 1
        }
        return String(validating: octets, as: UTF8.self)
    }

    /// The decoded text, under the same rules.
    package static func decoded(_ encoded: some StringProtocol) -> String? {
        var text = String(encoded)
        return text.withUTF8 { decoded(UnsafeRawBufferPointer($0)) }
    }

    /// The text with an escape for each octet that `isKept` does not accept.
    package static func encoded(_ text: String, keeping isKept: (UInt8) -> Bool) -> String {
        let octets = text.utf8.map { isKept($0) ? [$0] : Array("%\(Hex.encode([$0]).uppercased())".utf8) }
        return String(decoding: octets.joined(), as: UTF8.self)
    }

    /// Whether an octet means the same with and without an escape, wherever it is (RFC 3986 §2.3).
    package static func isUnreserved(_ octet: UInt8) -> Bool { OctetSet.unreserved.contains(octet) }

    /// The octet that the escape at `index` stands for, or nil if it is malformed.
    static func octet(_ encoded: UnsafeRawBufferPointer, _ index: Int) -> UInt8? {
        guard index + 2 < encoded.count else { return nil }
        guard let high = encoded[index + 1].hexValue, let low = encoded[index + 2].hexValue else { return nil }
        return high << 4 | low
    }

    /// The segments of a path without its leading slash, which the parser has checked.
    static func segments(_ path: UnsafeRawBufferPointer) -> [String] {
        if path.isEmpty { return [] }
        return path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
            checked(UnsafeRawBufferPointer(rebasing: $0))
        }
    }

    static func segment(_ index: Int, of path: UnsafeRawBufferPointer) -> String {
        var start = 0
        for _ in 0..<index { start = (path.position(of: UInt8(ascii: "/"), from: start) ?? path.count) + 1 }
        return checked(path.slice(start, path.position(of: UInt8(ascii: "/"), from: start) ?? path.count))
    }

    fileprivate static func checked(_ encoded: UnsafeRawBufferPointer) -> String {
        guard let text = decoded(encoded) else { preconditionFailure("the parser has not checked this") }
        return text
    }
}

/// One `name=value` of a query, decoded.
///
/// A `+` stays a `+`: this is a URI's query, not a form. A name without `=` has the value `""`.
public struct QueryItem: Sendable, Hashable {
    /// The decoded name.
    public var name: String
    /// The decoded value.
    public var value: String

    /// A decoded pair.
    public init(name: String, value: String) { (self.name, self.value) = (name, value) }

    /// The items of a query that the parser has checked. `isForm`: whether `+` is a space.
    static func items(_ query: UnsafeRawBufferPointer, isForm: Bool = false) -> [QueryItem] {
        if isForm {
            let spaced = query.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
            return spaced.withUnsafeBytes { Self.items($0) }
        }
        var items: [QueryItem] = []
        var start = 0
        while start < query.count {
            let end = query.position(of: UInt8(ascii: "&"), from: start) ?? query.count
            let pair = query.slice(start, end)
            start = end + 1
            if pair.isEmpty { continue }
            let equals = pair.position(of: UInt8(ascii: "="), from: 0) ?? pair.count
            let value = pair.slice(min(equals + 1, pair.count), pair.count)
            items.append(QueryItem(name: Percent.checked(pair.slice(0, equals)), value: Percent.checked(value)))
        }
        return items
    }
}
