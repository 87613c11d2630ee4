// Hints wake readers: while a session has any here, its channel is subscribed to, and what is said there has the slot
// validated. A hint may be lost, with a connection or a failover, so every session that is watched is also validated
// each ten seconds, and all of them behind a reconnection. The order is: subscribe, wait for the confirmation, then
// read; whatever is committed behind that read is heard.

import HTTPCore

/// The sessions that have readers here.
final class RedisWatch: Sendable {
    private let address: RedisAddress
    private let options: RedisOptions
    private let loop: EventLoop
    private let state = Locked(State())

    private struct State {
        var subscriber: RedisSubscriber?
        var slots: [String: SessionSlot] = [:]
        var tick = 0
        var renewed: (@Sendable () -> Void)?
        var revalidate: (@Sendable (SessionSlot) -> Void)?
        /// Slots that are being validated; true if a hint came meanwhile.
        var validations: [ObjectIdentifier: Bool] = [:]
    }

    /// Between two validations of a session whose hints may have been lost.
    static let period = Duration.seconds(sweeps)
    private static let sweeps = 10

    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop) {
        self.address = address
        self.options = options
        self.loop = loop
    }

    /// - Parameters:
    ///   - revalidate: asks for the head of a slot, and says when it is `revalidated`.
    ///   - renewed: called behind each reconnection.
    func start(_ revalidate: @escaping @Sendable (SessionSlot) -> Void, renewed: @escaping @Sendable () -> Void) {
        let subscriber = RedisSubscriber(
            address, options, on: loop,
            .init(
                message: { [weak self] channel, version in self?.hear(channel, version) },
                renewed: { [weak self] in self?.renew() },
                refused: { [health = options.health] error in
                    guard let error else { return health.recover(.hints) }
                    health.fail(.hints, because: "redis: \(error.text)")
                }))
        // Of use only to find out whether we may subscribe at all before anybody reads.
        subscriber.subscribe(RedisScripts.probeKey) { _ in }
        state.withLock {
            $0.subscriber = subscriber
            $0.revalidate = revalidate
            $0.renewed = renewed
        }
    }

    /// Connects anew, unless to `server` already.
    func leave(for server: ConnectAddress) { state.withLock { $0.subscriber }?.leave(for: server) }

    func close() {
        let subscriber = state.withLock { state in
            defer { state = State() }
            return state.subscriber
        }
        subscriber?.close()
    }

    /// Begins or ends watching, by whether the slot has readers now.
    func readersChanged(of slot: SessionSlot) {
        state.withLock { state in
            guard let subscriber = state.subscriber else { return }
            let isWatched = state.slots[slot.name] === slot
            let isRead = slot.readerCount > 0
            guard isRead != isWatched else { return }
            state.slots[slot.name] = isRead ? slot : nil
            let channel = RedisScripts.key(slot.name)
            // Through the loop's queue even from the loop: under this lock nobody is called back, and the order is the
            // lock's.
            loop.execute { [self] in
                if isRead {
                    subscriber.subscribe(channel) { failure in if failure == nil { self.validate(slot) } }
                } else {
                    subscriber.unsubscribe(channel)
                }
            }
        }
    }

    /// Validates a tenth of what is watched.
    ///
    /// - Returns: whether all have had their turn.
    func sweep() -> Bool {
        let (slots, tick) = state.withLock { state in
            state.tick = (state.tick + 1) % Self.sweeps
            let tick = state.tick
            return (
                state.slots.values.filter { Int(bitPattern: ObjectIdentifier($0)) >> 4 % Self.sweeps == tick }, tick
            )
        }
        for slot in slots { validate(slot) }
        return tick == 0
    }

    func revalidated(_ slot: SessionSlot) {
        let isDirty = state.withLock { $0.validations.removeValue(forKey: ObjectIdentifier(slot)) }
        if isDirty == true { validate(slot) }
    }

    private func hear(_ channel: String, _ version: [UInt8]) {
        guard let name = RedisScripts.session(channel), let slot = state.withLock({ $0.slots[name] }) else { return }
        // Most often it was this process itself.
        if let known = slot.version, Session.text(known).utf8.elementsEqual(version) { return }
        validate(slot)
    }

    private func renew() {
        let (slots, renewed) = state.withLock { (Array($0.slots.values), $0.renewed) }
        renewed?()
        for slot in slots { validate(slot) }
    }

    /// One validation of a slot at a time; hints that come meanwhile have one more behind it.
    private func validate(_ slot: SessionSlot) {
        let revalidate = state.withLock { state -> (@Sendable (SessionSlot) -> Void)? in
            guard state.validations[ObjectIdentifier(slot)] == nil else {
                state.validations[ObjectIdentifier(slot)] = true
                return nil
            }
            guard let revalidate = state.revalidate else { return nil }
            state.validations[ObjectIdentifier(slot)] = false
            return revalidate
        }
        revalidate?(slot)
    }
}
