/// Deadlines. One alarm a connection, armed for whatever of its phase and its output comes first.
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

    /// What the peer has taken, not only the kernel: that takes up to some MiB, and then nothing for long though the
    /// peer reads on.
    private var taken: Int { output.total - transport.unacknowledged }

    func beginWriteWindow() {
        writeWindowBegan = loop.now
        takenBefore = taken
    }

    private var phaseDeadline: Instant? {
        switch lifecycle.phase {
        case .handshake: phaseBegan + shard.timeouts.head
        case .head where parser.isWithinHead: phaseBegan + shard.timeouts.head
        // A client that does not read is stalled, not idle.
        case .head: isBacklogged ? nil : phaseBegan + shard.timeouts.idle
        case .body, .discarding: phaseBegan + shard.timeouts.bodyWindow
        case .lingering: phaseBegan + shard.timeouts.linger
        case .waiting: probeDue
        // An answer that waits for the handshake has the handshake's time.
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

    /// Whether a body brought enough in the window that ends now; then the next one begins.
    private func bodyIsInTime() -> Bool {
        guard lifecycle.phase == .body || lifecycle.phase == .discarding, let bytesIn = exchange?.summary.bytesIn
        else { return false }
        guard bytesIn - bytesAtWindow >= shard.timeouts.bytesInWindow else { return false }
        bytesAtWindow = bytesIn
        phaseBegan = loop.now
        return true
    }
}

/// The times of `ConnectionLimits` in nanoseconds: to take a `Duration` apart is a division of 128 bits, and each
/// request adds some.
struct Timeouts {
    let head: Int64
    let bodyWindow: Int64
    let bytesInWindow: Int
    let idle: Int64
    let writeWindow: Int64
    let bytesWritten: Int
    let linger: Int64
    /// Most answers come before a client is asked whether it still waits.
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
