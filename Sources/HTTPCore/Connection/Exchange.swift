/// One request and its answer, while they are on their way.
struct Exchange {
    /// What the service is told at the end.
    var summary: ExchangeSummary
    /// Whether the answer has no body because HEAD asked for it.
    let isHead: Bool
    let isHTTP10: Bool
    /// The target of a request whose head was refused, if its line was read.
    var refusedTarget: String?
    let began: Instant

    init(head: RequestHead?, isHead: Bool, from peer: Peer, bytesIn: Int, began: Instant) {
        summary = ExchangeSummary(head: head, peer: peer, bytesIn: bytesIn)
        self.isHead = isHead
        isHTTP10 = head?.isHTTP10 ?? false
        self.began = began
    }

    var head: RequestHead? { summary.head }
}

/// The body of a request, while it is read. Most requests have none.
struct Intake {
    let plan: Plan
    var decoder: BodyDecoder
    var inflater: Inflater?
    var body: [UInt8] = []
    var received = 0

    /// What is done with the body.
    enum Plan {
        /// Nothing: it is answered already.
        case none
        case answer(maxBytes: Int, (consuming [UInt8], MemoryShare?) -> Reply)
        /// Read to see that it is well-formed, thrown away, then answered; beyond the limit the answer comes at once.
        case discard(Response)
    }

    init(_ length: BodyLength, limits: MessageLimits, _ plan: Plan) {
        self.plan = plan
        decoder = BodyDecoder(length, limits: limits)
    }
}
