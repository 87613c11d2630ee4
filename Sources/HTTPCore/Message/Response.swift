/// An answer. The server adds `Date`, `Content-Length`, `Transfer-Encoding`, `Connection`, `X-Request-Id` and
/// `X-Content-Type-Options: nosniff`; never set these.
///
/// A service answers HEAD like GET; the server omits the body and keeps its length.
public struct Response: Sendable {
    /// The final status, 200 or above.
    public var status: Int
    /// The fields, written in this order after the server's own.
    public var fields: [Field]
    /// The body.
    public var body: Body
    /// A code of the service's own, for its logs and metrics; returned in the exchange's summary.
    public var label: UInt32
    /// Whether gzip is allowed: the body must not have a third party's secrets next to this client's input (BREACH).
    public var isCompressible: Bool

    /// An answer.
    public init(
        status: Int, fields: [Field] = [], body: Body = .empty, label: UInt32 = 0, isCompressible: Bool = false
    ) {
        (self.status, self.fields, self.body) = (status, fields, body)
        (self.label, self.isCompressible) = (label, isCompressible)
    }

    /// An answer with a text as its body.
    public init(status: Int, text: String, contentType: String = "text/plain; charset=utf-8", fields: [Field] = []) {
        self.init(status: status, fields: [Field("Content-Type", contentType)] + fields, body: .bytes(Array(text.utf8)))
    }

    /// Whether an answer with this status never has a body (RFC 9110 §6.4.1).
    var isBodiless: Bool { status == 204 || status == 304 }
}

/// The body of an answer.
public enum Body: Sendable {
    /// No octets; `Content-Length: 0` if the status allows it.
    case empty
    /// No octets, in place of a body of this size that the client has: 304 with its `ETag` and `Vary`.
    case unsent(Int)
    /// The whole body.
    case bytes([UInt8])
    /// The whole body, shared with other answers except for its beginning.
    case shared(prefix: [UInt8] = [], SharedBody)
    /// A stream: chunked for HTTP/1.1, until the connection closes for HTTP/1.0. The closure is called on the
    /// connection's loop once the head is written, but not for HEAD, and keeps the writer.
    case stream(@Sendable (StreamWriter) -> Void)

    /// Octets; a stream counts as empty.
    public var count: Int {
        switch self {
        case .empty, .unsent, .stream: 0
        case .bytes(let bytes): bytes.count
        case .shared(let prefix, let rest): prefix.count + rest.count
        }
    }
}
