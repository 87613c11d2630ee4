import DiffClock

/// Decides how a server answers, on the connection's loop: work of more than a few microseconds is for `Reply.later`.
public protocol Service: AnyObject, Sendable {
    /// Decides what to do with a message once its head is complete, before its body is read and before `100 Continue`.
    func admit(_ head: RequestHead, from peer: Peer, on loop: EventLoop, noting note: inout ExchangeNote) -> Admission

    /// The answer to a message that the server refuses, with the refusal's status.
    ///
    /// - Parameter target: the request target as it was sent, if the request line was read.
    func refusal(_ refusal: Refusal, target: String?) -> Response

    /// Called after each exchange, when its answer is complete or the connection lost.
    func finished(_ exchange: ExchangeSummary)
}

extension Service {
    /// Does nothing.
    public func finished(_ exchange: ExchangeSummary) {}
}

/// What to do with a message whose head is known. Noncopyable, since copying an answer retains many references.
public enum Admission: ~Copyable {
    /// Answer without the body. A short body is discarded to keep the connection; after a long one, or one that waits
    /// for `100 Continue`, the connection is closed.
    case answer(Response)
    /// Read the body, inflate it if it is gzip, and pass it to `answer` as a whole: at once, if there is none. If it
    /// came in pieces, its share of `ServerOptions.incoming` comes with it; keep that as long as the body.
    ///
    /// `maxBytes` limits it on the wire and inflated; a longer one is `Refusal.contentTooLarge`.
    case read(maxBytes: Int, answer: (_ body: consuming [UInt8], _ share: MemoryShare?) -> Reply)
}

/// When to answer.
public enum Reply: ~Copyable {
    /// At once: it leaves in this iteration of the loop.
    case now(Response)
    /// Later, through the pending exchange that the closure gets at once, on the loop.
    case later((Pending) -> Void)
}

/// What a service notes about an exchange when it admits it.
public struct ExchangeNote: Sendable {
    /// The caller's name.
    public var caller: String?
    /// The name of what the request is about.
    public var subject: String?
    /// Where its time goes; nil if nobody wants to know.
    public var times: RequestTimes?
}

/// An exchange, for logs and metrics.
public struct ExchangeSummary: Sendable {
    /// The request's head, perhaps shortened by `shortenHead`; nil if it was never complete.
    public internal(set) var head: RequestHead?
    /// What `admit` noted.
    public internal(set) var note = ExchangeNote()
    /// The client.
    public let peer: Peer
    /// The status of the answer; 0 if the client left before there was one.
    public internal(set) var status = 0
    /// The response's label; 0 if there was none.
    public internal(set) var label: UInt32 = 0
    /// Octets of the request with head and framing, without TLS.
    public internal(set) var bytesIn: Int
    /// Octets of the answer with head and framing, without TLS.
    public internal(set) var bytesOut = 0
    /// From the first octet of the head to the end of the answer.
    public internal(set) var nanoseconds: Int64 = 0
    let madeID: UInt64

    var id: RequestID { RequestID(head: head, made: madeID) }

    mutating func note(_ response: Response, bytes: Int) {
        (status, label) = (response.status, response.label)
        bytesOut += bytes
    }

    /// The `X-Request-Id` of the answer.
    public var requestID: String { id.text }
    /// The method, if the head was complete.
    public var method: Method? { head?.method }
    /// The target as it was sent; empty if the head was never complete.
    public var target: String { head?.target ?? "" }
}
