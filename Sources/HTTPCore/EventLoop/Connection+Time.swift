/// Deadlines. One alarm a connection, armed for whatever of its phase and its output comes first.
extension Connection {
    func armAlarm() {
        guard lifecycle.phase != .closed, let deadline else { return }
        let alarm = alarm ?? Alarm { [unowned self] in alarmRang() }
        self.alarm = alarm
        loop.arm(alarm, at: deadline)
    }

    private var deadline: Instant? {
        guard let stallDeadline else { return phaseDeadline }
        return phaseDeadline.map { min($0, stallDeadline) } ?? stallDeadline
    }

    private var stallDeadline: Instant? { isBacklogged ? progressAt + limits.writeStall : nil }

    private var phaseDeadline: Instant? {
        switch lifecycle.phase {
        case .handshake: phaseBegan + limits.headTimeout
        case .head where parser.isWithinHead: phaseBegan + limits.headTimeout
        // A client that does not read is stalled, not idle.
        case .head: isBacklogged ? nil : phaseBegan + limits.idleTimeout
        case .body, .discarding: phaseBegan + limits.bodyWindow
        case .lingering: phaseBegan + limits.lingerTimeout
        case .deciding, .waiting, .streaming, .flushing, .closed: nil
        }
    }

    private func alarmRang() {
        if let stallDeadline, stallDeadline <= loop.now { return happen(.stalled) }
        if let phaseDeadline, phaseDeadline <= loop.now, !bodyIsInTime() {
            happen(.timedOut(isWithinHead: parser.isWithinHead))
        }
        advance()
    }

    /// Whether a body brought enough in the window that ends now; then the next one begins.
    private func bodyIsInTime() -> Bool {
        guard lifecycle.phase == .body || lifecycle.phase == .discarding, let exchange else { return false }
        let seconds = Double(limits.bodyWindow.wholeNanoseconds) / 1e9
        guard Double(exchange.bytesIn - bytesAtWindow) >= Double(limits.minBodyRate) * seconds else { return false }
        bytesAtWindow = exchange.bytesIn
        phaseBegan = loop.now
        return true
    }
}
