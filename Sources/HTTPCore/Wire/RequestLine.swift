/// `method SP target SP version` (RFC 9112 §3): positions in the bytes of the head.
struct RequestLine: Sendable {
    /// The four forms of a target less the one that only proxies serve.
    enum Form: Sendable, Equatable {
        case origin
        case asterisk
        /// `authority` and what follows it, the path and the query.
        case absolute(authority: Range<Int>, rest: Range<Int>)
    }

    let method: Method
    let targetRange: Range<Int>
    let form: Form
    let isHTTP10: Bool

    init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RefusedHead) {
        var index = range.lowerBound
        while index < range.upperBound, OctetSet.token.contains(bytes[index]) { index += 1 }
        guard index < range.upperBound else { throw Self.refused(.requestLine) }
        guard bytes[index] == .space, index > range.lowerBound else { throw Self.refused(.method) }
        let targetStart = index + 1
        guard let targetEnd = bytes.slice(0, range.upperBound).position(of: .space, from: targetStart),
            targetEnd > targetStart
        else { throw Self.refused(.requestLine) }
        isHTTP10 = try Self.isVersion10(bytes.slice(targetEnd + 1, range.upperBound))
        method = Method(bytes.slice(range.lowerBound, index))
        targetRange = targetStart..<targetEnd
        form = try Self.form(method, bytes, targetRange)
    }

    /// Where the path, less its slash, and the query stand; no path where the target is the server. Nil if an escape
    /// or the UTF-8 behind it is malformed, which need not be looked at part by part: neither an escape nor a character
    /// has a `/`, `?`, `&` or `=` within.
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

    private static func refused(_ reason: Malformation) -> RefusedHead { RefusedHead(refusal: .malformed(reason)) }

    /// Whether the version is 1.0. Any higher minor version is spoken to as 1.1 (RFC 9110 §2.5).
    private static func isVersion10(_ text: UnsafeRawBufferPointer) throws(RefusedHead) -> Bool {
        guard text.count == 8, text.slice(0, 5).spells("HTTP/"), text[5].isDigit, text[6] == UInt8(ascii: "."),
            text[7].isDigit
        else { throw refused(text.position(of: .space, from: 0) == nil ? .version : .requestLine) }
        guard text[5] == UInt8(ascii: "1") else { throw RefusedHead(refusal: .unsupportedVersion) }
        return text[7] == UInt8(ascii: "0")
    }

    private static func form(
        _ method: Method, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) throws(RefusedHead) -> Form {
        if case .other("CONNECT") = method { throw refused(.connect) }
        if bytes[range.lowerBound] == UInt8(ascii: "/") {
            guard isURIText(bytes, range) else { throw refused(.target) }
            return .origin
        }
        guard range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") else { return try absolute(bytes, range) }
        guard case .options = method else { throw refused(.target) }
        return .asterisk
    }

    /// `http://authority/path?query`. A scheme that is not served, user information and a missing host are refused.
    private static func absolute(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(RefusedHead) -> Form {
        let text = bytes.slice(range.lowerBound, range.upperBound)
        let schemeEnd: Int
        if text.count > 7, text.slice(0, 4).spellsIgnoringCase("http"), text.slice(4, 7).spells("://") {
            schemeEnd = 7
        } else if text.count > 8, text.slice(0, 5).spellsIgnoringCase("https"), text.slice(5, 8).spells("://") {
            schemeEnd = 8
        } else {
            throw refused(.target)
        }
        var end = schemeEnd
        while end < text.count, text[end] != UInt8(ascii: "/"), text[end] != UInt8(ascii: "?") { end += 1 }
        let authority = range.lowerBound + schemeEnd..<range.lowerBound + end
        let rest = range.lowerBound + end..<range.upperBound
        guard HostValue.isValid(text.slice(schemeEnd, end)), isURIText(bytes, rest) else { throw refused(.target) }
        return .absolute(authority: authority, rest: rest)
    }

    private static func isURIText(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        bytes.slice(range).allSatisfy(OctetSet.uri.contains)  // escapes are judged where they are decoded
    }
}
