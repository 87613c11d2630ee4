// Hints wake readers: while a session has readers here, its channel is subscribed to, and a message has its slot
// revalidated. A hint may be lost with a connection or in a failover, so every watched session is also revalidated
// every ten seconds, and all of them after a reconnection. The order is: subscribe, wait for the confirmation, then
// read. So every commit after that read is heard.

import HTTPCore

/// Subscribes to hints of the sessions that have readers here, to revocations, and to what sentinels say of a new
/// primary; and tells the store.
///
/// Any thread may call; all state belongs to the loop.
final class RedisWatch: @unchecked Sendable {
    private let topology: RedisTopology
    private let loop: EventLoop
    private weak var store: RedisStore?
    private var hints: RedisSubscriber?
    private var sentinels: [RedisSubscriber] = []
    private var slots: [String: SessionSlot] = [:]
    private var tick = 0
    /// Slots that are being revalidated; true if another hint came meanwhile.
    private var validations: [ObjectIdentifier: Bool] = [:]

    /// Between two revalidations of a session, whose hints may have been lost.
    static let period = Duration.seconds(sweeps)
    private static let sweeps = 10
    /// The channel on which sentinels announce a new primary
    /// (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/).
    private static let switches = "+switch-master"

    init(_ topology: RedisTopology, on loop: EventLoop) { (self.topology, self.loop) = (topology, loop) }

    // MARK: From any thread

    func start(for store: RedisStore) {
        loop.perform { [self, weak store] in
            self.store = store
            hints = RedisSubscriber(
                topology, on: loop, probe: RedisScripts.probeKey,
                message: { [weak self] in self?.hear($0, $1) }, confirmed: { [weak self] in self?.confirm($0) })
            hints?.subscribe(RedisScripts.revokedKey)
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

    /// Starts or stops watching, by whether the slot has readers now.
    func readersChanged(of slot: SessionSlot) {
        loop.perform { [self] in
            guard let hints, (slot.readerCount > 0) != (slots[slot.name] === slot) else { return }
            let channel = RedisScripts.channel(slot.name)
            if slot.readerCount > 0 {
                slots[slot.name] = slot
                hints.subscribe(channel)
            } else {
                slots[slot.name] = nil
                hints.unsubscribe(channel)
            }
        }
    }

    /// Revalidates a tenth of what is watched. Called each second.
    func sweep() {
        loop.perform { [self] in
            tick = (tick + 1) % Self.sweeps
            for slot in slots.values where Int(bitPattern: ObjectIdentifier(slot)) >> 4 % Self.sweeps == tick {
                validate(slot)
            }
            if tick == 0 { store?.reassure() }
        }
    }

    func revalidated(_ slot: SessionSlot) {
        loop.perform { [self] in
            if validations.removeValue(forKey: ObjectIdentifier(slot)) == true { validate(slot) }
        }
    }

    // MARK: Hints

    private func hear(_ channel: String, _ version: [UInt8]) {
        if channel == RedisScripts.revokedKey { store?.revocations.hear(version) }
        guard let name = RedisScripts.session(channel), let slot = slots[name] else { return }
        // Most often this process made the commit itself.
        if let known = slot.version, Session.text(known).utf8.elementsEqual(version) { return }
        validate(slot)
    }

    /// Earlier messages may have been missed.
    private func confirm(_ channel: String) {
        if channel.hasPrefix(RedisScripts.probeKey) || channel == RedisScripts.revokedKey { store?.reassure() }
        if let slot = RedisScripts.session(channel).flatMap({ slots[$0] }) { validate(slot) }
    }

    /// Revalidates a slot, once at a time; hints that come meanwhile cause one more.
    private func validate(_ slot: SessionSlot) {
        guard let store else { return }
        let isUnderWay = validations[ObjectIdentifier(slot)] != nil
        validations[ObjectIdentifier(slot)] = isUnderWay
        if !isUnderWay { store.revalidate(slot) }
    }

    // MARK: Sentinels

    /// Every sentinel announces at once that another server has become the primary. A node that only waited for its
    /// connection to fail could continue to write to the old one for as long as that lives, and all of it would be
    /// lost.
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

    /// The new address in `name old-host old-port new-host new-port`; nil if the name is another one.
    static func server(_ message: [UInt8], of primary: String) -> ConnectAddress? {
        let words = String(decoding: message, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, words[0] == primary, let port = UInt16(words[4]) else { return nil }
        return .tcp(host: String(words[3]), port: port)
    }
}
