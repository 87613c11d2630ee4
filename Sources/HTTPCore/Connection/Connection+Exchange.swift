import DiffClock

/// One request and its answer, while they are in progress.
struct Exchange {
    var summary: ExchangeSummary
    /// Whether the answer has no body because the method is HEAD.
    let isHead: Bool
    let isHTTP10: Bool
    /// The target of a request whose head was refused, if its line was read.
    var refusedTarget: String?
    let began: Instant

    var head: RequestHead? { summary.head }
}

extension Exchange {
    init(_ head: RequestHead, from peer: Peer, bytesIn: Int, began: Instant, madeID: UInt64) {
        self.init(
            summary: ExchangeSummary(head: head, peer: peer, bytesIn: bytesIn, madeID: madeID),
            isHead: head.method == .head, isHTTP10: head.isHTTP10, began: began)
    }

    /// A request whose head is refused. Even part of a head can show that the method is HEAD.
    init(
        refusedBy parser: RequestParser, _ bytes: UnsafeRawBufferPointer, from peer: Peer, began: Instant,
        madeID: UInt64
    ) {
        self.init(
            summary: ExchangeSummary(head: nil, peer: peer, bytesIn: bytes.count, madeID: madeID),
            isHead: parser.isHead(bytes), isHTTP10: false, refusedTarget: parser.target(bytes), began: began)
    }
}

/// The body of a request while it is being read. Most requests have none.
struct RequestBodyReader {
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

/// From a complete head to the end of its answer.
extension Connection {
    /// - Parameter hasMore: whether octets after the head have arrived; then the client is not waiting for a 100.
    func begin(_ head: RequestHead, bytesIn: Int, began: Instant, hasMore: Bool) {
        exchange = Exchange(
            head, from: peer, bytesIn: bytesIn, began: began, madeID: resources.requestIDs.next())
        handle(.headCompleted(isLast: !head.keepsAlive))
        if head.expectsOther { return refuse(.expectationFailed) }
        var note = ExchangeNote()
        let admission = shard.service.admit(head, from: peer, on: loop, noting: &note)
        exchange?.summary.note = note
        switch consume admission {
        case .answer(let response): answerUnread(head, response)
        case .read(let maxBytes, let answer):
            switch head.bodyLength {
            case .none: decide(answer([], nil))
            case .known(let length) where length > maxBytes:
                refuse(.contentTooLarge(limit: maxBytes, actual: length))
            case .known(let length):
                beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
                bodyReader?.body.reserveCapacity(min(length + Self.spareRoom, Self.trustedLength))
            case .chunked: beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
            }
        }
    }

    /// The most capacity reserved for a Content-Length alone. Once that much has arrived, the rest is reserved in one
    /// step: growing by doubling copies a body of 11 MB for several milliseconds.
    private static let trustedLength = 128 * 1024

    /// Spare room after a body, so that a service can append without a copy, such as the zeros that end a parser's run.
    private static let spareRoom = 32

    /// A body of known length is read after its answer. A chunked one is read first: if it is malformed, so is the
    /// whole message, and it must not be answered with success.
    private func answerUnread(_ head: RequestHead, _ response: consuming Response) {
        switch head.bodyLength {
        case .none: respond(response, rest: .none)
        case .known(let length):
            bodyReader = RequestBodyReader(head.bodyLength, limits: parser.limits, .none)
            respond(response, rest: length <= limits.maxDiscardBytes && !head.expectsContinue ? .short : .long)
        case .chunked where head.expectsContinue: respond(response, rest: .long)
        case .chunked: beginBody(head, .discard(response), hasMore: true)
        }
    }

    private func beginBody(_ head: RequestHead, _ plan: consuming RequestBodyReader.Plan, hasMore: Bool) {
        bodyReader = RequestBodyReader(head.bodyLength, limits: parser.limits, plan)
        if case .answer = bodyReader?.plan, head.contentEncoding == .gzip { bodyReader?.inflater = Inflater() }
        handle(.bodyBegan)
        if head.expectsContinue, !hasMore { output.end().append(ResponseEncoder.continueLine) }
    }

    /// Takes a run of the body; false if that ended the exchange.
    func take(content: UnsafeRawBufferPointer, announced: Int) -> Bool {
        bodyReader?.received += content.count
        let received = bodyReader?.received ?? 0
        switch bodyReader?.plan {
        case .some(.none):
            guard received + announced <= max(limits.maxDiscardBytes, received) else {
                handle(.restRefused)
                return false
            }
        case .answer(let maxBytes, _):
            guard received + announced <= maxBytes else {
                refuse(.contentTooLarge(limit: maxBytes, actual: nil))
                return false
            }
            return append(content, limit: maxBytes)
        case .discard(let response):
            guard received + announced <= limits.maxDiscardBytes else {
                handle(.bodyEnded)
                respond(response, rest: .long)
                return false
            }
        case nil: preconditionFailure("a body without a plan")
        }
        return true
    }

    /// Appends to the body, inflated if it is compressed; false if that was refused.
    private func append(_ content: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard let inflater = bodyReader?.inflater else {
            makeRoom(for: content.count)
            bodyReader?.body.append(contentsOf: content)
            return true
        }
        // Moved out, so that appending does not copy it.
        var body = bodyReader?.body ?? []
        bodyReader?.body = []
        let before = body.count
        let outcome = inflater.inflate(content, into: &body, limit: limit)
        inflatedInIteration += body.count - before
        bodyReader?.body = body
        switch outcome {
        case .more: return true
        case .tooLarge: refuse(.contentTooLarge(limit: limit, actual: nil))
        case .tooDense: refuse(.contentTooDense(ratio: Inflater.maxRatio))
        case .malformed: refuse(.malformedContent)
        }
        return false
    }

    private func makeRoom(for count: Int) {
        guard let capacity = bodyReader?.body.capacity, (bodyReader?.body.count ?? 0) + count > capacity,
            case .known(let length) = exchange?.head?.bodyLength
        else { return }
        bodyReader?.body.reserveCapacity(length + Self.spareRoom)
    }

    func endBody() {
        if let inflater = bodyReader?.inflater, !inflater.isComplete { return refuse(.malformedContent) }
        let wasDiscarding = lifecycle.phase == .discarding
        handle(.bodyEnded)
        if wasDiscarding { return finishExchange() }
        guard var bodyReader = bodyReader.take() else { preconditionFailure("no body was read") }
        switch bodyReader.plan {
        // The service gets the only reference to the body.
        case .answer(_, let answer): decide(answer(Swift.exchange(&bodyReader.body, with: []), takeShare()))
        case .discard(let response): respond(response, rest: .none)
        case .none: preconditionFailure("a body without a plan")
        }
    }

    private func decide(_ reply: consuming Reply) {
        switch consume reply {
        case .now(let response): respond(response, rest: .none)
        case .later(let start):
            handle(.deferred)
            start(Pending(loop: loop, linkPending()))
        }
    }

    private func linkPending() -> PendingLink {
        let link = PendingLink(self)
        pending = link
        return link
    }

    /// Sends an answer that came through `Pending`.
    func deliver(_ response: Response) {
        guard lifecycle.phase == .waiting else { return }
        deliveredAnswer = response
        mark()
    }

    func takeDeliveredAnswer() {
        guard let response = deliveredAnswer, lifecycle.phase == .waiting else { return }
        deliveredAnswer = nil
        pending = nil
        respond(response, rest: .none)
    }

    func shortenHead(to head: RequestHead) { exchange?.summary.head = head }

    /// Sends the service's answer to a refusal, and gives up the connection.
    func refuse(_ refusal: Refusal) {
        if exchange == nil {  // within a head, which ended or took too long
            exchange = leftover.withUnsafeBytes { bytes in
                Exchange(
                    refusedBy: parser, bytes, from: peer, began: phaseBegan, madeID: resources.requestIDs.next())
            }
        }
        let response = shard.service.refusal(refusal, target: exchange?.head?.target ?? exchange?.refusedTarget)
        handle(.refused)
        encode(response)
        finishExchange()
    }

    /// Reports the exchange to the service, if one is open.
    func finishExchange() {
        guard var exchange = exchange.take() else { return }
        bodyReader = nil
        exchange.summary.nanoseconds = Instant.now.nanoseconds - exchange.began.nanoseconds
        shard.service.finished(exchange.summary)
    }
}

/// Answers: whole, compressed, or streamed.
extension Connection {
    func respond(_ response: consuming Response, rest: Lifecycle.UnreadBody) {
        if case .stream(let start) = response.body { return beginStream(response, start, rest: rest) }
        if response.isCompressible { answerCompressed(response, rest) } else { answer(response, rest) }
    }

    private func answer(_ response: consuming Response, _ rest: Lifecycle.UnreadBody) {
        handle(.answered(rest: rest, closes: false))
        encode(response)
        if lifecycle.phase != .discarding { finishExchange() }
    }

    /// Encodes an answer whose body is not a stream.
    func encode(_ response: Response) {
        let length = response.body.count
        let hasNoLength = response.status == 204 || response.status == 304 && length == 0
        encodeHead(response, hasNoLength ? .none : .length(length))
        guard exchange?.isHead != true, !response.isBodiless, length > 0 else { return }
        exchange?.summary.bytesOut += length
        if case .bytes(let bytes) = response.body { return output.append(body: bytes) }
        guard case .shared(let prefix, let rest) = response.body else { return }
        if !prefix.isEmpty { output.append(body: prefix) }
        output.append(rest, isFramed: false)
    }

    private func encodeHead(_ response: Response, _ framing: ResponseEncoder.Framing) {
        guard let id = exchange?.summary.id else { preconditionFailure("an answer without an exchange") }
        let persistence: ResponseEncoder.Persistence =
            lifecycle.isLast ? .close : exchange?.isHTTP10 == true ? .keepAlive : .implicit
        let buffer = output.end()
        let before = buffer.count
        ResponseEncoder.appendHead(
            status: response.status, fields: response.fields, framing: framing, persistence: persistence,
            date: resources.date.line(at: loop.wallClock), id: id, to: buffer)
        exchange?.summary.note(response, bytes: buffer.count - before)
    }

    /// Compresses the answer first if that pays and the client accepts it: on a worker if it takes long.
    private func answerCompressed(_ response: Response, _ rest: Lifecycle.UnreadBody) {
        let body = response.body
        if case .empty = body { return answer(response.varying(), rest) }
        let count = if case .unsent(let count) = body { count } else { body.count }
        guard count >= shard.options.minCompressedBytes else { return answer(response, rest) }
        guard exchange?.head?.acceptsGzip == true else { return answer(response.varying(), rest) }
        // A 304 has the fields of the answer it replaces: JSON and text of this length are assumed to get smaller.
        if case .unsent = body { return answer(response.varying().taggedGzip(), rest) }
        if !WorkCost.compression(of: body.count).isLong || rest != .none {
            let smaller: Body? =
                if let whole = body.asShared {
                    whole.compressed(with: resources.deflater).map { .shared($0) }
                } else {
                    resources.deflater.compressed(body.bytes[...]).map(Body.bytes)
                }
            return respond(response.encoded(smaller), rest: rest)
        }
        // Unlike a body that waits for a slow reader, one that waits for a worker cannot be dropped to free memory.
        if body.asShared == nil, shard.options.outgoing.isExceeded { return answer(response.varying(), rest) }
        if lifecycle.phase == .deciding { handle(.deferred) }
        let link = linkPending()
        let whole = body.asShared ?? SharedBody(body.bytes, in: shard.options.outgoing)
        whole.compressed(by: shard.workers) { [loop] smaller in
            let encoded = response.encoded(smaller.map { .shared($0) })
            loop.execute { link.deliver(encoded) }
        }
    }

    // MARK: Streams

    private func beginStream(
        _ response: Response, _ start: @Sendable (StreamWriter) -> Void, rest: Lifecycle.UnreadBody
    ) {
        let isOld = exchange?.isHTTP10 == true
        let isCompressed = response.isCompressible && exchange?.head?.acceptsGzip == true
        let response = response.isCompressible ? response.encoded(isCompressed ? response.body : nil) : response
        if exchange?.isHead == true || response.isBodiless {
            handle(.answered(rest: rest, closes: isOld))
            encodeHead(response, response.status == 204 || isOld ? .none : .chunked)
            if lifecycle.phase != .discarding { finishExchange() }
            return
        }
        handle(.streamBegan(rest: rest, closes: isOld))
        encodeHead(response, isOld ? .none : .chunked)
        transport.limitUnsent(bytes: Self.unsentStreamBytes)
        let writer = StreamWriter(self, isCompressed: isCompressed)
        self.writer = writer
        start(writer)
        mark()
    }

    /// How much of a stream the kernel may queue for a slow reader. Kept small: whatever is queued is stale on arrival.
    private static let unsentStreamBytes = 64 * 1024

    /// HTTP/1.0 ends a stream by closing the connection.
    private var isChunked: Bool { exchange?.isHTTP10 != true }

    func appendToStream(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        extendStream {
            guard isChunked else { return output.append(body: bytes) }
            ResponseEncoder.append(chunk: bytes, to: output.end())
        }
    }

    func appendToStream(_ part: SharedBody) { extendStream { output.append(part, isFramed: isChunked) } }

    private func extendStream(_ append: () -> Void) {
        guard lifecycle.phase == .streaming else { return }
        let before = output.count
        append()
        exchange?.summary.bytesOut += output.count - before
        mark()
    }

    func endStream() {
        guard lifecycle.phase == .streaming else { return }
        if isChunked { output.end().append(ResponseEncoder.lastChunk) }
        writer = nil
        handle(.streamEnded)
        finishExchange()
        mark()
    }
}

extension Body {
    /// All octets, copied if they are in two pieces.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .empty, .unsent, .stream: []
        case .bytes(let bytes): bytes
        case .shared(let prefix, let rest): prefix + rest.bytes(isFramed: false)
        }
    }

    fileprivate var asShared: SharedBody? {
        if case .shared(let prefix, let rest) = self, prefix.isEmpty { rest } else { nil }
    }
}
