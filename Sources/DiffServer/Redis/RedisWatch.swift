// While a session has readers here, this node subscribes to its channel, and a message revalidates its slot. A hint may
// be lost, so every watched session is also revalidated every ten seconds, after a reconnection, and after a failed
// revalidation. It subscribes, waits for the confirmation, then reads: so every commit after that read is heard.

import DiffSessions
import DiffStores
import HTTPCore

/// Hears of sessions that have readers here, of revocations, and from sentinels of a new primary; and tells the store.
/// Any thread may call; all state belongs to the loop.
final class RedisWatch: @unchecked Sendable {
    private let topology: RedisTopology
    private let keys: RedisKeys
    private let loop: EventLoop
    private weak var store: RedisStore?
    private var hints: RedisSubscriber?
    private var sentinels: [RedisSubscriber] = []
    private var slots: [String: SessionSlot] = [:]
    private var tick = 0
    /// Sessions whose revalidation has failed: the connection for commands may come back after the one for hints.
    private var missed: Set<String> = []
    /// Whether the records and the revocations could not be checked.
    private var hasMissedCheck = false
    /// Slots being revalidated; true if another hint came meanwhile.
    private var validations: [ObjectIdentifier: Bool] = [:]

    /// The time between two revalidations of a session, whose hints may have been lost.
    static let period = Duration.seconds(sweeps)
    private static let sweeps = 10
    /// The channel on which sentinels announce a new primary
    /// (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/).
    private static let switches = "+switch-master"

    init(_ topology: RedisTopology, on loop: EventLoop) {
        (self.topology, keys, self.loop) = (topology, topology.dialer.keys, loop)
    }

    // MARK: From any thread

    func start(for store: RedisStore) {
        loop.perform { [self, weak store] in
            self.store = store
            hints = RedisSubscriber(
                topology, on: loop, probe: keys.probe,
                message: { [weak self] in self?.receive($0, $1) }, confirmed: { [weak self] in self?.confirm($0) })
            hints?.subscribe(keys.revoked)
            hints?.subscribe(keys.nodes(of: topology.dialer.address.database))
            if case .sentinels(let servers, let primary) = topology.dialer.address.endpoint {
                sentinels = servers.map { listen(to: $0, about: primary) }
            }
        }
    }

    func close() {
        loop.perform { [self] in
            for subscriber in sentinels { subscriber.close() }
            hints?.close()
            (store, hints, sentinels, slots) = (nil, nil, [], [:])
        }
    }

    /// Starts or stops watching a slot, depending on whether it has readers now.
    func readersChanged(of slot: SessionSlot) {
        loop.perform { [self] in
            let (isRead, channel) = (slot.readerCount > 0, keys.channel(slot.name))
            guard let hints, isRead != (slots[slot.name] === slot) else { return }
            slots[slot.name] = isRead ? slot : nil
            if isRead { hints.subscribe(channel) } else { hints.unsubscribe(channel) }
        }
    }

    /// Revalidates a tenth of the watched sessions, and those that were missed. Called each second.
    func sweep() {
        loop.perform { [self] in
            tick = (tick + 1) % Self.sweeps
            let isUp = store?.isUp == true
            for slot in slots.values where Int(bitPattern: ObjectIdentifier(slot)) >> 4 % Self.sweeps == tick {
                validate(slot)
            }
            if isUp { for slot in exchange(&missed, with: []).compactMap({ slots[$0] }) { validate(slot) } }
            if tick == 0 || isUp && exchange(&hasMissedCheck, with: false) { store?.recheck() }
        }
    }

    /// - Parameter isMissed: whether Redis could not be asked.
    func revalidated(_ slot: SessionSlot, isMissed: Bool) {
        loop.perform { [self] in
            if isMissed, slots[slot.name] === slot { missed.insert(slot.name) }
            if validations.removeValue(forKey: ObjectIdentifier(slot)) == true { validate(slot) }
        }
    }

    // MARK: Hints

    private func receive(_ channel: String, _ version: [UInt8]) {
        if channel == keys.revoked { store?.revocations.receive(version) }
        guard let name = keys.session(channel), let slot = slots[name] else { return }
        // Most often this process made the commit itself.
        if let known = slot.version, Session.text(known).utf8.elementsEqual(version) { return }
        validate(slot)
    }

    /// Revalidates what was just subscribed to: earlier messages may have been missed.
    private func confirm(_ channel: String) {
        if channel.hasPrefix(keys.probe) || channel == keys.revoked {
            if store?.isUp == false { hasMissedCheck = true }
            store?.recheck()
        }
        if let slot = keys.session(channel).flatMap({ slots[$0] }) { validate(slot) }
    }

    /// Revalidates a slot, once at a time; hints that come meanwhile cause one more.
    private func validate(_ slot: SessionSlot) {
        guard let store else { return }
        let isUnderWay = validations[ObjectIdentifier(slot)] != nil
        validations[ObjectIdentifier(slot)] = isUnderWay
        if !isUnderWay { store.revalidate(slot) }
    }

    // MARK: Sentinels

    /// Each sentinel announces a new primary at once. A node that waited for its connection to fail could keep writing
    /// to the old primary for as long as that lives, and all of these writes would be lost.
    private func listen(to sentinel: ConnectAddress, about primary: String) -> RedisSubscriber {
        var dialer = topology.dialer
        dialer.address.endpoint = .server(sentinel)
        dialer.address.database = 0
        // A sentinel that is down is no outage: the others know as much.
        dialer.health = StoreHealth()
        dialer.mayRefuseLogin = true
        return RedisSubscriber(RedisTopology(dialer, on: loop), on: loop, probe: Self.switches) {
            [weak self] _, message in
            guard let self, let server = Self.server(message, of: primary) else { return }
            hints?.leave(for: server)
            store?.leave(for: server)
        }
    }

    /// The new address in `name old-host old-port new-host new-port`; nil for another name.
    static func server(_ message: [UInt8], of primary: String) -> ConnectAddress? {
        let words = String(decoding: message, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, words[0] == primary, let port = UInt16(words[4]) else { return nil }
        return .tcp(host: String(words[3]), port: port)
    }
}

extension Result where Failure == StoreFailure {
    /// Whether the store could not be asked, so that it must be asked again.
    var isMissed: Bool {
        switch self {
        case .failure(.unavailable), .failure(.crowded): true
        case .success, .failure: false
        }
    }
}

// MARK: - Subscriptions

/// Subscriptions to channels, each on the primary of its hash slot, over reconnections. `confirmed` is called for each,
/// and again after each reconnection: every later message is heard. Confirmations are counted, so after a quick
/// unsubscribe and subscribe only that of the last SUBSCRIBE counts. A cluster primary that gives a hash slot away ends
/// the subscriptions to its channels; the next attempt is redirected, which updates the topology and so moves the
/// subscription. Confined to its loop.
final class RedisSubscriber: @unchecked Sendable {
    private struct Channel {
        /// Nil if no primary has its hash slot.
        let primary: RedisAddress.Endpoint?
        var isWanted = true
        /// SUBSCRIBEs sent over this connection and not yet answered.
        var unconfirmed = 0
    }

    private let topology: RedisTopology
    private let loop: EventLoop
    private let probe: String
    private let message: @Sendable (_ channel: String, _ payload: [UInt8]) -> Void
    private let confirmed: @Sendable (_ channel: String) -> Void
    /// The prefix of the commands, and of their answers.
    private let prefix: String
    private var map: HashSlotMap
    private var links: [RedisAddress.Endpoint: ReconnectingConnection] = [:]
    private var channels: [String: Channel] = [:]
    private var isClosed = false

    /// Channels per SUBSCRIBE. Those of one SSUBSCRIBE would have to be in one hash slot.
    private var channelsAtOnce: Int { topology.isCluster ? 1 : 1000 }

    /// - Parameter probe: a channel on each primary, in a cluster `probe{0}` and the like. It is always subscribed to,
    ///   so it reports each new connection, and shows early whether subscriptions are allowed.
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

    func subscribe(_ name: String) {
        if isConfirmed(name) { return confirmed(name) }
        var channel = channels[name] ?? Channel(primary: map.primary(of: name), isWanted: false)
        guard !channel.isWanted else { return }
        channel.isWanted = true
        if let connection = channel.primary.flatMap({ link(to: $0).connection }) {
            channel.unconfirmed += 1
            connection.post(RedisCommand(verb("SUBSCRIBE"), .text(name)))
        }
        channels[name] = channel
    }

    func unsubscribe(_ name: String) {
        guard var channel = channels[name], channel.isWanted else { return }
        channel.isWanted = false
        channels[name] = channel.unconfirmed > 0 ? channel : nil
        connection(of: channel)?.post(RedisCommand(verb("UNSUBSCRIBE"), .text(name)))
    }

    func leave(for server: ConnectAddress) { links.values.forEach { $0.leave(for: server) } }

    func close() {
        isClosed = true
        for primary in links.keys { close(primary) }
    }

    // MARK: Primaries

    private func link(to primary: RedisAddress.Endpoint) -> ReconnectingConnection {
        if let link = links[primary] { return link }
        let link = ReconnectingConnection(topology, at: .init(endpoint: primary), on: loop) { [weak self] in
            self?.begin($0, at: primary)
        }
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

    /// Moves each channel to the primary that has its hash slot now.
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

    /// Subscribes again to all wanted channels of a primary.
    private func begin(_ connection: RedisConnection, at primary: RedisAddress.Endpoint) {
        connection.listen { [weak self] in self?.receive($0, from: primary) }
        var names: [String] = []
        for (name, channel) in channels where channel.primary == primary {
            channels[name] = channel.isWanted ? Channel(primary: primary, unconfirmed: 1) : nil
            if channel.isWanted { names.append(name) }
        }
        for start in stride(from: 0, to: names.count, by: channelsAtOnce) {
            let some = names[start..<min(start + channelsAtOnce, names.count)]
            connection.post(RedisCommand([verb("SUBSCRIBE")] + some.map(RedisArgument.text)))
        }
    }

    private func verb(_ word: String) -> RedisArgument { .text(prefix.uppercased() + word) }

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
        // The hash slot is moving away.
        case ("unsubscribe", _) where isHere && isConfirmed(name):
            channels[name] = nil
            subscribe(name)
        default: break
        }
    }

    private func take(_ error: RedisError, from link: ReconnectingConnection) {
        switch topology.note(error, from: link.connection?.destination) {
        case .moved: return
        case nil: topology.dialer.health.fail(.hints(ObjectIdentifier(link)), because: "redis: \(error.text)")
        case .ask, .later, .down: break
        }
        // The next connection retries what was refused.
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
