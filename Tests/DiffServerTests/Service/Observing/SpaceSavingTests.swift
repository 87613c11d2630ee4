import DiffClock
import Testing

@testable import DiffService

@Suite struct SpaceSavingTests {
    /// Streams of names, drawn by Zipf's law: how many names, its exponent, how many draws, the most that one counts.
    private static let streams: [(names: Int, skew: Double, draws: Int, most: Int)] = [
        (1, 1, 100, 1), (8, 0, 1000, 9), (200, 0, 4000, 1), (200, 1, 4000, 1), (2000, 0, 6000, 1),
        (2000, 1, 6000, 1), (2000, 1.5, 6000, 1), (2000, 1, 6000, 9000), (2000, 0.5, 6000, 9000),
    ]

    @Test(arguments: streams)
    func `a count is at least what was counted, and without its error at most`(
        _ names: Int, _ skew: Double, _ draws: Int, _ most: Int
    ) {
        var weights: [Double] = []
        for rank in 1...names { weights.append((weights.last ?? 0) + 1 / Double(rank).power(skew)) }
        var sketch = SpaceSaving()
        var exact: [String: Int] = [:]
        for _ in 0..<draws {
            let draw = Double.random(in: 0..<weights[names - 1])
            let rank = weights.firstIndex { $0 > draw } ?? 0
            // Names of one word are kept in place, longer ones elsewhere.
            let name = rank.isMultiple(of: 2) ? "s-\(rank)" : "a session with a longer name, number \(rank)"
            let amount = Int.random(in: 1...most)
            exact[name, default: 0] += amount
            sketch.add(amount, to: SpaceSaving.Key(name))
        }
        let total = exact.values.reduce(0, +)
        let kept = Set(sketch.keys.map(\.name))
        for (name, count) in exact {
            let bounds = sketch.estimate(of: SpaceSaving.Key(name))
            #expect(bounds.count - bounds.error <= count && count <= bounds.count, "\(name)")
            #expect(count <= total / 8 || kept.contains(name), "\(name) is more than an eighth")
        }
        #expect(kept.count <= 256 && kept.isSubset(of: exact.keys))
        let unknown = sketch.estimate(of: SpaceSaving.Key("unknown"))
        #expect(unknown.count == unknown.error)
    }
}

extension Double {
    /// The power by a multiple of a half.
    fileprivate func power(_ exponent: Double) -> Double {
        (0..<Int(exponent * 2)).reduce(1) { power, _ in power * squareRoot() }
    }
}

@Suite struct HotSessionsTests {
    private static let start = Instant(nanoseconds: 1 << 40)

    /// Uses of sessions and when, in seconds; then what is told at a time.
    private static let cases: [(uses: [(Int, String)], at: Int, told: [HotSessions.Entry], seconds: Int)] = [
        ([], 0, [], 0),
        ([(0, "a"), (1, "b"), (2, "a")], 2, [.init(session: "a", count: 2), .init(session: "b", count: 1)], 2),
        ([(0, "b"), (0, "a")], 29, [.init(session: "a", count: 1), .init(session: "b", count: 1)], 29),
        ([(0, "a"), (31, "b"), (32, "b")], 40, [.init(session: "b", count: 2), .init(session: "a", count: 1)], 40),
        ([(0, "a"), (31, "a")], 59, [.init(session: "a", count: 2)], 59),
        ([(0, "a"), (31, "b")], 60, [.init(session: "b", count: 1)], 30),
        ([(0, "a")], 90, [], 30),
    ]

    @Test(arguments: cases)
    func `what is told is of the last half minute to minute`(
        _ uses: [(Int, String)], _ end: Int, _ told: [HotSessions.Entry], _ seconds: Int
    ) {
        var hot = HotSessions(at: Self.start)
        for second in 0...end {
            let now = Self.start + .seconds(second)
            hot.rotate(at: now)
            for (time, session) in uses where time == second {
                hot.count(100, of: SpaceSaving.Key(session), isWrite: true)
                hot.countConflict(of: SpaceSaving.Key(session))
            }
        }
        #expect(hot.top(20, by: .writes) == told && hot.top(20, by: .conflicts) == told)
        #expect(hot.top(1, by: .bytes).map(\.count) == told.prefix(1).map { $0.count * 100 })
        #expect(hot.seconds(at: Self.start + .seconds(end)) == seconds)
    }
}
