import HTTPCore

/// A connection to Redis that listens to channels.
///
/// What is subscribed to stays so over reconnections; behind each of them, once every channel is confirmed again,
/// `renewed` tells that whatever was said meanwhile was missed. A channel's confirmations are counted: after a quick
/// off and on again only that of the last SUBSCRIBE counts. A PING goes out each `commandTimeout`, so that a connection
/// that is dead without a word is noticed.
final class RedisSubscriber: Sendable {
    typealias Confirmation = @Sendable (RedisFailure?) -> Void

    /// What its owner hears, on the loop.
    struct Handlers: Sendable {
        var message: @Sendable (_ channel: String, _ payload: [UInt8]) -> Void
        var renewed: @Sendable () -> Void
        /// Why the server lets us subscribe to nothing; nil where it does.
        var refused: @Sendable (RedisError?) -> Void = { _ in }
    }

    let loop: EventLoop
    private let confined: RedisSubscriptions

    /// A subscriber that begins to connect.
    init(_ address: RedisAddress, _ options: RedisOptions, on loop: EventLoop, _ handlers: Handlers) {
        self.loop = loop
        let confined = RedisSubscriptions(
            StandingConnection(address, options, on: loop), pulse: options.commandTimeout, loop, handlers)
        self.confined = confined
        onLoop { confined.start() }
    }

    /// Listens to a channel from when `confirmation` is called without a failure. With one, the channel stays wanted
    /// all the same, until `unsubscribe`, and begins to speak with the next connection. In the order of the calls of
    /// one thread.
    func subscribe(_ channel: String, _ confirmation: @escaping Confirmation) {
        onLoop { [confined] in confined.subscribe(channel, confirmation) }
    }

    func unsubscribe(_ channel: String) { onLoop { [confined] in confined.unsubscribe(channel) } }

    /// Connects anew, unless to `server` already.
    func leave(for server: ConnectAddress) { onLoop { [confined] in confined.leave(for: server) } }

    func close() { onLoop { [confined] in confined.close() } }

    private func onLoop(_ work: @escaping @Sendable () -> Void) {
        if loop.isCurrent { work() } else { loop.execute(work) }
    }
}
