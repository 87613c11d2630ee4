import CDiffSystem

/// `method SP target SP version` (RFC 9112 §3), as positions in the head's bytes.
struct RequestLine: Sendable {
    /// The forms of a target, except for the one that only proxies serve.
    enum Form: Sendable, Equatable {
        case origin, asterisk
        /// The authority, and the path and query that follow it.
        case absolute(authority: Range<Int>, rest: Range<Int>)
    }

    let method: Method
    let targetRange: Range<Int>
    let form: Form
    let isHTTP10: Bool
}

extension RequestLine {
    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) {
        var index = range.lowerBound
        while index < range.upperBound, OctetSet.token.contains(bytes[index]) { index += 1 }
        guard index < range.upperBound else { throw .malformed(.requestLine) }
        guard bytes[index] == .space, index > range.lowerBound else { throw .malformed(.method) }
        let targetStart = index + 1
        guard let targetEnd = bytes.slice(0, range.upperBound).position(of: .space, from: targetStart),
            targetEnd > targetStart
        else { throw .malformed(.requestLine) }
        let isHTTP10 = try Self.isVersion10(bytes.slice(targetEnd + 1, range.upperBound))
        let method = Method(bytes.slice(range.lowerBound, index))
        let target = targetStart..<targetEnd
        self.init(
            method: method, targetRange: target, form: try Self.form(method, bytes, target), isHTTP10: isHTTP10)
    }

    /// The positions of the path, without its leading slash, and of the query; no path if the target is the server. Nil
    /// if an escape or the UTF-8 behind it is malformed, neither of which can contain `/`, `?`, `&` or `=`.
    func resource(_ bytes: UnsafeRawBufferPointer) -> (path: Range<Int>?, query: Range<Int>)? {
        let text: Range<Int>
        switch form {
        case .asterisk: return (nil, 0..<0)
        case .origin: text = targetRange
        case .absolute(_, let rest) where rest.isEmpty && method == .options: return (nil, rest)
        case .absolute(_, let rest): text = rest
        }
        let octets = bytes.slice(text)
        if octets.position(of: UInt8(ascii: "%"), from: 0) != nil, Percent.decoded(octets) == nil { return nil }
        let end = text.lowerBound + (octets.position(of: UInt8(ascii: "?"), from: 0) ?? octets.count)
        return (min(text.lowerBound + 1, end)..<end, min(end + 1, text.upperBound)..<text.upperBound)
    }

    /// Whether the version is 1.0. Any higher minor version is treated as 1.1 (RFC 9110 §2.5).
    private static func isVersion10(_ text: UnsafeRawBufferPointer) throws(Refusal) -> Bool {
        guard text.count == 8, text.slice(0, 5).spells("HTTP/"), text[5].isDigit, text[6] == UInt8(ascii: "."),
            text[7].isDigit
        else { throw .malformed(text.position(of: .space, from: 0) == nil ? .version : .requestLine) }
        guard text[5] == UInt8(ascii: "1") else { throw .unsupportedVersion }
        return text[7] == UInt8(ascii: "0")
    }

    private static func form(
        _ method: Method, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(Refusal) -> Form {
        if case .other("CONNECT") = method { throw .malformed(.connect) }
        if bytes[range.lowerBound] == UInt8(ascii: "/") {
            guard isURIText(bytes, range) else { throw .malformed(.target) }
            return .origin
        }
        guard range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") else { return try absolute(bytes, range) }
        guard case .options = method else { throw .malformed(.target) }
        return .asterisk
    }

    /// `http://authority/path?query`. Other schemes, user information and a missing host are refused.
    private static func absolute(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) -> Form {
        let text = bytes.slice(range.lowerBound, range.upperBound)
        guard let colon = text.position(of: UInt8(ascii: ":"), from: 0), text.count > colon + 3,
            text.slice(0, colon).spellsIgnoringCase("http") || text.slice(0, colon).spellsIgnoringCase("https"),
            text.slice(colon, colon + 3).spells("://")
        else { throw .malformed(.target) }
        var end = colon + 3
        while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") { end += 1 }
        let authority = range.lowerBound + colon + 3..<range.lowerBound + end
        let rest = range.lowerBound + end..<range.upperBound
        guard HostValue.isValid(bytes.slice(authority)), isURIText(bytes, rest) else { throw .malformed(.target) }
        return .absolute(authority: authority, rest: rest)
    }

    private static func isURIText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        bytes.slice(range).allSatisfy(OctetSet.uri.contains)  // escapes are checked when they are decoded
    }
}

/// The value of Host, or the authority of a target: `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2).
///
/// Stricter than the grammar: no empty host, no percent-encoding or sub-delimiters, no empty label, no numeric host
/// other than a dotted-decimal IPv4 address, no IPv6 zone, no port above 65535. Only mistakes and attacks use those.
package enum HostValue {
    package static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first else { return false }
        if first == UInt8(ascii: "[") {
            guard let end = value.position(of: UInt8(ascii: "]"), from: 1) else { return false }
            return isAddress(value.slice(1, end), AF_INET6) && isPortSuffix(value.slice(end + 1, value.count))
        }
        let end = value.position(of: UInt8(ascii: ":"), from: 0) ?? value.count
        return isName(value.slice(0, end)) && isPortSuffix(value.slice(end, value.count))
    }

    /// Whether the text is empty, or a colon and an optional port.
    private static func isPortSuffix(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let colon = text.first else { return true }
        guard colon == UInt8(ascii: ":") else { return false }
        var port = 0
        for octet in text.dropFirst() {
            guard octet.isDigit else { return false }
            port = port * 10 + Int(octet - 0x30)
            guard port <= 65535 else { return false }
        }
        return true
    }

    private static func isName(_ name: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        var label = 0..<0
        while label.upperBound < name.count {
            let end = name.position(of: UInt8(ascii: "."), from: start) ?? name.count
            // One dot may end the name; no other label is empty.
            if start == end { return end == name.count && !isNumeric(name, label) }
            guard name.slice(start, end).allSatisfy({ OctetSet.unreserved.contains($0) }) else { return false }
            label = start..<end
            start = end + 1
        }
        return !name.isEmpty && (!isNumeric(name, label) || isAddress(name, AF_INET))
    }

    /// Whether a lenient resolver would read a name with this last label as an address (`0x7f.1`, `2130706433`).
    private static func isNumeric(_ name: UnsafeRawBufferPointer, _ label: Range<Int>) -> Bool {
        let label = name.slice(label)
        if label.allSatisfy(\.isDigit) { return true }
        return label.count > 2 && label.slice(0, 2).spellsIgnoringCase("0x")
            && label.slice(2, label.count).allSatisfy { $0.hexValue != nil }
    }

    /// For IPv4, inet_pton(3) accepts four numbers without leading zeros, and nothing else.
    private static func isAddress(_ text: UnsafeRawBufferPointer, _ family: Int32) -> Bool {
        var address = in6_addr()
        return text.position(of: 0, from: 0) == nil
            && inet_pton(family, String(decoding: text, as: UTF8.self), &address) == 1
    }
}
