import HTTPCore

/// Listens to channels of a Redis.
///
/// What is subscribed to stays so over reconnections. `confirmed` says of each channel, and behind each reconnection
/// again, that whatever is said from now on is heard, while what was said before may have been missed. Confirmations
/// are counted: after a quick off and on again only that of the last SUBSCRIBE counts. A PING goes out each
/// `commandTimeout`, so that a connection that is dead without a word is noticed.
///
/// Confined to its loop.
final class RedisSubscriber: @unchecked Sendable {
    /// What its owner hears.
    struct Handlers: Sendable {
        var message: @Sendable (_ channel: String, _ payload: [UInt8]) -> Void
        var confirmed: @Sendable (_ channel: String) -> Void = { _ in }
        /// Why the server lets us subscribe to nothing.
        var refused: @Sendable (RedisError) -> Void = { _ in }
    }

    private struct Channel {
        var isWanted = true
        /// SUBSCRIBEs sent over this connection and not answered.
        var unconfirmed = 0
    }

    private let client: RedisClient
    private let pulse: Duration
    private let handlers: Handlers
    private var channels: [String: Channel] = [:]
    private var connection: RedisConnection?
    private var isSilent = false

    /// Channels of one SUBSCRIBE.
    private static let channelsAtOnce = 1000

    /// A subscriber that begins to connect.
    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop, _ handlers: Handlers) {
        client = RedisClient(address, options, on: loop)
        pulse = options.commandTimeout
        self.handlers = handlers
        client.follow { [weak self] in self?.begin($0) }
    }

    /// Connects anew, unless to `server` already.
    func leave(for server: ConnectAddress) { client.leave(for: server) }

    func close() { client.close() }

    /// Listens to a channel until `unsubscribe`; as soon as there is a connection.
    func subscribe(_ name: String) {
        if isConfirmed(name) { return handlers.confirmed(name) }
        guard channels[name]?.isWanted != true else { return }
        channels[name, default: Channel()].isWanted = true
        guard let connection, !connection.isLost else { return }
        channels[name]?.unconfirmed += 1
        connection.post(RedisCommand("SUBSCRIBE", RedisArgument(name)))
    }

    func unsubscribe(_ name: String) {
        guard let channel = channels[name], channel.isWanted else { return }
        channels[name] = channel.unconfirmed > 0 ? Channel(isWanted: false, unconfirmed: channel.unconfirmed) : nil
        connection?.post(RedisCommand("UNSUBSCRIBE", RedisArgument(name)))
    }

    private func isConfirmed(_ name: String) -> Bool {
        guard let connection, !connection.isLost, let channel = channels[name] else { return false }
        return channel.isWanted && channel.unconfirmed == 0
    }

    private func begin(_ connection: RedisConnection) {
        self.connection = connection
        connection.whenReceived = { [weak self] in self?.receive($0) }
        channels = channels.filter(\.value.isWanted).mapValues { _ in Channel(unconfirmed: 1) }
        let names = Array(channels.keys)
        for start in stride(from: 0, to: names.count, by: Self.channelsAtOnce) {
            let some = names[start..<min(start + Self.channelsAtOnce, names.count)]
            connection.post(RedisCommand(["SUBSCRIBE"] + some.map { RedisArgument($0) }))
        }
        isSilent = false
        beat(connection)
    }

    private func beat(_ connection: RedisConnection) {
        client.loop.schedule(after: pulse) { [weak self, weak connection] in
            guard let self, let connection, self.connection === connection, !connection.isLost else { return }
            guard !isSilent else { return connection.lose("no answer within \(pulse)") }
            isSilent = true
            connection.post(RedisCommand("PING"))
            beat(connection)
        }
    }

    private func receive(_ reply: RedisReply) {
        isSilent = false
        if case .error(let error) = reply {
            handlers.refused(error)
            connection?.lose(error.text)
        }
        // A PING is answered in an array only while there are subscriptions.
        guard let parts = reply.elements, parts.count == 3, let kind = parts[0].text, let name = parts[1].text else {
            return
        }
        switch (kind, parts[2]) {
        case ("message", .bytes(let payload)) where isConfirmed(name): handlers.message(name, payload)
        case ("subscribe", _): confirm(name)
        default: break
        }
    }

    private func confirm(_ name: String) {
        guard var channel = channels[name], channel.unconfirmed > 0 else { return }
        channel.unconfirmed -= 1
        channels[name] = channel.isWanted || channel.unconfirmed > 0 ? channel : nil
        if isConfirmed(name) { handlers.confirmed(name) }
    }
}
