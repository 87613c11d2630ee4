/// One request and its answer, while they are in progress.
struct Exchange {
    /// What the service is told at the end.
    var summary: ExchangeSummary
    /// Whether the answer has no body because the method is HEAD.
    let isHead: Bool
    let isHTTP10: Bool
    /// The target of a request whose head was refused, if its line was read.
    let refusedTarget: String?
    let began: Instant

    init(_ head: RequestHead, from peer: Peer, bytesIn: Int, began: Instant) {
        summary = ExchangeSummary(head: head, peer: peer, bytesIn: bytesIn)
        (isHead, isHTTP10) = (head.method == .head, head.isHTTP10)
        (refusedTarget, self.began) = (nil, began)
    }

    /// A request whose head is refused. Even a part of one may tell that it was a HEAD.
    init(refusedBy parser: RequestParser, _ bytes: UnsafeRawBufferPointer, from peer: Peer, began: Instant) {
        summary = ExchangeSummary(head: nil, peer: peer, bytesIn: bytes.count)
        (isHead, isHTTP10) = (parser.isHead(bytes), false)
        (refusedTarget, self.began) = (parser.target(bytes), began)
    }

    var head: RequestHead? { summary.head }
}

/// The body of a request while it is being read. Most requests have none.
struct Intake {
    let plan: Plan
    var decoder: BodyDecoder
    var inflater: Inflater?
    var body: [UInt8] = []
    var received = 0

    /// What happens to the body.
    enum Plan {
        /// It is discarded; the request has been answered.
        case none
        /// It is collected, and the service answers it.
        case answer(maxBytes: Int, (consuming [UInt8], MemoryShare?) -> Reply)
        /// It is checked and discarded, then answered; beyond `maxDiscardBytes` the answer is sent at once.
        case discard(Response)
    }

    init(_ length: BodyLength, limits: MessageLimits, _ plan: Plan) {
        self.plan = plan
        decoder = BodyDecoder(length, limits: limits)
    }
}
