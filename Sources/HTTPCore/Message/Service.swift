/// What a server serves. All calls come on the loop of the connection and must return soon: what takes longer than some
/// microseconds goes to `Reply.later`.
public protocol Service: AnyObject, Sendable {
    /// Decides about a message when its head is complete, before any of its body is read and before `100 Continue`.
    ///
    /// - Parameter loop: of the connection.
    func admit(_ head: RequestHead, from peer: Peer, on loop: EventLoop) -> Admission

    /// The answer to a message that the server itself refuses; its status should be that of the refusal.
    ///
    /// - Parameter target: the request target as it was sent, where the request line was read and said one.
    func refusal(_ refusal: Refusal, target: String?) -> Response

    /// Told behind each exchange, when its answer is complete or the connection was lost.
    func finished(_ exchange: ExchangeSummary)
}

extension Service {
    /// Ignored.
    public func finished(_ exchange: ExchangeSummary) {}
}

/// What is to happen with a message whose head is known. Handed on and never copied: an answer has many references.
public enum Admission: ~Copyable {
    /// Answered without its body. A short body is read and thrown away, so that the connection can go on; behind a long
    /// one, or one that waits for `100 Continue`, the connection is closed.
    case answer(Response)
    /// The body is read, inflated if it is gzip, and given to `answer` as a whole; with it, if it came in pieces, its
    /// share of `ServerOptions.incoming`, which `answer` may keep for as long as it keeps the body.
    ///
    /// `maxBytes` bounds it on the wire and inflated; one octet more is `Refusal.contentTooLarge`. A message without a
    /// body is answered at once, with no bytes.
    case read(maxBytes: Int, answer: (_ body: consuming [UInt8], _ share: MemoryShare?) -> Reply)
}

/// When the answer comes. Handed on and never copied.
public enum Reply: ~Copyable {
    /// It is known already, and leaves in this turn of the loop.
    case now(Response)
    /// The closure is called at once, on the loop; the answer comes through the pending exchange whenever it is known.
    case later((Pending) -> Void)
}

/// One exchange, for logs and metrics.
public struct ExchangeSummary: Sendable {
    /// The request's head; nil if it was never complete.
    public let head: RequestHead?
    /// Who asked.
    public let peer: Peer
    /// The status of the answer; 0 if the client went away before there was one.
    public internal(set) var status = 0
    /// The label that the response carried.
    public internal(set) var route = ""
    /// Octets of the request, head and framing included, as they came from the wire (or from under TLS).
    public internal(set) var bytesIn: Int
    /// Octets of the answer, head and framing included.
    public internal(set) var bytesOut = 0
    /// From the first octet of the head to the end of the answer.
    public internal(set) var duration = Duration.zero

    init(head: RequestHead?, peer: Peer, bytesIn: Int) { (self.head, self.peer, self.bytesIn) = (head, peer, bytesIn) }

    mutating func note(_ response: Response, bytes: Int) {
        (status, route) = (response.status, response.route)
        bytesOut += bytes
    }

    /// The method, if the head was complete.
    public var method: Method? { head?.method }
    /// The target as it was sent; empty if the head was never complete.
    public var target: String { head?.target ?? "" }
}
