import HTTPCore

/// Listens to sentinels, each of which says at once when another server has become the primary. A node that only waited
/// for its connection to fail could go on writing to the old one for as long as that lives, and all of it would be
/// lost.
final class SentinelWatch: Sendable {
    private let subscribers: [RedisSubscriber]

    /// What sentinels say it on (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/).
    private static let channel = "+switch-master"

    /// Nil where no sentinels are named.
    ///
    /// - Parameter switched: called on the loop, by each sentinel, with the new primary.
    init?(
        _ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop,
        switched: @escaping @Sendable (ConnectAddress) -> Void
    ) {
        guard case .sentinels(let sentinels, let primary) = address.place else { return nil }
        var quiet = options
        // One that is down is no outage: the others know as much.
        quiet.health = StoreHealth()
        quiet.mayRefuseLogin = true
        subscribers = sentinels.map { sentinel in
            var server = address
            server.place = .server(sentinel)
            server.database = 0
            let handlers = RedisSubscriber.Handlers(
                message: { _, message in
                    if let server = Self.server(message, of: primary) { switched(server) }
                }, renewed: {})
            let subscriber = RedisSubscriber(server, quiet, on: loop, handlers)
            subscriber.subscribe(Self.channel) { _ in }
            return subscriber
        }
    }

    /// The new address in `name old-host old-port new-host new-port`; nil if that is of another primary.
    static func server(_ message: [UInt8], of primary: String) -> ConnectAddress? {
        let words = String(decoding: message, as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 5, words[0] == primary, let port = UInt16(words[4]) else { return nil }
        return .tcp(host: String(words[3]), port: port)
    }

    func close() {
        for subscriber in subscribers { subscriber.close() }
    }
}
