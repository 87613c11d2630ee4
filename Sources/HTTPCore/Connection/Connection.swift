import DiffClock

/// One connection: moves bytes between the transport, the parser, the service and the output, as its `Lifecycle` says.
///
/// Confined to its loop. The transport is watched edge-triggered, for room to write from the first time there is none.
/// Reads go to the loop's one large buffer and are parsed there; a connection owns memory for input only while part of
/// a message waits, and for output only while the kernel has no room.
///
/// The service never re-enters a connection. What `Pending` and `StreamWriter` bring is stored, and the connection
/// continues at the end of the loop's iteration.
///
/// Rejected: an object per exchange with the connection as its delegate. It cost two more allocations per request.
final class Connection: EventReceiver, IterationEndReceiver {
    let shard: Shard
    let loop: EventLoop
    let resources: LoopResources
    let transport: any Transport
    let descriptor: Int32
    let peer: Peer
    var lifecycle: Lifecycle
    var shardIndex = 0

    // Input
    var parser: RequestParser
    var input = InputSide.readable
    /// Whether the parser needs more than `leftover`.
    var needsRead = true
    var leftover = UnparsedInput()
    var lingered = 0
    var inflatedInIteration = 0
    var requestsInIteration = 0

    // Exchange
    var exchange: Exchange?
    var bodyReader: RequestBodyReader?
    var pending: PendingLink?
    var deliveredAnswer: Response?
    var writer: StreamWriter?

    // Output
    let output: OutputQueue
    private(set) var backlog = Backlog.none
    /// Shares for a partial message, and for answers that nobody else holds; made when something first has to wait.
    private var incoming: MemoryShare?
    private var outgoing: MemoryShare?

    // Time
    let alarm = Alarm()
    var phaseBegan: Instant
    /// When the window for the peer's read rate began, and how much it had taken by then.
    private var writeWindowBegan: Instant
    private var acknowledgedBefore = 0
    private var bytesAtWindow = 0
    /// When to probe a peer that has shut down its side while it waits for an answer.
    private var probeDue: Instant?

    /// Nil if the peer's connections are not limited.
    private var peerPermit: PeerPermit?

    var isMarked = false
    private var isAdvancing = false
    private var watchesOutput = false
    private var isWatched = false

    var limits: ConnectionLimits { shard.options.connectionLimits }

    init(
        shard: Shard, transport: any Transport, descriptor: Int32, peer: Peer, peerPermit: consuming PeerPermit? = nil
    ) {
        self.shard = shard
        loop = shard.loop
        resources = loop.resources
        output = OutputQueue(resources)
        (self.transport, self.descriptor, self.peer) = (transport, descriptor, peer)
        self.peerPermit = peerPermit
        lifecycle = Lifecycle(needsHandshake: peer.isTLS)
        parser = RequestParser(limits: shard.options.messageLimits)
        phaseBegan = shard.loop.now
        writeWindowBegan = phaseBegan
        alarm.action = { [unowned self] in alarmFired() }
    }

    /// Starts before the descriptor is watched: on a busy server the first request has arrived before the connection is
    /// accepted, and a connection for one request never needs watching.
    func begin() {
        advance()
        guard lifecycle.phase != .closed else { return }
        isWatched = true
        if !loop.watch(descriptor, self, for: .edges(forOutput: watchesOutput)) { handle(.lost) }
    }

    func receive(_ readiness: Readiness) {
        // Reading a TLS record may have been waiting for room to write.
        if peer.isTLS || !readiness.isDisjoint(with: [.input, .inputEnd, .hangup, .error]) { input.wake(readiness) }
        if readiness.contains(.error) { handle(.lost) }
        advance()
    }

    func mark() { loop.mark(self) }

    func iterationEnds() { advance() }

    /// Goes as far as the transport and the service allow.
    func advance() {
        guard !isAdvancing, lifecycle.phase != .closed else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        if lifecycle.phase == .handshake { prepare() }
        takeDeliveredAnswer()
        inflatedInIteration = 0
        requestsInIteration = 0
        repeat {
            pumpInput()
            flush()
        } while canPump && !isMarked
        accountInput()
        if input.hasHungUp { noticeHangup() }
        armAlarm()
    }

    /// Feeds an event to the state machine and carries out its action.
    func handle(_ event: Lifecycle.Event) {
        var next = lifecycle
        let action = next.handle(event)
        let isNewPhase = next.phase != lifecycle.phase
        lifecycle = next
        if isNewPhase {
            phaseBegan = loop.now
            bytesAtWindow = 0
            probeDue = nil
        }
        switch action {
        case .nothing: break
        case .refuse(let refusal): refuse(refusal)
        case .probe: sendProbe()
        case .finishSending: transport.finishSending()
        case .finish: close(gracefully: true)
        case .close: close(gracefully: false)
        }
    }

    /// What one connection may send per iteration, or a peer that reads as fast as the loop sends would occupy it for
    /// an answer of many megabytes. No limit while the budget for answers is exceeded: what the peer takes is freed.
    private static let maxSentInIteration = 256 * 1024

    func flush() {
        guard lifecycle.phase != .closed else { return }
        if !output.isEmpty {
            let isTight = shard.options.outgoing.isExceeded
            let result = output.flush(
                transport, limit: isTight ? .max : Self.maxSentInIteration, isLast: lifecycle.phase == .flushing)
            if backlog == .none, !output.isEmpty { beginWriteWindow() }
            backlog = output.isEmpty ? .none : result == .blocked ? .blocked : .unsent
            accountOutput()
            switch result {
            case nil: break
            case .blocked: return watchOutput()
            case .moved: return mark()
            case .ended, .failed: return handle(.lost)
            }
            writer?.didDrain()
        }
        if lifecycle.phase == .flushing, output.isEmpty {
            handle(.outputDrained(isInputClean: leftover.isEmpty && !input.isReadable && needsRead))
        }
    }

    /// Charges for the octets of a partial message, and for what TLS may keep, but not while input is discarded, which
    /// ends soon. Partial messages leave a part to whole ones, or a client that holds many back would have all others
    /// refused. Handshakes, whose first octets already count for much, leave half.
    private func accountInput() {
        var held = leftover.footprint + (bodyReader?.body.count ?? 0)
        switch lifecycle.phase {
        case .discarding, .flushing, .lingering: break
        case .closed: return
        default: held += transport.held
        }
        guard held > 0 || incoming != nil else { return }
        let share = incoming ?? MemoryShare(of: shard.options.incoming)
        incoming = held == 0 ? nil : share
        let spared = lifecycle.phase == .handshake ? 2 : MemoryBudget.sparedPart
        guard !share.resize(to: held, sparing: spared) else { return }
        incoming = nil
        // Input pipelined behind a waiting request cannot be refused before that is answered.
        guard lifecycle.phase == .head || lifecycle.phase == .body else { return handle(.lost) }
        refuse(.memoryExhausted)
        releaseLeftover()
        flush()
    }

    /// Hands over the share of a complete body.
    func takeShare() -> MemoryShare? { incoming.take() }

    private func accountOutput() {
        guard backlog != .none else { return outgoing = nil }
        let share = outgoing ?? MemoryShare(of: shard.options.outgoing)
        outgoing = share
        share.hold(output.own)
        if backlog == .blocked, shard.options.outgoing.isExceeded { shard.outputLimit.enforce() }
    }

    private func watchOutput() {
        guard !watchesOutput else { return }
        watchesOutput = true
        if isWatched { loop.rewatch(descriptor, for: .edges(forOutput: true)) }
    }

    private func prepare() {
        watchOutput()  // a handshake may have to wait for room
        switch transport.prepare() {
        case .ready: handle(.secured)
        case .blocked: break
        case .plainText: handle(.receivedPlainText)
        case .failed: handle(.lost)
        }
    }

    /// The peer has shut down its side in a phase that reads no input.
    private func noticeHangup() {
        if lifecycle.phase == .streaming { handle(.inputEnded(isWithinHead: false)) }
        // HTTP/1.0 has no interim responses (RFC 9110 §15.2).
        if lifecycle.phase == .waiting, probeDue == nil, exchange?.isHTTP10 == false {
            probeDue = loop.now + shard.timeouts.probe
        }
    }

    /// A client that still waits ignores the interim response (RFC 9110 §15.2); if it is gone, a reset comes back.
    private func sendProbe() {
        probeDue = .never
        output.end().append(ResponseEncoder.continueLine)
    }

    /// The server is shutting down: this exchange is the last. A request that has arrived is answered, and a first one
    /// awaited, unless the connection began before `begun`.
    func drain(begun: Instant, keepsIdle: Bool) {
        handle(.endAnnounced)
        if lifecycle.phase == .head {
            input.wake()
            advance()
        }
        let awaitsFirst = output.total == 0 && phaseBegan > begun
        handle(.drainBegan(isIdle: !parser.isWithinHead && needsRead && !awaitsFirst && !keepsIdle))
        mark()
    }

    private func close(gracefully: Bool) {
        loop.disarm(alarm)
        transport.close(gracefully: gracefully)
        shard.remove(self)
        let (pending, writer) = (pending.take(), writer.take())
        let peerPermit = peerPermit.take()
        finishExchange()
        pending?.connectionClosed(peerPermit)
        writer?.didClose()
    }
}

/// Deadlines. A connection has one alarm, armed for the earlier deadline of its phase and its output.
extension Connection {
    private func armAlarm() {
        guard lifecycle.phase != .closed, let deadline else { return }
        loop.arm(alarm, at: deadline)
    }

    private var deadline: Instant? {
        guard let stallDeadline else { return phaseDeadline }
        return phaseDeadline.map { min($0, stallDeadline) } ?? stallDeadline
    }

    private var stallDeadline: Instant? { backlog == .none ? nil : writeWindowBegan + shard.timeouts.writeWindow }

    /// What the peer has acknowledged. The kernel takes some MiB at once, then nothing while the peer keeps reading.
    private var acknowledged: Int { output.total - transport.unacknowledged }

    private func beginWriteWindow() {
        writeWindowBegan = loop.now
        acknowledgedBefore = acknowledged
    }

    private var phaseDeadline: Instant? {
        switch lifecycle.phase {
        case .handshake: phaseBegan + shard.timeouts.head
        case .head where parser.isWithinHead: phaseBegan + shard.timeouts.head
        // A client that does not read its answers is stalled, not idle.
        case .head: backlog == .none ? phaseBegan + shard.timeouts.idle : nil
        case .body, .discarding: phaseBegan + shard.timeouts.bodyWindow
        case .lingering: phaseBegan + shard.timeouts.linger
        case .waiting: probeDue
        // An answer that waits for a handshake has the handshake's deadline.
        case .flushing: peer.isTLS && output.total == 0 ? phaseBegan + shard.timeouts.head : nil
        case .deciding, .streaming, .closed: nil
        }
    }

    private func alarmFired() {
        if let stallDeadline, stallDeadline <= loop.now {
            guard acknowledged - acknowledgedBefore >= shard.timeouts.bytesWritten else { return handle(.stalled) }
            beginWriteWindow()
        }
        if let phaseDeadline, phaseDeadline <= loop.now, !bodyIsInTime() {
            handle(.timedOut(isWithinHead: parser.isWithinHead))
        }
        advance()
    }

    /// Whether enough of a body arrived in this window; if so, the next one begins.
    private func bodyIsInTime() -> Bool {
        guard lifecycle.phase == .body || lifecycle.phase == .discarding, let bytesIn = exchange?.summary.bytesIn
        else { return false }
        guard bytesIn - bytesAtWindow >= shard.timeouts.bytesInWindow else { return false }
        bytesAtWindow = bytesIn
        phaseBegan = loop.now
        return true
    }
}

/// Output that the kernel has not taken: it waits for the next iteration, or if it is blocked, for the peer.
enum Backlog { case none, unsent, blocked }

/// `ConnectionLimits` in nanoseconds: each request adds several, and converting a `Duration` is a 128-bit division.
struct Timeouts {
    let head: Int64
    let bodyWindow: Int64
    let bytesInWindow: Int
    let idle: Int64
    let writeWindow: Int64
    let bytesWritten: Int
    let linger: Int64
    /// Long enough for most answers to need no probe.
    let probe: Int64 = 500_000_000

    init(_ limits: ConnectionLimits) {
        head = limits.headTimeout.wholeNanoseconds
        bodyWindow = limits.bodyWindow.wholeNanoseconds
        bytesInWindow = Int(Double(limits.minBodyRate) * Double(bodyWindow) / 1e9)
        idle = limits.idleTimeout.wholeNanoseconds
        writeWindow = limits.writeStall.wholeNanoseconds
        bytesWritten = max(1, Int(Double(limits.minWriteRate) * Double(writeWindow) / 1e9))
        linger = limits.lingerTimeout.wholeNanoseconds
    }
}
