import HTTPCore

/// Subscribes to channels of one Redis: by `SUBSCRIBE`, or in a cluster by `SSUBSCRIBE` to those whose slots it has.
///
/// Subscriptions last over reconnections. `confirmed` is called for each channel, and again after each reconnection:
/// every later message is heard, while earlier ones may have been missed. Confirmations are counted, so after a quick
/// unsubscribe and subscribe only that of the last SUBSCRIBE counts. A PING goes out every `commandTimeout`, so that a
/// dead connection is noticed.
///
/// A primary of a cluster that gives a slot away ends the subscriptions to its channels. Asked again, it redirects;
/// that updates the map of the cluster, and so moves the subscription.
///
/// Confined to its loop.
final class RedisSubscriber: @unchecked Sendable {
    struct Handlers: Sendable {
        var message: @Sendable (_ channel: String, _ payload: [UInt8]) -> Void
        var confirmed: @Sendable (_ channel: String) -> Void = { _ in }
    }

    private struct Channel {
        var isWanted = true
        /// SUBSCRIBEs that were sent over this connection and not answered.
        var unconfirmed = 0
    }

    private let link: RedisLink
    private let loop: EventLoop
    private let cluster: RedisCluster?
    /// The prefix of the commands, and of their answers.
    private let prefix: String
    private let health: StoreHealth
    private let pulse: Duration
    private let handlers: Handlers
    private var channels: [String: Channel] = [:]
    private var connection: RedisConnection?
    private var isSilent = false

    /// Channels per SUBSCRIBE. Those of one SSUBSCRIBE would have to be in one slot.
    private var channelsAtOnce: Int { cluster == nil ? 1000 : 1 }

    /// A subscriber that starts to connect.
    ///
    /// - Parameters:
    ///   - endpoint: replaces the one of the address.
    ///   - cluster: the cluster of which the endpoint is a primary, if it is one.
    init(
        _ address: RedisAddress, at endpoint: RedisAddress.Endpoint? = nil, _ options: RedisOptions, on loop: EventLoop,
        knowing cluster: RedisCluster? = nil, _ handlers: Handlers
    ) {
        link = RedisLink(address, at: endpoint ?? address.endpoint, options, on: loop) { cluster?.doubt() }
        self.loop = loop
        self.cluster = cluster
        prefix = cluster == nil ? "" : "s"
        health = options.health
        pulse = options.commandTimeout
        self.handlers = handlers
        link.follow { [weak self] in self?.begin($0) }
    }

    /// Reconnects, unless the connection leads to `server` already.
    func leave(for server: ConnectAddress) { link.leave(for: server) }

    func close() {
        link.close()
        health.recover(part)
    }

    /// Subscribes to a channel until `unsubscribe`, over reconnections.
    func subscribe(_ name: String) {
        if isConfirmed(name) { return handlers.confirmed(name) }
        guard channels[name]?.isWanted != true else { return }
        channels[name, default: Channel()].isWanted = true
        guard let connection, !connection.isLost else { return }
        channels[name]?.unconfirmed += 1
        connection.post(RedisCommand(verb("SUBSCRIBE"), RedisArgument(name)))
    }

    func unsubscribe(_ name: String) {
        guard let channel = channels[name], channel.isWanted else { return }
        channels[name] = channel.unconfirmed > 0 ? Channel(isWanted: false, unconfirmed: channel.unconfirmed) : nil
        connection?.post(RedisCommand(verb("UNSUBSCRIBE"), RedisArgument(name)))
    }

    /// Forgets channels that belong to another server now, and returns those that were subscribed to.
    func forget(where isForeign: (String) -> Bool) -> [String] {
        let foreign = channels.filter { isForeign($0.key) }
        for name in foreign.keys { channels[name] = nil }
        return foreign.filter(\.value.isWanted).map(\.key)
    }

    private func verb(_ word: String) -> RedisArgument { RedisArgument(prefix.uppercased() + word) }

    private var part: StoreHealth.Part { .hints(ObjectIdentifier(self)) }

    private func isConfirmed(_ name: String) -> Bool {
        guard let connection, !connection.isLost, let channel = channels[name] else { return false }
        return channel.isWanted && channel.unconfirmed == 0
    }

    private func begin(_ connection: RedisConnection) {
        self.connection = connection
        connection.whenReceived = { [weak self] in self?.receive($0) }
        channels = channels.filter(\.value.isWanted).mapValues { _ in Channel(unconfirmed: 1) }
        let names = Array(channels.keys)
        for start in stride(from: 0, to: names.count, by: channelsAtOnce) {
            let some = names[start..<min(start + channelsAtOnce, names.count)]
            connection.post(RedisCommand([verb("SUBSCRIBE")] + some.map { RedisArgument($0) }))
        }
        isSilent = false
        beat(connection)
    }

    private func beat(_ connection: RedisConnection) {
        loop.schedule(after: pulse) { [weak self, weak connection] in
            guard let self, let connection, self.connection === connection, !connection.isLost else { return }
            guard !isSilent else { return connection.lose("no answer within \(pulse)") }
            isSilent = true
            connection.post(RedisCommand("PING"))
            beat(connection)
        }
    }

    private func receive(_ reply: RedisReply) {
        isSilent = false
        if case .error(let error) = reply { return take(error) }
        // A PING is answered by an array only while there are subscriptions.
        guard let parts = reply.elements, parts.count == 3, let kind = parts[0].text, let name = parts[1].text else {
            return
        }
        switch (kind.dropFirst(prefix.count), parts[2]) {
        case ("message", .bytes(let payload)) where isConfirmed(name): handlers.message(name, payload)
        case ("subscribe", _): confirm(name)
        // The slot moves away.
        case ("unsubscribe", _) where isConfirmed(name):
            channels[name] = nil
            subscribe(name)
        default: break
        }
    }

    private func take(_ error: RedisError) {
        switch cluster.flatMap({ _ in RedisRedirection(error, from: link.destination) }) {
        case .moved(let slot, let server): cluster?.move(slot, to: server)
        case nil:
            health.fail(part, because: "redis: \(error.text)")
            connection?.lose(error.text)
        // The next connection subscribes again to what was refused.
        case .ask, .later, .down: connection?.lose(error.text)
        }
    }

    private func confirm(_ name: String) {
        health.recover(part)
        guard var channel = channels[name], channel.unconfirmed > 0 else { return }
        channel.unconfirmed -= 1
        channels[name] = channel.isWanted || channel.unconfirmed > 0 ? channel : nil
        if isConfirmed(name) { handlers.confirmed(name) }
    }
}
