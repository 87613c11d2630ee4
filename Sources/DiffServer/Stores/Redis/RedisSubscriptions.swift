import HTTPCore

/// What only the loop of a subscriber touches.
final class RedisSubscriptions: @unchecked Sendable {
    private struct Channel {
        var isWanted = false
        /// SUBSCRIBEs sent over this connection and not answered.
        var unconfirmed = 0
        var isConfirmed = false
        var waiting: [RedisSubscriber.Confirmation] = []
    }

    private let standing: StandingConnection
    private let pulse: Duration
    private let loop: EventLoop
    private let handlers: RedisSubscriber.Handlers
    private var channels: [String: Channel] = [:]
    private var connection: RedisConnection?
    /// Whether something may have been missed since a channel was wanted.
    private var owesRenewal = false
    /// Channels whose confirmation is still out before `renewed` is due; nil where it is not.
    private var unrenewed: Int?
    private var isSilent = false

    /// Channels of one SUBSCRIBE.
    private static let channelsAtOnce = 1000

    init(_ standing: StandingConnection, pulse: Duration, _ loop: EventLoop, _ handlers: RedisSubscriber.Handlers) {
        self.standing = standing
        self.pulse = pulse
        self.loop = loop
        self.handlers = handlers
    }

    func start() {
        standing.whenUp = { [unowned self] in up($0) }
        standing.whenDown = { [unowned self] in down($0) }
        standing.start()
    }

    func leave(for server: ConnectAddress) { standing.leave(for: server) }

    func close() {
        standing.close()
        down(.unavailable("closed"))
    }

    // MARK: Channels

    func subscribe(_ name: String, _ confirmation: @escaping RedisSubscriber.Confirmation) {
        if channels[name]?.isConfirmed == true { return confirmation(nil) }
        var channel = channels[name] ?? Channel()
        let isNew = !channel.isWanted
        channel.isWanted = true
        guard connection != nil || standing.isHopeful else {
            channels[name] = channel
            return confirmation(.unavailable("no connection"))
        }
        channel.waiting.append(confirmation)
        if isNew, let connection {
            channel.unconfirmed += 1
            connection.post(RedisCommand("SUBSCRIBE", RedisArgument(name)))
        }
        channels[name] = channel
    }

    func unsubscribe(_ name: String) {
        guard var channel = channels[name], channel.isWanted else { return }
        let waiting = channel.waiting
        channel.isWanted = false
        channel.isConfirmed = false
        channel.waiting = []
        channels[name] = channel.unconfirmed > 0 ? channel : nil
        connection?.post(RedisCommand("UNSUBSCRIBE", RedisArgument(name)))
        for confirmation in waiting { confirmation(.unavailable("unsubscribed")) }
    }

    // MARK: The connection

    private func up(_ connection: RedisConnection) {
        self.connection = connection
        connection.whenReceived = { [unowned self] in receive($0) }
        let names = Array(channels.keys)
        for start in stride(from: 0, to: names.count, by: Self.channelsAtOnce) {
            let some = names[start..<min(start + Self.channelsAtOnce, names.count)]
            connection.post(RedisCommand(["SUBSCRIBE"] + some.map { RedisArgument($0) }))
        }
        for name in names { channels[name]?.unconfirmed = 1 }
        unrenewed = owesRenewal ? names.count : nil
        owesRenewal = false
        isSilent = false
        beat(connection)
        if unrenewed == 0 { renew() }
    }

    private func down(_ failure: RedisFailure) {
        connection = nil
        unrenewed = nil
        owesRenewal = true
        channels = channels.filter { $0.value.isWanted }
        for name in channels.keys {
            channels[name]?.unconfirmed = 0
            channels[name]?.isConfirmed = false
        }
        guard !standing.isHopeful else { return }
        for name in channels.keys {
            let waiting = channels[name]?.waiting ?? []
            channels[name]?.waiting = []
            for confirmation in waiting { confirmation(.unavailable(failure.description)) }
        }
    }

    private func beat(_ connection: RedisConnection) {
        loop.schedule(after: pulse) { [weak self, weak connection] in
            guard let self, let connection, self.connection === connection else { return }
            guard !isSilent else { return connection.lose("no answer within \(pulse)") }
            isSilent = true
            connection.post(RedisCommand("PING"))
            beat(connection)
        }
    }

    private func receive(_ reply: RedisReply) {
        isSilent = false
        // A PING is answered in an array only while there are subscriptions.
        guard let parts = reply.elements, parts.count == 3, let kind = parts[0].text, let name = parts[1].text else {
            if case .error(let error) = reply {
                handlers.refused(error)
                connection?.lose(error.text)
            }
            return
        }
        switch (kind, parts[2]) {
        case ("message", .bytes(let payload)):
            if channels[name]?.isConfirmed == true { handlers.message(name, payload) }
        case ("subscribe", _):
            handlers.refused(nil)
            confirmed(name)
        default: break
        }
    }

    private func confirmed(_ name: String) {
        guard var channel = channels[name], channel.unconfirmed > 0 else { return }
        channel.unconfirmed -= 1
        let isLast = channel.unconfirmed == 0
        channel.isConfirmed = isLast && channel.isWanted
        let waiting = channel.isConfirmed ? channel.waiting : []
        if channel.isConfirmed { channel.waiting = [] }
        channels[name] = channel.isWanted || !isLast ? channel : nil
        for confirmation in waiting { confirmation(nil) }
        guard let left = unrenewed else { return }
        unrenewed = left - 1
        if left == 1 { renew() }
    }

    private func renew() {
        unrenewed = nil
        handlers.renewed()
    }
}
