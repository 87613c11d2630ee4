/// From the transport to the parser.
extension Connection {
    /// Reads and octets per iteration. For a large body they take some 0.1 ms, since its memory is new.
    private static let readsInIteration = 16
    private static let octetsInIteration = 256 * 1024
    /// Requests per iteration. Pipelined ones take some 0.01 ms each.
    private static let requestsInIteration = 64
    /// The size of one read while a head is expected. It bounds what is kept behind a request that must wait.
    static let headReadBytes = 64 * 1024
    /// Octets inflated per iteration, in pieces that may grow a thousandfold.
    private static let inflatedInIteration = 1024 * 1024
    private static let compressedPiece = 4096

    private var hasShareOfIteration: Bool {
        inflatedInIteration <= Self.inflatedInIteration && requestsInIteration < Self.requestsInIteration
    }

    var canPump: Bool {
        lifecycle.takesInput && (!needsRead || input.isReadable) && output.count < limits.maxBacklogBytes
    }

    func pumpInput() {
        var reads = 0
        var octets = 0
        while canPump {
            // Another answer would only add to what is being closed for lack of memory.
            if lifecycle.phase == .head, shard.outputLimit.isEnforced { return mark() }
            reads += 1
            guard reads <= Self.readsInIteration, octets < Self.octetsInIteration, hasShareOfIteration else {
                return mark()
            }
            guard needsRead || leftover.isEmpty else {
                octets += consumeLeftover()
                continue
            }
            let scratch = resources.scratch
            var filled = leftover.count
            if filled > 0 {
                leftover.withUnsafeBytes { scratch.copyMemory(from: $0) }
                releaseLeftover()
            }
            if needsRead, !receive(behind: &filled, in: scratch) { return }
            needsRead = false
            octets += filled
            let octetsRead = UnsafeRawBufferPointer(rebasing: scratch[0..<filled])
            let used = consume(octetsRead)
            if used == filled {
                needsRead = true
            } else if lifecycle.phase != .closed {
                keep(octetsRead.slice(used, filled))
            }
        }
        if input == .ended, needsRead, lifecycle.takesInput { handle(.inputEnded(isWithinHead: parser.isWithinHead)) }
    }

    /// Reads once; false if the connection is lost.
    private func receive(behind filled: inout Int, in scratch: UnsafeMutableRawBufferPointer) -> Bool {
        let room = min(scratch.count - filled, lifecycle.phase == .head ? Self.headReadBytes : Self.octetsInIteration)
        let result = transport.receive(into: UnsafeMutableRawBufferPointer(rebasing: scratch[filled..<filled + room]))
        filled += result.count
        input.took(result, isLast: result.count < room && transport.shortReceiveIsLast)
        if result == .failed { handle(.lost) }
        return result != .failed
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) { leftover = UnparsedInput(bytes, in: resources.takeArray()) }

    func releaseLeftover() { resources.recycle(takeLeftover().released()) }

    private func takeLeftover() -> UnparsedInput { Swift.exchange(&leftover, with: UnparsedInput()) }

    /// Consumes from `leftover`; returns how much.
    private func consumeLeftover() -> Int {
        var kept = takeLeftover()
        needsRead = false
        let used = kept.withUnsafeBytes { consume($0) }
        kept.drop(used)
        if kept.count == 0 {
            needsRead = true
            resources.recycle(kept.released())
        } else if lifecycle.phase != .closed {
            leftover = kept
        }
        return used
    }

    /// Consumes what it can; returns how much.
    private func consume(_ bytes: UnsafeRawBufferPointer) -> Int {
        var position = 0
        while position < bytes.count, output.count < limits.maxBacklogBytes, hasShareOfIteration {
            let rest = bytes.slice(position, bytes.count)
            switch lifecycle.phase {
            case .head:
                guard let consumed = takeHead(rest) else { return position }
                position += consumed
            case .body, .discarding:
                guard let consumed = takeBody(rest) else {
                    needsRead = true
                    return bytes.count
                }
                position += consumed
            case .lingering:
                lingered += rest.count
                if lingered > limits.maxLingerBytes { handle(.lost) }
                needsRead = true
                return bytes.count
            case .handshake, .deciding, .waiting, .streaming, .flushing, .closed:
                return position
            }
        }
        return position
    }

    /// Returns the octets of a complete head, or all if it was refused; nil if more must come.
    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let wasWithinHead = parser.isWithinHead
        switch parser.parse(bytes) {
        case .incomplete:
            if parser.isWithinHead, !wasWithinHead { phaseBegan = loop.now }
            needsRead = true
            return nil
        case .complete(let head, let consumed):
            parser.restart()
            requestsInIteration += 1
            loop.beginWork(on: head)
            begin(
                head, bytesIn: consumed, began: wasWithinHead ? phaseBegan : loop.now, hasMore: consumed < bytes.count)
            return consumed
        case .refused(let refusal):
            exchange = Exchange(
                refusedBy: parser, bytes, from: peer, began: wasWithinHead ? phaseBegan : loop.now,
                madeID: resources.requestIDs.next())
            parser.restart()
            refuse(refusal)
            return bytes.count
        }
    }

    /// Returns the octets of one step of a body; nil if all are consumed and more must come.
    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let isCompressed = bodyReader?.inflater != nil
        let piece = isCompressed ? bytes.slice(0, min(bytes.count, Self.compressedPiece)) : bytes
        switch bodyReader?.decoder.step(piece) {
        case nil: preconditionFailure("a body without a decoder")
        case .more(let consumed, let content):
            exchange?.summary.bytesIn += consumed
            guard take(content: bytes.slice(content), announced: bodyReader?.decoder.announced ?? 0) else {
                return bytes.count
            }
            return consumed == bytes.count ? nil : consumed
        case .end(let consumed, let content):
            exchange?.summary.bytesIn += consumed
            guard take(content: bytes.slice(content), announced: 0) else { return bytes.count }
            if let head = exchange?.head { loop.beginWork(on: head) }
            endBody()
            return consumed
        case .refused(let refusal):
            if lifecycle.phase == .discarding { handle(.restRefused) } else { refuse(refusal) }
            return bytes.count
        }
    }
}

/// Input that was read but not yet consumed. It stays in place until all of it is: copying the rest after each message
/// fragments memory. 200 connections pipelining small sessions brought a process with 64 MiB to 140 MiB.
struct UnparsedInput {
    private var bytes: [UInt8] = []
    private var start = 0

    init() {}

    /// - Parameter array: an empty array to copy the input to.
    init(_ input: UnsafeRawBufferPointer, in array: consuming [UInt8]) {
        bytes = consume array
        bytes.append(contentsOf: input)
    }

    var isEmpty: Bool { bytes.isEmpty }
    /// Octets not yet consumed.
    var count: Int { bytes.count - start }
    /// Memory held, in bytes.
    var footprint: Int { bytes.count }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body($0.slice(start, $0.count)) }
    }

    mutating func drop(_ consumed: Int) {
        start += consumed
        assert(start <= bytes.count, "more was consumed than there was")
    }

    consuming func released() -> [UInt8] { bytes }
}
