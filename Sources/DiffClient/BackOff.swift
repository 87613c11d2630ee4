/// How long to wait before asking again.
public struct BackOff: Sendable, Equatable {
    /// After the first failure, at most; each further one doubles it.
    public var first: Duration
    /// The most, unless the server asks for more.
    public var longest: Duration

    /// A second at first, half a minute in the end.
    public init(first: Duration = .seconds(1), longest: Duration = .seconds(30)) {
        self.first = first
        self.longest = longest
    }

    /// The pause after some failures in a row.
    ///
    /// Half of it is chance (`chance` from 0 to 1), so that not all readers return as one. What `Retry-After` asked for
    /// is kept and chance comes on top, within a day: a date far off must not end a client for good.
    public func pause(after failures: Int, retryAfter: Duration?, chance: Double) -> Duration {
        let share = 0.5 + chance / 2
        if let retryAfter { return min(retryAfter, .seconds(86_400)) + first * share }
        // Beyond 2^20 any first pause has reached any longest.
        return min(first * (1 << min(failures, 20)), longest) * share
    }
}
