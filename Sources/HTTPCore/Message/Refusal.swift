/// Why the server itself refuses a message. The service writes the body of the answer, which carries
/// `Connection: close`. Nothing after the message is ever read as a request.
public enum Refusal: Error, Hashable {
    /// 400: the bytes are not a message of RFC 9112, or look like an attack.
    case malformed(Malformation)
    /// 414: the request line is longer than `limit` octets.
    case uriTooLong(limit: Int)
    /// 431: the header or trailer section has too many octets or fields.
    case headersTooLarge(limit: Int, unit: SizeUnit)
    /// 501: a transfer coding other than `chunked`.
    case unsupportedTransferCoding
    /// 505: a major version that is not 1.
    case unsupportedVersion
    /// 417: an expectation other than `100-continue`.
    case expectationFailed
    /// 408: the head or the body came too slowly.
    case timeout(TimedPart)
    /// 413: the body is longer than the service admits, on the wire or inflated. `actual` is nil if it is not known.
    case contentTooLarge(limit: Int, actual: Int?)
    /// 413: the body inflates to more than `ratio` times its size.
    case contentTooDense(ratio: Int)
    /// 400: the body is not the gzip that its head promised.
    case malformedContent
    /// 503: more connections than the limit.
    case tooManyConnections(limit: Int)
    /// 503: more connections from this peer than the limit.
    case tooManyOfPeer(limit: Int)
    /// 503: no memory for this message next to other incomplete ones.
    case memoryExhausted

    /// What a limit counts.
    public enum SizeUnit: Sendable, Hashable {
        /// Octets on the wire, or fields.
        case octets, fields
    }

    /// The part that came too slowly.
    public enum TimedPart: Sendable, Hashable {
        /// The request line and the fields, or what follows them.
        case head, body
    }

    /// The status of the answer.
    public var status: Int {
        switch self {
        case .malformed, .malformedContent: 400
        case .uriTooLong: 414
        case .headersTooLarge: 431
        case .unsupportedTransferCoding: 501
        case .unsupportedVersion: 505
        case .expectationFailed: 417
        case .timeout: 408
        case .contentTooLarge, .contentTooDense: 413
        case .tooManyConnections, .tooManyOfPeer, .memoryExhausted: 503
        }
    }
}

/// Why a message is malformed; `rawValue` is a sentence for people.
public enum Malformation: String, Sendable, CaseIterable {
    case requestLine = "The request line is not a method, a target and a version with one space between them."
    case method = "The method is not a token."
    case target =
        "The form of the request target does not match the method, or it contains a byte that no URI may contain."
    case targetEncoding =
        "The request target contains an escape other than % and two hexadecimal digits, invalid UTF-8 or a NUL."
    case connect = "CONNECT is for proxies."
    case traceContent = "A TRACE request must not have a body."
    case version = "The HTTP version is malformed."
    case lineEnding = "A line does not end with CR LF."
    case blankLines = "More than one empty line comes before the request line."
    case folding = "A header line starts with white space."
    case fieldWithoutColon = "A header line has no colon."
    case fieldName = "A field name is not a token directly followed by a colon."
    case fieldValue = "A field value contains a control character."
    case noHost = "The Host field is missing."
    case repeatedField = "A field that may occur only once is repeated."
    case host =
        "The value of Host is not a host name or address with an optional port, or differs from the target's."
    case contentLength = "The value of Content-Length is not one decimal number."
    case transferCoding = "Transfer-Encoding does not name chunked exactly once, as the last coding."
    case ambiguousLength = "Content-Length and Transfer-Encoding cannot be sent together."
    case transferCodingInOldVersion = "HTTP/1.0 has no Transfer-Encoding."
    case chunkSize = "A chunk size is not a hexadecimal number directly followed by CR LF or an extension."
    case chunkExtension = "A chunk extension is malformed or too long."
    case chunkEnd = "A chunk is not followed by CR LF."
    case trailer = "A trailer line is malformed."
    case plainText = "Plain HTTP was sent to a port that speaks TLS."
    case endOfInput = "The connection ended in the middle of the message."
}
