import Foundation

extension ListClient {
    /// How long to wait before trying again.
    public struct BackOff: Sendable, Equatable {
        /// The most seconds after the first failure; each further one doubles it.
        public var first: TimeInterval
        /// The most seconds, unless the server asks for more.
        public var longest: TimeInterval

        /// Defaults to a second at first, and half a minute in the end.
        public init(first: TimeInterval = 1, longest: TimeInterval = 30) {
            self.first = first
            self.longest = longest
        }

        /// The pause after several failures in a row, in seconds.
        ///
        /// Half of it is random (`chance` from 0 to 1), so that clients do not all return at once. A `Retry-After` is
        /// respected, up to a day, and the random part added: a date far off must not stop a client for good.
        public func pause(
            after failures: Int, retryAfter: TimeInterval?, chance: Double = .random(in: 0...1)
        ) -> TimeInterval {
            let share = 0.5 + chance / 2
            if let retryAfter { return min(retryAfter, 86_400) + first * share }
            // By 2^20 any first pause has reached the longest.
            return min(first * TimeInterval(1 << min(failures, 20)), longest) * share
        }
    }
}

extension TimeInterval {
    /// Seconds since the system started, by a clock that cannot be set.
    static var uptime: TimeInterval { ProcessInfo.processInfo.systemUptime }
}

extension Task where Success == Never, Failure == Never {
    /// Sleeps for seconds, or until the task is cancelled.
    static func pause(for seconds: TimeInterval) async {
        try? await sleep(nanoseconds: UInt64(max(0, min(seconds, 1e9)) * 1e9))
    }
}
