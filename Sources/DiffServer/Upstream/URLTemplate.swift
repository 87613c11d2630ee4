import HTTPCore

/// A URL of an upstream, with segments from a session's name: `https://a.example/users/{user}?on={day}`.
///
/// A client chooses the name, and must not choose the host or the path: a segment fills a whole segment of the path or
/// a whole value of the query, percent-encoded (RFC 3986 §2.1) except for unreserved characters.
struct URLTemplate: Sendable, Equatable {
    let text: String
    /// In order. A name may occur several times.
    let segments: [String]
    /// The text before each segment, and after the last.
    private let literals: [String]

    /// Never contains the text, since a URL may hold a secret.
    package enum Failure: String, Error {
        case scheme = "a URL must begin with http:// or https://"
        case userInfo = "a URL must not contain a user or a password; send credentials in headers"
        case segmentInAuthority = "a segment cannot be in the host: put it in the path or the query"
        case host = "the URL's host or port is invalid"
        case fragment = "a URL must not have a fragment: it would not be sent"
        case character = "a URL must not contain blanks, control characters or non-ASCII letters: percent-encode them"
        case escape = "a % in a URL must be followed by two hexadecimal digits"
        case dots = "the URL's path must not contain the segment . or .."
        case openBrace = "a segment's brace is not closed"
        case segmentName = "a segment's name must be 1 to 64 letters, digits, - and _"
        case partOfSegment = "a segment must fill a whole segment of the URL's path or a whole value of its query"
    }

    init(_ text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        let start = try Self.authorityEnd(of: bytes)
        var reader = TargetParser(bytes[start...])
        try reader.read()
        self.text = text
        segments = reader.segments
        // An empty path is the root (RFC 9110 §4.2.3).
        let isRooted = start < bytes.count && bytes[start] == UInt8(ascii: "/")
        reader.literals[0].insert(contentsOf: bytes[..<start] + (isRooted ? [] : [UInt8(ascii: "/")]), at: 0)
        literals = reader.literals.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func authorityEnd(of bytes: [UInt8]) throws(Failure) -> Int {
        let lower = bytes.prefix(8).map { $0 | 0x20 }
        guard let scheme = ["http://", "https://"].first(where: { lower.starts(with: $0.utf8) }) else { throw .scheme }
        let start = scheme.utf8.count
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
        let authority = bytes[start..<end]
        if authority.contains(UInt8(ascii: "@")) { throw .userInfo }
        if authority.contains(UInt8(ascii: "{")) { throw .segmentInAuthority }
        guard authority.withUnsafeBytes({ HostValue.isValid($0) }) else { throw .host }
        return end
    }

    /// The URL with its segments filled in.
    ///
    /// - Precondition: every segment has a value, which is not empty, `.` or `..`: `NamePattern` guarantees that.
    func url(_ segments: [String: String]) -> String {
        var url = literals[0]
        for (segment, literal) in zip(self.segments, literals.dropFirst()) {
            guard let text = segments[segment], !["", ".", ".."].contains(text) else {
                preconditionFailure("the session's name does not fill a segment of the URL")
            }
            url += Percent.encoded(text, keeping: Percent.isUnreserved) + literal
        }
        return url
    }

    /// Whether a path or a query may contain the byte unencoded, including slashes and question marks (RFC 3986 §3.3,
    /// §3.4).
    fileprivate static func isOfTarget(_ byte: UInt8) -> Bool {
        Percent.isUnreserved(byte) || "!$&'()*+,;=:@/?".utf8.contains(byte)
    }
}

/// Splits a path and a query at their segments.
private struct TargetParser {
    private let bytes: ArraySlice<UInt8>
    private var at: Int
    /// Where the current path segment or query value began; nil in a parameter's name.
    private var start: Int?
    private var isQuery = false
    var literals: [[UInt8]] = [[]]
    var segments: [String] = []

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        at = bytes.startIndex
    }

    mutating func read() throws(URLTemplate.Failure) {
        while at < bytes.endIndex {
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "{"):
                try takeSegment()
                continue
            case UInt8(ascii: "#"): throw .fragment
            case UInt8(ascii: "%"):
                let digits = bytes[at...].dropFirst().prefix(2)
                guard digits.count == 2, digits.allSatisfy({ $0.hexValue != nil }) else { throw .escape }
            default: guard URLTemplate.isOfTarget(byte) else { throw .character }
            }
            if endsPart(byte) {
                try checkDots()
                isQuery = isQuery || byte == UInt8(ascii: "?")
                start = isQuery ? nil : at + 1
            } else if isQuery, start == nil, byte == UInt8(ascii: "=") {
                start = at + 1
            }
            literals[literals.count - 1].append(byte)
            at += 1
        }
        try checkDots()
    }

    /// Whether it ends the current path segment or query parameter.
    private func endsPart(_ byte: UInt8) -> Bool {
        isQuery ? byte == UInt8(ascii: "&") : byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
    }

    private mutating func takeSegment() throws(URLTemplate.Failure) {
        guard let end = bytes[at...].firstIndex(of: UInt8(ascii: "}")) else { throw .openBrace }
        let name = bytes[at + 1..<end]
        guard NamePattern.isSegment(name) else { throw .segmentName }
        guard start == at, end + 1 == bytes.endIndex || endsPart(bytes[end + 1]) else { throw .partOfSegment }
        segments.append(String(decoding: name, as: UTF8.self))
        literals.append([])
        at = end + 1
    }

    /// HTTP clients resolve dot segments, even spelled with `%2e`, and would request another path.
    private func checkDots() throws(URLTemplate.Failure) {
        guard !isQuery, let start else { return }
        let segment = String(decoding: bytes[start..<at], as: UTF8.self).lowercased()
        if [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"].contains(segment) { throw .dots }
    }
}
