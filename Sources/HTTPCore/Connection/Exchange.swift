/// One request and its answer, while they are on their way.
struct Exchange {
    let head: RequestHead?
    /// Whether the answer has no body because HEAD asked for it.
    let isHead: Bool
    let isHTTP10: Bool
    /// The target of a request whose head was refused, if its line was read.
    var refusedTarget: String?
    let began: Instant
    var bytesIn = 0
    var bytesOut = 0
    var status = 0
    var route = ""

    var decoder: BodyDecoder?
    var inflater: Inflater?
    var body: [UInt8] = []
    var received = 0
    var plan = Plan.none

    /// What is done with the body.
    enum Plan {
        case none
        case answer(maxBytes: Int, (consuming [UInt8], MemoryShare?) -> Reply)
        /// Read to see that it is well-formed, thrown away, then answered; beyond the limit the answer comes at once.
        case discard(Response)
    }

    init(head: RequestHead?, isHead: Bool, began: Instant) {
        self.head = head
        self.isHead = isHead
        isHTTP10 = head?.isHTTP10 ?? false
        self.began = began
    }
}
