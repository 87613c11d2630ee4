#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// What a request cost.
struct Cost {
    /// Bytes of the request and the answer together.
    var bytes: Int
    /// Items of the session, if a short request looks at all of it.
    var items: Int
    /// Bytes of two states' texts, if differing contents of the session are compared.
    var texts: Int
    /// The thread's processor time, in milliseconds of the reference machine.
    var time: Double

    /// The bound: 100 ms per MB, but at least 5 ms, and 0.1 µs for each item of the session that is looked at, and 2 ms
    /// for each MB of two of its states that are compared.
    var limit: Double { max(5, Double(bytes) / 10_000) + Double(items) / 10_000 + Double(texts) / 500_000 }
    /// Milliseconds per MB.
    var rate: Double { time / (Double(bytes) / 1_000_000) }
    /// How much of the bound is used.
    var share: Double { time / limit }
}

/// Measures this thread's processor time, so that other processes do not count, and relative to a reference, so that a
/// slower machine does not count, nor one whose cache others use.
struct Meter {
    /// A plain list of 20,000 rows that is reversed, 2.5 MB in and out.
    private let reference: Request
    /// Its milliseconds on the machine where the bound was set.
    private static let referenceTime = 6.0

    /// How many times the bound a recipe must cost to be reported, so that random excesses are not.
    static let margin = 2.0

    init() {
        var recipe = Recipe("")!
        recipe[.rows] = 20_000
        recipe[.content] = Content.small.rawValue
        recipe[.order] = Order.reversed.rawValue
        reference = Request(recipe)
    }

    /// The cost of a recipe: measured once, and if that is much, the least of ten, each relative to the reference. A
    /// disturbance only makes a run longer.
    func cost(of recipe: Recipe) -> Cost {
        let request = Request(recipe)
        var answer = 0
        var cost = Cost(
            bytes: request.count, items: request.items, texts: request.texts,
            time: Self.time { answer = request.run() })
        cost.bytes += answer
        guard cost.share > 0.3 else { return cost }
        var least = Self.time { _ = reference.run() }
        for _ in 0..<9 {
            cost.time = min(cost.time, Self.time { _ = request.run() })
            least = min(least, Self.time { _ = reference.run() })
        }
        cost.time /= max(1, least / Self.referenceTime)
        return cost
    }

    private static func time(_ body: () -> Void) -> Double {
        let start = now()
        body()
        return now() - start
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }
}
