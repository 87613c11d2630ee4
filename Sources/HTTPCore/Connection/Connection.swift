import CDiffSystem

/// One connection: carries bytes between a transport, the parser, the service and the output, and does what its
/// `Lifecycle` says.
///
/// Confined to its loop. The transport is watched edge-triggered, so no request costs a call of epoll_ctl: `isReadable`
/// remembers an edge until a read says that nothing is left. Room to write is watched for from the first time that
/// there was none. Reads go to the loop's one large buffer and are parsed there; a connection owns memory for input
/// only while a part of a message waits, and for output only while the kernel has no room.
///
/// The service never re-enters a connection. What comes through `Pending` and `StreamWriter` is put down here and the
/// connection marks itself with the loop, which has it go on at the end of the turn.
///
/// Rejected: one object per exchange with the connection as its delegate; a request would cost two more allocations,
/// and which of the two owns the deadline was never clear.
final class Connection: EventReceiver, TurnEndReceiver {
    let shard: Shard
    let loop: EventLoop
    let resources: LoopResources
    let transport: any Transport
    let descriptor: Int32
    let peer: Peer
    var lifecycle: Lifecycle
    /// Where the shard keeps this connection.
    var shardIndex = 0

    // Input, see Connection+Input.swift
    var parser: RequestParser
    var isReadable = false
    var sawHangup = false
    var inputEnded = false
    /// What stands in `leftover` was looked at and means nothing without more.
    var isStarved = true
    var leftover = KeptInput()
    var lingered = 0
    var inflatedInTurn = 0
    var requestsInTurn = 0

    // Exchange, see Connection+Exchange.swift
    var exchange: Exchange?
    var intake: Intake?
    var pending: PendingLink?
    var deliveredAnswer: Response?
    var writer: StreamWriter?

    // Output
    let output: OutputQueue
    var isBacklogged = false
    /// Whether it waits for its reader, and not just for its next turn.
    private(set) var isBlocked = false
    /// What a part of a message and what of answers only this connection holds; made when it first has to wait.
    private var incoming: MemoryShare?
    private var outgoing: MemoryShare?

    // Time, see Connection+Time.swift
    let alarm = Alarm()
    var phaseBegan: Instant
    /// When the window began in which a peer that takes slowly has to take enough, and what it had taken by then.
    var writeWindowBegan: Instant
    var takenBefore = 0
    var bytesAtWindow = 0
    /// When a peer that shut its side while it waits for an answer is asked whether it is there.
    var probeDue: Instant?

    /// What it takes of its peer's room; nil where that has no limit.
    private var peerSlot: PeerSlot?

    private var isMarked = false
    private var isAdvancing = false
    private var watchesOutput = false
    private var isWatched = false

    var limits: ConnectionLimits { shard.limits }

    init(
        shard: Shard, transport: any Transport, descriptor: Int32, peer: Peer, peerSlot: consuming PeerSlot? = nil
    ) {
        self.shard = shard
        loop = shard.loop
        resources = loop.resources
        output = OutputQueue(resources)
        self.transport = transport
        self.descriptor = descriptor
        self.peer = peer
        self.peerSlot = peerSlot
        lifecycle = Lifecycle(needsHandshake: peer.isTLS)
        parser = RequestParser(limits: shard.options.messageLimits)
        phaseBegan = shard.loop.now
        writeWindowBegan = phaseBegan
        alarm.action = { [unowned self] in alarmFired() }
    }

    /// Goes as far as it can before it is watched. On a busy server the first request is there before its connection is
    /// accepted, and one that asks for a single answer is through without ever being watched.
    func begin() {
        isReadable = true
        advance()
        guard lifecycle.phase != .closed else { return }
        isWatched = true
        if !loop.watch(descriptor, self, forOutput: watchesOutput) { handle(.lost) }
    }

    /// An edge of the transport.
    func receive(events: UInt32) {
        let input = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
        if events & input != 0 { isReadable = true }
        // Room to write may be what reading a TLS record waits for.
        if peer.isTLS { isReadable = true }
        if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue) != 0 { sawHangup = true }
        if events & EPOLLERR.rawValue != 0 { handle(.lost) }
        advance()
    }

    /// Has the connection go on at the end of the loop's turn.
    func mark() {
        guard !isMarked else { return }
        isMarked = true
        loop.mark(self)
    }

    func turnEnds() {
        isMarked = false
        advance()
    }

    /// Goes as far as the transport and the service let it.
    func advance() {
        guard !isAdvancing, lifecycle.phase != .closed else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        if lifecycle.phase == .handshake { prepare() }
        takeDeliveredAnswer()
        inflatedInTurn = 0
        requestsInTurn = 0
        repeat {
            pumpInput()
            flush()
        } while canPump && !isMarked
        accountInput()
        if sawHangup { noticeHangup() }
        armAlarm()
    }

    /// Lets the state machine see an event and does what it says.
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
        case .proceed, .wait: break
        case .refuse(let refusal): refuse(refusal)
        case .probe: sendProbe()
        case .finishSending: transport.finishSending()
        case .finish: close(gracefully: true)
        case .close: close(gracefully: false)
        }
    }

    /// Sends what the transport has room for, and the rest of more than this in the next turn: else whoever reads as
    /// fast as the loop sends, through TLS above all, would have it to himself for a whole answer of many megabytes.
    /// Where more waits than may, all of it is sent: what its reader takes is free then.
    private static let mostSentInTurn = 256 * 1024

    func flush() {
        guard lifecycle.phase != .closed else { return }
        if !output.isEmpty {
            let isTight = shard.options.outgoing.isExceeded
            let result = output.flush(transport, most: isTight ? .max : Self.mostSentInTurn)
            if !isBacklogged, !output.isEmpty { beginWriteWindow() }
            isBacklogged = !output.isEmpty
            isBlocked = result == .blocked
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
            handle(.outputDrained(isInputClean: leftover.isEmpty && !isReadable && isStarved))
        }
    }

    /// Counts what waits to become a whole message: only what has come, since room that was reserved costs nothing
    /// before it is filled.
    private func accountInput() {
        let held = leftover.footprint + (intake?.body.count ?? 0)
        guard held > 0 || incoming != nil, lifecycle.phase != .closed else { return }
        let share = incoming ?? MemoryShare(of: shard.options.incoming)
        incoming = held == 0 ? nil : share
        guard !share.resize(to: held) else { return }
        incoming = nil
        // What is pipelined behind a request that waits cannot be refused before that is answered.
        guard lifecycle.phase == .head || lifecycle.phase == .body else { return handle(.lost) }
        refuse(.memoryExhausted)
        releaseLeftover()
        flush()
    }

    /// What was counted of a body that is complete now.
    func takeShare() -> MemoryShare? { incoming.take() }

    private func accountOutput() {
        guard isBacklogged else { return outgoing = nil }
        let share = outgoing ?? MemoryShare(of: shard.options.outgoing)
        outgoing = share
        share.hold(output.own)
        if isBlocked, shard.options.outgoing.isExceeded { shard.relief.begin() }
    }

    private func watchOutput() {
        guard !watchesOutput else { return }
        watchesOutput = true
        if isWatched { loop.watch(descriptor, forOutput: true) }
    }

    private func prepare() {
        watchOutput()  // a handshake may have to wait for it
        switch transport.prepare() {
        case .ready: handle(.secured)
        case .blocked: break
        case .plainText: handle(.spokePlainly)
        case .failed: handle(.lost)
        }
    }

    /// The peer has shut its side while nothing is read that would tell.
    private func noticeHangup() {
        if lifecycle.phase == .streaming { handle(.inputEnded(isWithinHead: false)) }
        // HTTP/1.0 has no answers before the answer (RFC 9110 §15.2).
        if lifecycle.phase == .waiting, probeDue == nil, exchange?.isHTTP10 == false {
            probeDue = loop.now + shard.timeouts.probe
        }
    }

    /// Whoever only shut its own side waits for the answer, and passes over an interim one that it did not ask for (RFC
    /// 9110 §15.2). A client that is gone looks the same, but its machine answers with a reset, and the connection is
    /// lost.
    private func sendProbe() {
        probeDue = .never
        output.end().append(ResponseEncoder.continueLine)
    }

    private func close(gracefully: Bool) {
        loop.disarm(alarm)
        loop.forget(descriptor)
        transport.close(gracefully: gracefully)
        shard.remove(self)
        peerSlot = nil
        let pending = self.pending
        let writer = self.writer
        self.pending = nil
        self.writer = nil
        finishExchange()
        pending?.connectionClosed()
        writer?.didClose()
    }
}
