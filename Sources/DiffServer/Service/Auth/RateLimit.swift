import HTTPCore

/// Token buckets, one a writer or a peer: so many requests a second, and as many at once.
///
/// A request costs a lock and a look-up. Buckets that are full are forgotten, and each is full a second after its last
/// request, so there are never more than 10,000, or than twice those of about one second.
final class RateLimit<Key: Hashable & Sendable>: Sendable {
    /// Requests a second; nil for no limit.
    private let rate: Double?
    private let content = Locked(Content())

    private struct Content {
        var buckets: [Key: Bucket] = [:]
        /// With so many buckets the full ones are forgotten, which changes nothing; twice as many as were left, so that
        /// each costs O(1).
        var sweepsAt = 10_000
    }

    private struct Bucket {
        var left: Double
        var filled: Instant
    }

    init(perSecond rate: Int?) { self.rate = rate.map(Double.init) }

    /// Takes one request; nil if it may go on, else the seconds after which to try again.
    func refuses(_ key: @autoclosure () -> Key, at time: @autoclosure () -> Instant = Instant.now) -> Int? {
        guard let rate else { return nil }
        let (key, now) = (key(), time())
        return content.withLock { content in
            if content.buckets.count >= content.sweepsAt {
                content.buckets = content.buckets.filter { Self.refilled($0.value, rate, now).left < rate }
                content.sweepsAt = max(Content().sweepsAt, 2 * content.buckets.count)
            }
            var bucket = Self.refilled(content.buckets[key] ?? Bucket(left: rate, filled: now), rate, now)
            defer { content.buckets[key] = bucket }
            guard bucket.left >= 1 else { return max(1, Int(((1 - bucket.left) / rate).rounded(.up))) }
            bucket.left -= 1
            return nil
        }
    }

    /// Buckets that are remembered. For tests.
    var count: Int { content.withLock { $0.buckets.count } }

    private static func refilled(_ bucket: Bucket, _ rate: Double, _ now: Instant) -> Bucket {
        Bucket(left: min(rate, bucket.left + (now - bucket.filled) / .seconds(1) * rate), filled: now)
    }
}
