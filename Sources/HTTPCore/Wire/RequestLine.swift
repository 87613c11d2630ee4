/// `method SP target SP version` (RFC 9112 §3), as positions in the head's bytes.
struct RequestLine: Sendable {
    /// The forms of a target, except for the one that only proxies serve.
    enum Form: Sendable, Equatable {
        case origin
        case asterisk
        /// The authority, and the path and query that follow it.
        case absolute(authority: Range<Int>, rest: Range<Int>)
    }

    let method: Method
    let targetRange: Range<Int>
    let form: Form
    let isHTTP10: Bool

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) {
        var index = range.lowerBound
        while index < range.upperBound, OctetSet.token.contains(bytes[index]) { index += 1 }
        guard index < range.upperBound else { throw .malformed(.requestLine) }
        guard bytes[index] == .space, index > range.lowerBound else { throw .malformed(.method) }
        let targetStart = index + 1
        guard let targetEnd = bytes.slice(0, range.upperBound).position(of: .space, from: targetStart),
            targetEnd > targetStart
        else { throw .malformed(.requestLine) }
        isHTTP10 = try Self.isVersion10(bytes.slice(targetEnd + 1, range.upperBound))
        method = Method(bytes.slice(range.lowerBound, index))
        targetRange = targetStart..<targetEnd
        form = try Self.form(method, bytes, targetRange)
    }

    /// The positions of the path, without its leading slash, and of the query; no path if the target is the server. Nil
    /// if an escape or the UTF-8 behind it is malformed. That is checked for the whole at once: neither an escape nor a
    /// character can contain `/`, `?`, `&` or `=`.
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
        let schemeEnd: Int
        if text.count > 7, text.slice(0, 4).spellsIgnoringCase("http"), text.slice(4, 7).spells("://") {
            schemeEnd = 7
        } else if text.count > 8, text.slice(0, 5).spellsIgnoringCase("https"), text.slice(5, 8).spells("://") {
            schemeEnd = 8
        } else {
            throw .malformed(.target)
        }
        var end = schemeEnd
        while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") { end += 1 }
        let authority = range.lowerBound + schemeEnd..<range.lowerBound + end
        let rest = range.lowerBound + end..<range.upperBound
        guard HostValue.isValid(text.slice(schemeEnd, end)), isURIText(bytes, rest) else { throw .malformed(.target) }
        return .absolute(authority: authority, rest: rest)
    }

    private static func isURIText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        bytes.slice(range).allSatisfy(OctetSet.uri.contains)  // escapes are checked when they are decoded
    }
}
