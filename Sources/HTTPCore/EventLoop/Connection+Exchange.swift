/// From a complete head to the end of its answer.
extension Connection {
    /// - Parameter hasMore: more octets than the head have arrived, so a client that asked for `100 Continue` does not wait for it.
    func begin(_ head: RequestHead, bytesIn: Int, began: Instant, hasMore: Bool) {
        exchange = Exchange(head: head, isHead: head.method == .head, began: began)
        exchange?.bytesIn = bytesIn
        happen(.headCompleted(isLast: !head.keepsAlive))
        if head.parts.expectsOther { return refuse(.expectationFailed) }
        switch shard.service.admit(head, from: peer) {
        case .answer(let response): answerUnread(head, response)
        case .read(let maxBytes, let answer):
            switch head.bodyLength {
            case .none: decide(answer([]))
            case .known(let length) where length > maxBytes:
                refuse(.contentTooLarge(limit: maxBytes, actual: length))
            case .known(let length):
                beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
                exchange?.body.reserveCapacity(min(length + Self.spareRoom, Self.trustedLength))
            case .chunked: beginBody(head, .answer(maxBytes: maxBytes, answer), hasMore: hasMore)
            }
        }
    }

    /// What a mere announcement may make us reserve. Once that much has come, room for the rest is made at once: to grow to it by doubling
    /// copies a body of 11 MB for some milliseconds in which the loop does nothing else. The room costs no memory before it is filled.
    private static let trustedLength = 128 * 1024

    /// Room behind a body for what a service may append to it, such as zeros that its parser can run into, so that it need not copy.
    private static let spareRoom = 32

    /// A body of known length can wait until it was answered. A chunked one is read first: it may turn out to be malformed, and then the
    /// message was never one to be answered with success.
    private func answerUnread(_ head: RequestHead, _ response: Response) {
        switch head.bodyLength {
        case .none: respond(response, rest: .none)
        case .known(let length):
            let isShort = length <= limits.maxDiscardBytes && !head.expectsContinue
            exchange?.decoder = BodyDecoder(head.bodyLength, limits: parser.limits)
            respond(response, rest: isShort ? .short : .long)
        case .chunked where head.expectsContinue: respond(response, rest: .long)
        case .chunked: beginBody(head, .discard(response), hasMore: true)
        }
    }

    private func beginBody(_ head: RequestHead, _ plan: Exchange.Plan, hasMore: Bool) {
        exchange?.plan = plan
        if case .answer = plan, head.contentEncoding == .gzip { exchange?.inflater = Inflater() }
        exchange?.decoder = BodyDecoder(head.bodyLength, limits: parser.limits)
        happen(.bodyBegan)
        if head.expectsContinue, !hasMore {
            output.end(loop).append(ResponseEncoder.continueLine)
        }
    }

    /// Puts a run of the body where it belongs; false if the exchange ended with it.
    func take(content: UnsafeRawBufferPointer, announced: Int) -> Bool {
        exchange?.received += content.count
        let received = exchange?.received ?? 0
        if lifecycle.phase == .discarding {
            guard received + announced <= max(limits.maxDiscardBytes, received) else {
                happen(.restRefused)
                return false
            }
            return true
        }
        switch exchange?.plan {
        case .answer(let maxBytes, _):
            guard received + announced <= maxBytes else {
                refuse(.contentTooLarge(limit: maxBytes, actual: nil))
                return false
            }
            return append(content, limit: maxBytes)
        case .discard(let response):
            guard received + announced <= limits.maxDiscardBytes else {
                happen(.bodyEnded)
                respond(response, rest: .long)
                return false
            }
        case nil, .some(.none): preconditionFailure("a body without a plan")
        }
        return true
    }

    /// Appends to the body, inflated if need be; false if that was refused.
    private func append(_ content: UnsafeRawBufferPointer, limit: Int) -> Bool {
        guard let inflater = exchange?.inflater else {
            makeRoom(for: content.count)
            exchange?.body.append(contentsOf: content)
            return true
        }
        let before = exchange?.body.count ?? 0
        let outcome = exchange.mutate { inflater.inflate(content, into: &$0.body, limit: limit) } ?? .malformed
        inflatedInTurn += (exchange?.body.count ?? 0) - before
        switch outcome {
        case .more: return true
        case .tooLarge: refuse(.contentTooLarge(limit: limit, actual: nil))
        case .malformed: refuse(.malformedContent)
        }
        return false
    }

    private func makeRoom(for count: Int) {
        guard let capacity = exchange?.body.capacity, (exchange?.body.count ?? 0) + count > capacity,
            case .known(let length) = exchange?.head?.bodyLength
        else { return }
        exchange?.body.reserveCapacity(length + Self.spareRoom)
    }

    func endBody() {
        if let inflater = exchange?.inflater, !inflater.isComplete { return refuse(.malformedContent) }
        let wasDiscarding = lifecycle.phase == .discarding
        happen(.bodyEnded)
        if wasDiscarding { return finishExchange() }
        switch exchange?.plan {
        case .answer(_, let answer):
            let body = exchange?.body ?? []
            exchange?.body = []
            exchange?.plan = .none
            decide(answer(body))
        case .discard(let response): respond(response, rest: .none)
        case nil, .some(.none): preconditionFailure("a body without a plan")
        }
    }

    private func decide(_ reply: Reply) {
        switch reply {
        case .now(let response): respond(response, rest: .none)
        case .later(let start):
            happen(.deferred)
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
                exchange = Exchange(head: nil, isHead: parser.isHead(leftover), began: phaseBegan)
                exchange?.bytesIn = leftover.count
                exchange?.refusedTarget = parser.target(leftover)
            }
        }
        let response = shard.service.refusal(refusal, target: exchange?.head?.target ?? exchange?.refusedTarget)
        happen(.refused)
        switch response.body {
        case .bytes(let bytes): encode(response, bytes)
        case .empty, .stream: encode(response, [])
        }
        finishExchange()
    }

    private func respond(_ response: Response, rest: Lifecycle.Rest) {
        switch response.body {
        case .empty: answer(response.isCompressible ? response.varying() : response, [], rest)
        case .bytes(let bytes):
            guard response.isCompressible, bytes.count >= shard.options.minCompressedBytes else {
                return answer(response, bytes, rest)
            }
            compress(response, bytes, rest)
        case .stream(let start): beginStream(response, start, rest: rest)
        }
    }

    private func answer(_ response: Response, _ body: [UInt8], _ rest: Lifecycle.Rest) {
        happen(.answered(rest: rest, closes: response.closesConnection))
        encode(response, body)
        if lifecycle.phase != .discarding { finishExchange() }
    }

    private func encode(_ response: Response, _ body: [UInt8]) {
        let framing: ResponseEncoder.Framing =
            response.status == 204 ? .none : response.status == 304 && body.isEmpty ? .none : .length(body.count)
        let hasBody = exchange?.isHead != true && !response.isBodiless && !body.isEmpty
        let written = encodeHead(response, framing)
        noteAnswer(response, bytes: hasBody ? written + body.count : written)
        if hasBody { output.append(body: body, loop) }
    }

    private func noteAnswer(_ response: Response, bytes: Int) {
        exchange?.status = response.status
        exchange?.route = response.route
        exchange?.bytesOut += bytes
    }

    /// - Returns: its octets.
    private func encodeHead(_ response: Response, _ framing: ResponseEncoder.Framing) -> Int {
        let persistence: ResponseEncoder.Persistence =
            lifecycle.isLast ? .close : exchange?.isHTTP10 == true ? .keepAloud : .keep
        let buffer = output.end(loop)
        let before = buffer.count
        ResponseEncoder.appendHead(
            status: response.status, fields: response.fields, framing: framing, persistence: persistence,
            date: loop.dateLine, to: buffer)
        return buffer.count - before
    }

    /// Tells the service. Nothing happens if no exchange is open.
    func finishExchange() {
        guard let exchange = exchange.take() else { return }
        shard.service.finished(
            ExchangeSummary(
                head: exchange.head, peer: peer, status: exchange.status, route: exchange.route,
                bytesIn: exchange.bytesIn,
                bytesOut: exchange.bytesOut, duration: Instant.now() - exchange.began))
    }
}

/// Compressing an answer.
extension Connection {
    /// What takes a loop about a millisecond to compress; more is done elsewhere, so that the other connections do not wait.
    private static let compressedOnLoop = 128 * 1024

    private func compress(_ response: Response, _ body: [UInt8], _ rest: Lifecycle.Rest) {
        guard exchange?.head?.acceptsGzip == true else { return answer(response.varying(), body, rest) }
        if body.count <= Self.compressedOnLoop || rest != .none {
            let encoded = Self.compressed(response, body, loop.deflater)
            guard case .bytes(let bytes) = encoded.body else { return }
            return answer(encoded, bytes, rest)
        }
        if lifecycle.phase == .deciding { happen(.deferred) }
        let link = PendingLink(self)
        pending = link
        shard.workers.run { [loop] in
            let encoded = Self.compressed(response, body, Deflater())
            loop.execute { link.deliver(encoded) }
        }
    }

    private static func compressed(_ response: Response, _ body: [UInt8], _ deflater: Deflater?) -> Response {
        if let smaller = deflater?.compressed(body) { return response.encoded(smaller) }
        var response = response.varying()
        response.isCompressible = false
        return response
    }
}

/// A body that is written bit by bit.
extension Connection {
    private func beginStream(
        _ response: Response, _ start: @Sendable (StreamWriter) -> Void, rest: Lifecycle.Rest
    ) {
        let isOld = exchange?.isHTTP10 == true
        let closes = response.closesConnection || isOld
        if exchange?.isHead == true || response.isBodiless {
            happen(.answered(rest: rest, closes: closes))
            beginEncoding(response, response.status == 204 || isOld ? .none : .chunked)
            if lifecycle.phase != .discarding { finishExchange() }
            return
        }
        happen(.streamBegan(rest: rest, closes: closes))
        beginEncoding(response, isOld ? .untilClose : .chunked)
        transport.limitUnsent(bytes: Self.unsentStreamBytes)
        let writer = StreamWriter(self, isChunked: !isOld)
        self.writer = writer
        start(writer)
        mark()
    }

    private func beginEncoding(_ response: Response, _ framing: ResponseEncoder.Framing) {
        noteAnswer(response, bytes: encodeHead(response, framing))
    }

    /// What the kernel may queue of a stream for a slow reader. Little: what is queued is old when it arrives.
    private static let unsentStreamBytes = 64 * 1024

    func appendToStream(_ bytes: [UInt8], isChunked: Bool) {
        guard lifecycle.phase == .streaming else { return }
        guard !bytes.isEmpty else { return }
        let before = output.count
        if isChunked {
            let buffer = output.end(loop)
            bytes.withUnsafeBytes { ResponseEncoder.append(chunk: $0, to: buffer) }
        } else {
            output.append(body: bytes, loop)
        }
        exchange?.bytesOut += output.count - before
        mark()
    }

    func endStream(isChunked: Bool) {
        guard lifecycle.phase == .streaming else { return }
        if isChunked { ResponseEncoder.appendLastChunk(to: output.end(loop)) }
        writer = nil
        happen(.streamEnded)
        finishExchange()
        mark()
    }
}
