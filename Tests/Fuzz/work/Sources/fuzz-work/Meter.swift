#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// What a request cost.
struct Cost {
    /// Of the request and the answer together.
    var bytes: Int
    /// Of the session, where the request says little and looks at all of it.
    var items: Int
    /// Of the texts of two states of the session, where contents that differ are compared.
    var texts: Int
    /// Of the thread's processor time, in milliseconds of the reference machine.
    var time: Double

    /// The bound: 100 ms a MB, but 5 ms at least, and 0.1 µs for each item of the session that is looked at, and 2 ms
    /// for each MB of two of its states that are compared.
    var limit: Double { max(5, Double(bytes) / 10_000) + Double(items) / 10_000 + Double(texts) / 500_000 }
    /// Milliseconds a MB.
    var rate: Double { time / (Double(bytes) / 1_000_000) }
    /// How much of the bound is used.
    var share: Double { time / limit }
}

/// Measures in the processor time of this thread, so that other processes do not count, and beside a reference, so that
/// a slower machine does not count, nor one whose cache others use.
struct Meter {
    /// A plain list of 20,000 rows that is reversed, 2.5 MB in and out.
    private let reference: Request
    /// Milliseconds that it takes where the bound was set.
    private static let referenceTime = 6.0

    /// How many times the bound a recipe must cost to be reported: what is beyond the bound by chance is not.
    static let margin = 2.0

    init() {
        var recipe = Recipe("")!
        recipe[.rows] = 20_000
        recipe[.content] = Content.small.rawValue
        recipe[.order] = Order.reversed.rawValue
        reference = Request(recipe)
    }

    /// What a recipe costs: once, and where that is much, the least of ten, each beside the reference. What disturbs a
    /// run only makes it longer.
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
