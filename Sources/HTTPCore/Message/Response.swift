/// An answer. Framing and connection are the server's business: never give `Date`, `Content-Length`,
/// `Transfer-Encoding`, `Connection` or `X-Content-Type-Options`, which is `nosniff` in every answer.
///
/// A service answers HEAD as it would answer GET; the server leaves the body out and keeps its length.
public struct Response: Sendable {
    /// The final status, 200 or above.
    public var status: Int
    /// The fields, written in this order behind those of the server.
    public var fields: [Field]
    /// The body.
    public var body: Body
    /// An opaque label for logs and metrics; handed back with the exchange's summary. Best a literal.
    public var route: String
    /// Whether the body may be sent as gzip: no secret of another party next to input of this one (the BREACH attack).
    public var isCompressible: Bool

    /// An answer.
    public init(
        status: Int, fields: [Field] = [], body: Body = .empty, route: String = "", isCompressible: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.route = route
        self.isCompressible = isCompressible
    }

    /// An answer that is a text.
    public init(status: Int, text: String, contentType: String = "text/plain; charset=utf-8", fields: [Field] = []) {
        self.init(status: status, fields: [Field("Content-Type", contentType)] + fields, body: .bytes(Array(text.utf8)))
    }

    /// Whether the status has no body whatever the method (RFC 9110 §6.4.1).
    var isBodiless: Bool { status == 204 || status == 304 }
}

/// The body of an answer.
public enum Body: Sendable {
    /// No octets; Content-Length: 0 where the status allows it.
    case empty
    /// All of it, whose length is told in the head.
    case bytes([UInt8])
    /// The same, of which all but a beginning is shared with other answers.
    case shared(prefix: [UInt8] = [], SharedBody)
    /// A body that is written bit by bit: chunked to HTTP/1.1, until the connection closes to HTTP/1.0.
    ///
    /// The closure is called on the connection's loop when the head has been written; it keeps the writer. It is not
    /// called for HEAD.
    case stream(@Sendable (StreamWriter) -> Void)
}
