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
        let hasBody = exchange?.isHead != true && !response.isBodiless && length > 0
        encodeHead(response, hasNoLength ? .none : .length(length))
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
            date: resources.date.line(at: loop.wallClock), to: buffer)
        exchange?.summary.note(response, bytes: buffer.count - before)
    }
}

/// Compressing an answer.
extension Connection {
    /// About a millisecond's work. Larger bodies are compressed by a worker, so that other connections do not wait.
    private static let compressedOnLoop = 128 * 1024

    /// Compresses the answer first, if that is worth it and the client accepts it.
    private func answerCompressed(_ response: Response, _ rest: Lifecycle.UnreadBody) {
        let body = response.body
        if case .empty = body { return answer(response.varying(), rest) }
        guard body.count >= shard.options.minCompressedBytes else { return answer(response, rest) }
        guard exchange?.head?.acceptsGzip == true else { return answer(response.varying(), rest) }
        if body.count <= Self.compressedOnLoop || rest != .none {
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
        let link = PendingLink(self)
        pending = link
        let whole = body.asShared ?? SharedBody(body.bytes, in: shard.options.outgoing)
        whole.compressed(by: shard.workers) { [loop] smaller in
            let encoded = response.encoded(smaller.map { .shared($0) })
            loop.execute { link.deliver(encoded) }
        }
    }
}

extension Body {
    /// Octets; a stream counts as empty.
    fileprivate var count: Int {
        switch self {
        case .empty, .stream: 0
        case .bytes(let bytes): bytes.count
        case .shared(let prefix, let rest): prefix.count + rest.count
        }
    }

    /// All octets, copied if they are in two pieces.
    fileprivate var bytes: [UInt8] {
        switch self {
        case .empty, .stream: []
        case .bytes(let bytes): bytes
        case .shared(let prefix, let rest): prefix + rest.bytes(isFramed: false)
        }
    }

    /// The whole body, if it is shared.
    fileprivate var asShared: SharedBody? {
        if case .shared(let prefix, let rest) = self, prefix.isEmpty { rest } else { nil }
    }
}

/// Streams.
extension Connection {
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
        encodeHead(response, isOld ? .untilClose : .chunked)
        transport.limitUnsent(bytes: Self.unsentStreamBytes)
        let writer = StreamWriter(self, isCompressed: isCompressed)
        self.writer = writer
        start(writer)
        mark()
    }

    /// How much of a stream the kernel may queue for a slow reader. Little: whatever is queued is stale on arrival.
    private static let unsentStreamBytes = 64 * 1024

    /// HTTP/1.0 ends a stream by closing the connection.
    private var isChunked: Bool { exchange?.isHTTP10 != true }

    func appendToStream(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        extendStream {
            guard isChunked else { return output.append(body: bytes) }
            let buffer = output.end()
            bytes.withUnsafeBytes { ResponseEncoder.append(chunk: $0, to: buffer) }
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
        if isChunked { ResponseEncoder.appendLastChunk(to: output.end()) }
        writer = nil
        handle(.streamEnded)
        finishExchange()
        mark()
    }
}
