/// From a complete head to the end of its answer.
extension Connection {
    /// - Parameter hasMore: octets behind the head have arrived, so the client is not waiting for `100 Continue`.
    func begin(_ head: RequestHead, bytesIn: Int, began: Instant, hasMore: Bool) {
        exchange = Exchange(head, from: peer, bytesIn: bytesIn, began: began)
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

    /// How much is reserved for a mere Content-Length. Once that much has arrived, room for the rest is reserved at
    /// once: growing by doubling copies a body of 11 MB for several milliseconds. Room costs no memory until it is
    /// filled.
    private static let trustedLength = 128 * 1024

    /// Room behind a body for a service to append to it without a copy, such as the zeros that end a parser's run.
    private static let spareRoom = 32

    /// A body of known length is read after its answer. A chunked one is read first: if it is malformed, so is the
    /// whole message, and it must not be answered with success.
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

    /// Takes a run of the body; false if that ended the exchange.
    func take(content: UnsafeRawBufferPointer, announced: Int) -> Bool {
        intake?.received += content.count
        let received = intake?.received ?? 0
        switch intake?.plan {
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
        guard let inflater = intake?.inflater else {
            makeRoom(for: content.count)
            intake?.body.append(contentsOf: content)
            return true
        }
        // Taken out, so that it is not copied.
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
        // The service gets the only reference to the body.
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

    /// Sends the service's answer to a refusal, and gives up the connection.
    func refuse(_ refusal: Refusal) {
        if exchange == nil {  // within a head, which ended or took too long
            exchange = leftover.withUnsafeBytes { Exchange(refusedBy: parser, $0, from: peer, began: phaseBegan) }
        }
        let response = shard.service.refusal(refusal, target: exchange?.head?.target ?? exchange?.refusedTarget)
        handle(.refused)
        encode(response)
        finishExchange()
    }

    /// Reports the exchange to the service, if one is open.
    func finishExchange() {
        guard var exchange = exchange.take() else { return }
        intake = nil
        exchange.summary.duration = Instant.now - exchange.began
        shard.service.finished(exchange.summary)
    }
}
