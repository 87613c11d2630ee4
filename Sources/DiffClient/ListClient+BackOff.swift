import Foundation

extension ListClient {
    /// How long to wait before asking again.
    public struct BackOff: Sendable, Equatable {
        /// Seconds after the first failure, at most; each further one doubles it.
        public var first: TimeInterval
        /// The most seconds, unless the server asks for more.
        public var longest: TimeInterval

        /// A second at first, half a minute in the end.
        public init(first: TimeInterval = 1, longest: TimeInterval = 30) {
            self.first = first
            self.longest = longest
        }

        /// The pause after some failures in a row, in seconds.
        ///
        /// Half of it is random (`chance` from 0 to 1), so that clients do not all return at once. What `Retry-After`
        /// asked for is kept, and the random part comes on top. It is at most a day: a date far off must not end a
        /// client for good.
        public func pause(after failures: Int, retryAfter: TimeInterval?, chance: Double) -> TimeInterval {
            let share = 0.5 + chance / 2
            if let retryAfter { return min(retryAfter, 86_400) + first * share }
            // Beyond 2^20 any first pause has reached any longest.
            return min(first * TimeInterval(1 << min(failures, 20)), longest) * share
        }
    }
}

extension TimeInterval {
    /// Seconds since the system started, by a clock that nobody sets.
    static var uptime: TimeInterval { ProcessInfo.processInfo.systemUptime }
}

extension Task where Success == Never, Failure == Never {
    /// Sleeps for seconds, or until the task is cancelled.
    static func pause(for seconds: TimeInterval) async {
        try? await sleep(nanoseconds: UInt64(max(0, min(seconds, 1e9)) * 1e9))
    }
}
