import HTTPCore

/// Subscriptions to channels, each at the primary that has its slot: by `SUBSCRIBE`, or in a cluster by `SSUBSCRIBE`.
///
/// Subscriptions last over reconnections. `confirmed` is called for each channel, and again after each reconnection:
/// every later message is heard, while earlier ones may have been missed. Confirmations are counted, so after a quick
/// unsubscribe and subscribe only that of the last SUBSCRIBE counts.
///
/// A primary of a cluster that gives a slot away ends the subscriptions to its channels. Asked again, it redirects;
/// that updates the topology, and so moves the subscription.
///
/// Confined to its loop.
final class RedisSubscriber: @unchecked Sendable {
    private struct Channel {
        /// Nil if no primary has its slot.
        let primary: RedisAddress.Endpoint?
        var isWanted = true
        /// SUBSCRIBEs that were sent over this connection and not answered.
        var unconfirmed = 0
    }

    private let topology: RedisTopology
    private let loop: EventLoop
    private let probe: String
    private let message: @Sendable (_ channel: String, _ payload: [UInt8]) -> Void
    private let confirmed: @Sendable (_ channel: String) -> Void
    /// The prefix of the commands, and of their answers.
    private let prefix: String
    private var map: SlotMap
    private var links: [RedisAddress.Endpoint: RedisLink] = [:]
    private var channels: [String: Channel] = [:]
    private var isClosed = false

    /// Channels per SUBSCRIBE. Those of one SSUBSCRIBE would have to be in one slot.
    private var channelsAtOnce: Int { topology.isCluster ? 1 : 1000 }

    /// A subscriber that starts to connect.
    ///
    /// - Parameter probe: a channel of each primary, in a cluster `probe{0}` and the like. It is always subscribed to,
    ///   so it reports each new connection, and whether subscriptions are allowed before any other is wanted.
    init(
        _ topology: RedisTopology, on loop: EventLoop, probe: String,
        message: @escaping @Sendable (_ channel: String, _ payload: [UInt8]) -> Void,
        confirmed: @escaping @Sendable (_ channel: String) -> Void = { _ in }
    ) {
        (self.topology, self.loop, self.probe) = (topology, loop, probe)
        (self.message, self.confirmed) = (message, confirmed)
        prefix = topology.isCluster ? "s" : ""
        map = topology.map
        topology.follow(on: loop) { [weak self] in self?.follow() }
    }

    /// Subscribes to a channel until `unsubscribe`, over reconnections.
    func subscribe(_ name: String) {
        if isConfirmed(name) { return confirmed(name) }
        var channel = channels[name] ?? Channel(primary: map.primary(of: name), isWanted: false)
        guard !channel.isWanted else { return }
        channel.isWanted = true
        if let connection = channel.primary.flatMap({ link(to: $0).connection }) {
            channel.unconfirmed += 1
            connection.post(RedisCommand(verb("SUBSCRIBE"), RedisArgument(name)))
        }
        channels[name] = channel
    }

    func unsubscribe(_ name: String) {
        guard var channel = channels[name], channel.isWanted else { return }
        channel.isWanted = false
        channels[name] = channel.unconfirmed > 0 ? channel : nil
        connection(of: channel)?.post(RedisCommand(verb("UNSUBSCRIBE"), RedisArgument(name)))
    }

    /// Reconnects, unless the connection leads to `server` already.
    func leave(for server: ConnectAddress) {
        for link in links.values { link.leave(for: server) }
    }

    func close() {
        isClosed = true
        for primary in links.keys { close(primary) }
    }

    // MARK: Primaries

    private func link(to primary: RedisAddress.Endpoint) -> RedisLink {
        if let link = links[primary] { return link }
        let link = RedisLink(topology, at: primary, on: loop) { [weak self] in self?.begin($0, at: primary) }
        links[primary] = link
        return link
    }

    private func connection(of channel: Channel) -> RedisConnection? {
        channel.primary.flatMap { links[$0]?.connection }
    }

    private func close(_ primary: RedisAddress.Endpoint) {
        guard let link = links.removeValue(forKey: primary) else { return }
        link.close()
        topology.dialer.health.recover(.hints(ObjectIdentifier(link)))
    }

    /// Moves each channel to the primary that has its slot now.
    private func follow() {
        guard !isClosed else { return }
        map = topology.map
        for primary in links.keys where !map.primaries.contains(primary) { close(primary) }
        for (name, channel) in channels where channel.primary != map.primary(of: name) {
            channels[name] = nil
            if channel.isWanted { subscribe(name) }
        }
        for channel in map.keys(probe) { subscribe(channel) }
    }

    /// Subscribes again to what is wanted of a primary.
    private func begin(_ connection: RedisConnection, at primary: RedisAddress.Endpoint) {
        connection.listen { [weak self] in self?.receive($0, from: primary) }
        var names: [String] = []
        for (name, channel) in channels where channel.primary == primary {
            channels[name] = channel.isWanted ? Channel(primary: primary, unconfirmed: 1) : nil
            if channel.isWanted { names.append(name) }
        }
        for start in stride(from: 0, to: names.count, by: channelsAtOnce) {
            let some = names[start..<min(start + channelsAtOnce, names.count)]
            connection.post(RedisCommand([verb("SUBSCRIBE")] + some.map { RedisArgument($0) }))
        }
    }

    private func verb(_ word: String) -> RedisArgument { RedisArgument(prefix.uppercased() + word) }

    // MARK: Answers

    private func receive(_ reply: RedisReply, from primary: RedisAddress.Endpoint) {
        guard let link = links[primary] else { return }
        if case .error(let error) = reply { return take(error, from: link) }
        // A PING is answered by an array only while there are subscriptions.
        guard let parts = reply.elements, parts.count == 3, let kind = parts[0].text, let name = parts[1].text else {
            return
        }
        let isHere = channels[name]?.primary == primary
        switch (kind.dropFirst(prefix.count), parts[2]) {
        case ("message", .bytes(let payload)) where isHere && isConfirmed(name): message(name, payload)
        case ("subscribe", _):
            topology.dialer.health.recover(.hints(ObjectIdentifier(link)))
            if isHere { confirm(name) }
        // The slot moves away.
        case ("unsubscribe", _) where isHere && isConfirmed(name):
            channels[name] = nil
            subscribe(name)
        default: break
        }
    }

    private func take(_ error: RedisError, from link: RedisLink) {
        switch topology.note(error, from: link.connection?.destination) {
        case .moved: return
        case nil: topology.dialer.health.fail(.hints(ObjectIdentifier(link)), because: "redis: \(error.text)")
        case .ask, .later, .down: break
        }
        // The next connection subscribes again to what was refused.
        link.connection?.lose(error.text)
    }

    private func isConfirmed(_ name: String) -> Bool {
        guard let channel = channels[name] else { return false }
        return channel.isWanted && channel.unconfirmed == 0 && connection(of: channel) != nil
    }

    private func confirm(_ name: String) {
        guard var channel = channels[name], channel.unconfirmed > 0 else { return }
        channel.unconfirmed -= 1
        channels[name] = channel.isWanted || channel.unconfirmed > 0 ? channel : nil
        if isConfirmed(name) { confirmed(name) }
    }
}
