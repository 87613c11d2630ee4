import HTTPCore

/// Token buckets, one per writer or peer: `rate` requests per second, and bursts of as many.
///
/// A request costs a lock and a look-up. Full buckets are dropped. A bucket is full a second after its last request, or
/// later if `count` has overdrawn it. So there are at most 10,000 buckets, or about twice the number that are not full.
package final class RateLimit<Key: Hashable & Sendable>: Sendable {
    /// Requests per second; nil for no limit.
    private let rate: Double?
    private let content = Locked(Content())

    private struct Content {
        var buckets: [Key: Bucket] = [:]
        /// The number of buckets at which full ones are dropped: twice what the last sweep left, for amortized O(1).
        var sweepsAt = 10_000
    }

    private struct Bucket {
        var left: Double
        var filled: Instant
    }

    init(perSecond rate: Int?) { self.rate = rate.map(Double.init) }

    /// Counts a request. Returns nil if it is allowed, or else the seconds until a retry.
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

    /// Charges an allowed request for more than one, overdrawing the bucket if need be.
    func count(_ more: Double, _ key: @autoclosure () -> Key, at time: @autoclosure () -> Instant = Instant.now) {
        guard let rate else { return }
        let (key, now) = (key(), time())
        content.withLock { content in
            var bucket = Self.refilled(content.buckets[key] ?? Bucket(left: rate, filled: now), rate, now)
            bucket.left -= more
            content.buckets[key] = bucket
        }
    }

    /// The number of buckets. For tests.
    package var count: Int { content.withLock { $0.buckets.count } }

    private static func refilled(_ bucket: Bucket, _ rate: Double, _ now: Instant) -> Bucket {
        Bucket(left: min(rate, bucket.left + (now - bucket.filled) / .seconds(1) * rate), filled: now)
    }
}
