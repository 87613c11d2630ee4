@testable import DiffClock
@testable import DiffRedis

/// A subscriber on a separate loop, and what it heard: messages as `channel payload`, confirmations as `channel`.
final class TestSubscriber: Sendable {
    private let running: RunningLoop
    private let subscriber: RedisSubscriber
    let heard: Locked<[String]>

    init(_ address: String, _ change: (inout RedisDialer) -> Void = { _ in }) throws {
        var dialer = RedisDialer.patient(address)
        change(&dialer)
        running = try RunningLoop()
        let heard = Locked<[String]>([])
        self.heard = heard
        subscriber = RedisSubscriber(
            RedisTopology(dialer, on: running.loop), on: running.loop, probe: "probe",
            message: { channel, payload in
                heard.withLock { $0.append("\(channel) \(String(decoding: payload, as: UTF8.self))") }
            }, confirmed: { channel in if !channel.hasPrefix("probe") { heard.withLock { $0.append(channel) } } })
    }

    deinit { onLoop { $0.close() } }

    func onLoop(_ work: @escaping @Sendable (RedisSubscriber) -> Void) {
        running.loop.execute { [subscriber] in work(subscriber) }
    }

    func subscribe(_ channel: String) { onLoop { $0.subscribe(channel) } }

    /// Waits until it has heard exactly this.
    func hears(_ wanted: [String]) async -> Bool { await eventually { heard.withLock { $0 == wanted } } }
}
