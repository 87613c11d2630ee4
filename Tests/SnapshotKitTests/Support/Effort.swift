import Foundation

/// How much the random suites do: a sixth of their numbers by default, a third in CI (`SNAPSHOTKIT_EFFORT=2`), all
/// with 6 (`make test FULL=1`), and ten times as much with 60.
enum Effort {
    static let factor = ProcessInfo.processInfo.environment["SNAPSHOTKIT_EFFORT"].flatMap { Int($0) } ?? 1

    /// Numbers of runs, each with separate seeds.
    static func seeds(_ count: Int) -> Range<UInt64> { 0..<UInt64(runs(count)) }

    /// That many runs at full effort.
    static func runs(_ count: Int) -> Int { max(1, count * factor / 6) }

    /// Whether that one of an exhaustive suite's cases is among those that are tried: all are but by default.
    static func takes(_ number: Int) -> Bool { factor > 1 || number % 6 == 0 }
}
