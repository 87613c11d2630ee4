/// Percent-decoding, done once (RFC 3986 §2.1).
///
/// A path is split at its raw `/` before its segments are decoded, so `%2F` is a character of a segment and never a
/// border. What is decoded is never decoded again, so `%2525` is `%25`.
enum Percent {
    /// The text that `encoded` stands for, or nil if an escape is not `%` and two hexadecimal digits, the octets are
    /// not UTF-8, or one of them is NUL.
    static func decoded(_ encoded: UnsafeRawBufferPointer) -> String? {
        guard encoded.position(of: UInt8(ascii: "%"), from: 0) != nil else {
            return String(decoding: encoded, as: UTF8.self)  // ASCII: the parser has checked each octet
        }
        var octets: [UInt8] = []
        octets.reserveCapacity(encoded.count)
        var index = 0
        while index < encoded.count {
            var octet = encoded[index]
            if octet == UInt8(ascii: "%") {
                guard index + 2 < encoded.count, let high = encoded[index + 1].hexValue,
                    let low = encoded[index + 2].hexValue
                else { return nil }
                octet = high << 4 | low
                index += 2
            }
            guard octet != 0 else { return nil }
            octets.append(octet)
            index += 1
        }
        return String(validating: octets, as: UTF8.self)
    }
}

/// One `name=value` of a query, decoded.
///
/// A `+` stays a `+`: this is the query of a URI, not a form. A name without `=` has the value `""`.
public struct QueryItem: Sendable, Hashable {
    /// The decoded name.
    public var name: String
    /// The decoded value.
    public var value: String

    /// A decoded pair.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// The request target, taken apart and decoded.
struct Target: Sendable, Equatable {
    var path: [String]
    var query: [QueryItem]

    /// `OPTIONS *`: the server, not a resource of it.
    static let asterisk = Target(path: ["*"], query: [])

    /// - Parameter text: a path that starts with `/` or is empty, and perhaps a query; each octet is of the URI
    ///   grammar.
    init?(_ text: UnsafeRawBufferPointer) {
        let mark = text.position(of: UInt8(ascii: "?"), from: 0) ?? text.count
        guard let path = Self.segments(text.slice(0, mark)),
            let query = Self.items(text.slice(min(mark + 1, text.count), text.count))
        else { return nil }
        self.init(path: path, query: query)
    }

    private init(path: [String], query: [QueryItem]) {
        self.path = path
        self.query = query
    }

    private static func segments(_ path: UnsafeRawBufferPointer) -> [String]? {
        guard path.count > 1 else { return [] }
        var segments: [String] = []
        segments.reserveCapacity(6)
        var start = 1
        while start <= path.count {
            let end = path.position(of: UInt8(ascii: "/"), from: start) ?? path.count
            guard let segment = Percent.decoded(path.slice(start, end)) else { return nil }
            segments.append(segment)
            start = end + 1
        }
        return segments
    }

    private static func items(_ query: UnsafeRawBufferPointer) -> [QueryItem]? {
        var items: [QueryItem] = []
        var start = 0
        while start < query.count {
            let end = query.position(of: UInt8(ascii: "&"), from: start) ?? query.count
            let pair = query.slice(start, end)
            start = end + 1
            if pair.isEmpty { continue }
            let equals = pair.position(of: UInt8(ascii: "="), from: 0) ?? pair.count
            guard let name = Percent.decoded(pair.slice(0, equals)),
                let value = Percent.decoded(pair.slice(min(equals + 1, pair.count), pair.count))
            else { return nil }
            items.append(QueryItem(name: name, value: value))
        }
        return items
    }
}
