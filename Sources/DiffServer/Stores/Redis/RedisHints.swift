import HTTPCore

/// Subscriptions to the channels of sessions, each at the primary that has its slot, with one subscriber per primary.
///
/// Each primary is first subscribed to a probe, which reports every new connection, and whether subscriptions are
/// allowed at all, before there are readers.
///
/// Confined to its loop.
final class RedisHints: @unchecked Sendable {
    private let address: RedisAddress
    private let options: RedisOptions
    private let loop: EventLoop
    private let cluster: RedisCluster?
    private let probe: String
    private let handlers: RedisSubscriber.Handlers
    private var map: SlotMap
    private var subscribers: [RedisAddress.Endpoint: RedisSubscriber] = [:]
    /// Channels whose slot no primary has.
    private var orphans: Set<String> = []
    private var isClosed = false

    /// - Parameters:
    ///   - cluster: what is known of the cluster, if it is one.
    ///   - probe: the channel of the probe; in a cluster `probe{0}` and the like.
    init(
        _ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop, knowing cluster: RedisCluster?,
        probe: String, _ handlers: RedisSubscriber.Handlers
    ) {
        (self.address, self.options, self.loop, self.cluster) = (address, options, loop, cluster)
        (self.probe, self.handlers) = (probe, handlers)
        map = cluster?.map ?? SlotMap(sole: address.endpoint)
        for channel in map.keys(probe) { subscribe(channel) }
        cluster?.follow(on: loop) { [weak self] in self?.follow() }
    }

    /// Subscribes to a channel until `unsubscribe`, over reconnections.
    func subscribe(_ channel: String) {
        guard let endpoint = map.primary(of: channel) else {
            orphans.insert(channel)
            return
        }
        subscriber(at: endpoint).subscribe(channel)
    }

    func unsubscribe(_ channel: String) {
        orphans.remove(channel)
        if let endpoint = map.primary(of: channel) { subscribers[endpoint]?.unsubscribe(channel) }
    }

    /// Reconnects, unless the connection leads to `server` already.
    func leave(for server: ConnectAddress) {
        for subscriber in subscribers.values { subscriber.leave(for: server) }
    }

    func close() {
        isClosed = true
        for subscriber in subscribers.values { subscriber.close() }
    }

    private func subscriber(at endpoint: RedisAddress.Endpoint) -> RedisSubscriber {
        if let subscriber = subscribers[endpoint] { return subscriber }
        let subscriber = RedisSubscriber(address, at: endpoint, options, on: loop, knowing: cluster, handlers)
        subscribers[endpoint] = subscriber
        return subscriber
    }

    /// Moves each channel to the primary that has its slot now.
    private func follow() {
        guard let cluster, !isClosed else { return }
        map = cluster.map
        var homeless = Array(orphans)
        orphans = []
        for (endpoint, subscriber) in subscribers {
            homeless += subscriber.forget { map.primary(of: $0) != endpoint }
            guard !map.primaries.contains(endpoint) else { continue }
            subscriber.close()
            subscribers[endpoint] = nil
        }
        for channel in Set(homeless + map.keys(probe)) { subscribe(channel) }
    }
}
