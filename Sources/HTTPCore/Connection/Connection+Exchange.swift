/// From a complete head to the end of its answer.
extension Connection {
    /// - Parameter hasMore: more octets than the head have arrived, so a client that asked for `100 Continue` does not
    ///   wait for it.
    func begin(_ head: RequestHead, bytesIn: Int, began: Instant, hasMore: Bool) {
        exchange = Exchange(head: head, isHead: head.method == .head, from: peer, bytesIn: bytesIn, began: began)
        handle(.headCompleted(isLast: !head.keepsAlive))
        if head.expectsOther { return refuse(.expectationFailed) }
        switch shard.service.admit(head, from: peer, on: loop) {
        case .answer(let response): answerUnread(head, response)
        case .read(let maxBytes, let answer):
            switch head.bodyLength {
            case .none: decide(answer([], nil))
            case .known(let length) where length > maxBytes:
                refuse(.contentTooLarge(limit: maxBytes, actual: length))
            case .known(let length):
                beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
                intake?.body.reserveCapacity(min(length + Self.spareRoom, Self.trustedLength))
            case .chunked: beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
            }
        }
    }

    /// What a mere announcement may make us reserve. Once that much has come, room for the rest is made at once: to
    /// grow to it by doubling copies a body of 11 MB for some milliseconds in which the loop does nothing else. The
    /// room costs no memory before it is filled.
    private static let trustedLength = 128 * 1024

    /// Room behind a body for what a service may append to it, such as zeros that its parser can run into, so that it
    /// need not copy.
    private static let spareRoom = 32

    /// A body of known length can wait until it was answered. A chunked one is read first: it may turn out to be
    /// malformed, and then the message was never one to be answered with success.
    private func answerUnread(_ head: RequestHead, _ response: consuming Response) {
        switch head.bodyLength {
        case .none: respond(response, rest: .none)
        case .known(let length):
            let isShort = length <= limits.maxDiscardBytes && !head.expectsContinue
            intake = Intake(head.bodyLength, limits: parser.limits, .none)
            respond(response, rest: isShort ? .short : .long)
        case .chunked where head.expectsContinue: respond(response, rest: .long)
        case .chunked: beginBody(head, .discard(response), hasMore: true)
        }
    }

    private func beginBody(_ head: RequestHead, _ plan: consuming Intake.Plan, hasMore: Bool) {
        intake = Intake(head.bodyLength, limits: parser.limits, plan)
        if case .answer = intake?.plan, head.contentEncoding == .gzip { intake?.inflater = Inflater() }
        handle(.bodyBegan)
        if head.expectsContinue, !hasMore {
            output.end().append(ResponseEncoder.continueLine)
        }
    }

    /// Puts a run of the body where it belongs; false if the exchange ended with it.
    func take(content: UnsafeRawBufferPointer, announced: Int) -> Bool {
        intake?.received += content.count
        let received = intake?.received ?? 0
        if lifecycle.phase == .discarding {
            guard received + announced <= max(limits.maxDiscardBytes, received) else {
                handle(.restRefused)
                return false
            }
            return true
        }
        switch intake?.plan {
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
        case nil, .some(.none): preconditionFailure("a body without a plan")
        }
        return true
    }

    /// Appends to the body, inflated if need be; false if that was refused.
    private func append(_ content: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard let inflater = intake?.inflater else {
            makeRoom(for: content.count)
            intake?.body.append(contentsOf: content)
            return true
        }
        // Taken out meanwhile, so that it need not be copied.
        var body = intake?.body ?? []
        intake?.body = []
        let before = body.count
        let outcome = inflater.inflate(content, into: &body, limit: limit)
        inflatedInTurn += body.count - before
        intake?.body = body
        switch outcome {
        case .more: return true
        case .tooLarge: refuse(.contentTooLarge(limit: limit, actual: nil))
        case .tooDense: refuse(.contentTooDense(ratio: Inflater.maxRatio))
        case .malformed: refuse(.malformedContent)
        }
        return false
    }

    private func makeRoom(for count: Int) {
        guard let capacity = intake?.body.capacity, (intake?.body.count ?? 0) + count > capacity,
            case .known(let length) = exchange?.head?.bodyLength
        else { return }
        intake?.body.reserveCapacity(length + Self.spareRoom)
    }

    func endBody() {
        if let inflater = intake?.inflater, !inflater.isComplete { return refuse(.malformedContent) }
        let wasDiscarding = lifecycle.phase == .discarding
        handle(.bodyEnded)
        if wasDiscarding { return finishExchange() }
        guard var intake = intake.take() else { preconditionFailure("no body was read") }
        switch intake.plan {
        // Nobody else holds the body then, and the service may go on with it as its own.
        case .answer(_, let answer): decide(answer(Swift.exchange(&intake.body, with: []), takeShare()))
        case .discard(let response): respond(response, rest: .none)
        case .none: preconditionFailure("a body without a plan")
        }
    }

    private func decide(_ reply: consuming Reply) {
        switch consume reply {
        case .now(let response): respond(response, rest: .none)
        case .later(let start):
            handle(.deferred)
            let link = PendingLink(self)
            pending = link
            start(Pending(loop: loop, link))
        }
    }

    /// An answer that came through `Pending`.
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

    /// Has the service word a refusal, and gives up the connection.
    func refuse(_ refusal: Refusal) {
        if exchange == nil {
            // Within a head, which ended or took too long: even a part of one may tell that it was a HEAD.
            leftover.withUnsafeBytes { leftover in
                exchange = Exchange(
                    head: nil, isHead: parser.isHead(leftover), from: peer, bytesIn: leftover.count, began: phaseBegan)
                exchange?.refusedTarget = parser.target(leftover)
            }
        }
        let response = shard.service.refusal(refusal, target: exchange?.head?.target ?? exchange?.refusedTarget)
        handle(.refused)
        encode(response)
        finishExchange()
    }

    private func respond(_ response: consuming Response, rest: Lifecycle.Rest) {
        if case .stream(let start) = response.body { return beginStream(response, start, rest: rest) }
        if response.isCompressible { answerCompressed(response, rest) } else { answer(response, rest) }
    }

    private func answer(_ response: consuming Response, _ rest: Lifecycle.Rest) {
        handle(.answered(rest: rest, closes: false))
        encode(response)
        if lifecycle.phase != .discarding { finishExchange() }
    }

    /// Encodes an answer whose body is no stream.
    private func encode(_ response: Response) {
        let length = response.body.count
        let framing: ResponseEncoder.Framing =
            response.status == 204 ? .none : response.status == 304 && length == 0 ? .none : .length(length)
        let hasBody = exchange?.isHead != true && !response.isBodiless && length > 0
        encodeHead(response, framing)
        guard hasBody else { return }
        exchange?.summary.bytesOut += length
        if case .bytes(let bytes) = response.body { return output.append(body: bytes) }
        guard case .shared(let prefix, let rest) = response.body else { return }
        if !prefix.isEmpty { output.append(body: prefix) }
        output.append(rest, isFramed: false)
    }

    private func encodeHead(_ response: Response, _ framing: ResponseEncoder.Framing) {
        let persistence: ResponseEncoder.Persistence =
            lifecycle.isLast ? .close : exchange?.isHTTP10 == true ? .keepAlive : .implicit
        let buffer = output.end()
        let before = buffer.count
        ResponseEncoder.appendHead(
            status: response.status, fields: response.fields, framing: framing, persistence: persistence,
            date: resources.dateLine(at: loop.wallClock), to: buffer)
        exchange?.summary.note(response, bytes: buffer.count - before)
    }

    /// Tells the service. Nothing happens if no exchange is open.
    func finishExchange() {
        guard var exchange = exchange.take() else { return }
        intake = nil
        exchange.summary.duration = Instant.now - exchange.began
        shard.service.finished(exchange.summary)
    }
}

/// Compressing an answer.
extension Connection {
    /// What takes a loop about a millisecond to compress; more is done elsewhere, so that the other connections do not
    /// wait.
    private static let compressedOnLoop = 128 * 1024

    /// Compresses first, if the answer is worth it and the client takes it.
    private func answerCompressed(_ response: Response, _ rest: Lifecycle.Rest) {
        let body = response.body
        if case .empty = body { return answer(response.varying(), rest) }
        guard body.count >= shard.options.minCompressedBytes else { return answer(response, rest) }
        guard exchange?.head?.acceptsGzip == true else { return answer(response.varying(), rest) }
        if body.count <= Self.compressedOnLoop || rest != .none {
            let smaller: Body? =
                if let whole = body.asShared {
                    whole.compressed(with: resources.deflater).map { .shared($0) }
                } else {
                    resources.deflater?.compressed(body.bytes[...]).map(Body.bytes)
                }
            return respond(response.encoded(smaller), rest: rest)
        }
        // What waits for a worker cannot be let go to make room, as what waits for a reader can.
        if body.asShared == nil, shard.options.outgoing.isExceeded { return answer(response.varying(), rest) }
        if lifecycle.phase == .deciding { handle(.deferred) }
        let link = PendingLink(self)
        pending = link
        let whole = body.asShared ?? SharedBody(body.bytes, in: shard.options.outgoing)
        whole.compressed(by: shard.workers) { [loop] smaller in
            let encoded = response.encoded(smaller.map { .shared($0) })
            loop.execute { link.deliver(encoded) }
        }
    }
}

/// A body whose length is known; a stream counts as empty.
extension Body {
    fileprivate var count: Int {
        switch self {
        case .empty, .stream: 0
        case .bytes(let bytes): bytes.count
        case .shared(let prefix, let rest): prefix.count + rest.count
        }
    }

    /// All of it, copied where it is in two pieces.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .empty, .stream: []
        case .bytes(let bytes): bytes
        case .shared(let prefix, let rest): prefix + rest.bytes(isFramed: false)
        }
    }

    /// The whole as one that others may hold as well, if it is one.
    fileprivate var asShared: SharedBody? {
        if case .shared(let prefix, let rest) = self, prefix.isEmpty { rest } else { nil }
    }
}

/// A body that is written bit by bit.
extension Connection {
    private func beginStream(
        _ response: Response, _ start: @Sendable (StreamWriter) -> Void, rest: Lifecycle.Rest
    ) {
        let isOld = exchange?.isHTTP10 == true
        let isCompressed =
            response.isCompressible && exchange?.head?.acceptsGzip == true && resources.pieces != nil
        let response = response.isCompressible ? response.encoded(isCompressed ? response.body : nil) : response
        if exchange?.isHead == true || response.isBodiless {
            handle(.answered(rest: rest, closes: isOld))
            encodeHead(response, response.status == 204 || isOld ? .none : .chunked)
            if lifecycle.phase != .discarding { finishExchange() }
            return
        }
        handle(.streamBegan(rest: rest, closes: isOld))
        encodeHead(response, isOld ? .untilClose : .chunked)
        transport.limitUnsent(bytes: Self.unsentStreamBytes)
        let writer = StreamWriter(self, isChunked: !isOld, isCompressed: isCompressed)
        self.writer = writer
        start(writer)
        mark()
    }

    /// What the kernel may queue of a stream for a slow reader. Little: what is queued is old when it arrives.
    private static let unsentStreamBytes = 64 * 1024

    func appendToStream(_ bytes: [UInt8], isChunked: Bool) {
        guard lifecycle.phase == .streaming else { return }
        guard !bytes.isEmpty else { return }
        let before = output.count
        if isChunked {
            let buffer = output.end()
            bytes.withUnsafeBytes { ResponseEncoder.append(chunk: $0, to: buffer) }
        } else {
            output.append(body: bytes)
        }
        exchange?.summary.bytesOut += output.count - before
        mark()
    }

    func appendToStream(_ part: SharedBody, isChunked: Bool) {
        guard lifecycle.phase == .streaming else { return }
        let before = output.count
        output.append(part, isFramed: isChunked)
        exchange?.summary.bytesOut += output.count - before
        mark()
    }

    func endStream(isChunked: Bool) {
        guard lifecycle.phase == .streaming else { return }
        if isChunked { ResponseEncoder.appendLastChunk(to: output.end()) }
        writer = nil
        handle(.streamEnded)
        finishExchange()
        mark()
    }
}
