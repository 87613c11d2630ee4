/// Deadlines. A connection has one alarm, armed for the earlier deadline of its phase and its output.
extension Connection {
    func armAlarm() {
        guard lifecycle.phase != .closed, let deadline else { return }
        loop.arm(alarm, at: deadline)
    }

    private var deadline: Instant? {
        guard let stallDeadline else { return phaseDeadline }
        return phaseDeadline.map { min($0, stallDeadline) } ?? stallDeadline
    }

    private var stallDeadline: Instant? { isBacklogged ? writeWindowBegan + shard.timeouts.writeWindow : nil }

    /// What the peer has acknowledged. The kernel takes up to some MiB at once, and then nothing for a long time
    /// although the peer keeps reading.
    private var taken: Int { output.total - transport.unacknowledged }

    func beginWriteWindow() {
        writeWindowBegan = loop.now
        takenBefore = taken
    }

    private var phaseDeadline: Instant? {
        switch lifecycle.phase {
        case .handshake: phaseBegan + shard.timeouts.head
        case .head where parser.isWithinHead: phaseBegan + shard.timeouts.head
        // A client that does not read its answers is stalled, not idle.
        case .head: isBacklogged ? nil : phaseBegan + shard.timeouts.idle
        case .body, .discarding: phaseBegan + shard.timeouts.bodyWindow
        case .lingering: phaseBegan + shard.timeouts.linger
        case .waiting: probeDue
        // An answer that waits for a handshake has the handshake's deadline.
        case .flushing: peer.isTLS && output.total == 0 ? phaseBegan + shard.timeouts.head : nil
        case .deciding, .streaming, .closed: nil
        }
    }

    func alarmFired() {
        if let stallDeadline, stallDeadline <= loop.now {
            guard taken - takenBefore >= shard.timeouts.bytesWritten else { return handle(.stalled) }
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

/// The times of `ConnectionLimits` in nanoseconds: each request adds several, and converting a `Duration` is a 128-bit
/// division.
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
