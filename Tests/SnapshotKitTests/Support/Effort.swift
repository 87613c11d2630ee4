import Foundation

/// How much the random and exhaustive suites do: a third of their numbers by default, all with `SNAPSHOTKIT_EFFORT=3`
/// (`make test FULL=1`), and `SNAPSHOTKIT_EFFORT=60` makes them twenty times as thorough.
enum Effort {
    static let factor = ProcessInfo.processInfo.environment["SNAPSHOTKIT_EFFORT"].flatMap { Int($0) } ?? 1

    /// Numbers of runs, each with separate seeds.
    static func seeds(_ count: Int) -> Range<UInt64> { 0..<UInt64(runs(count)) }

    /// That many runs at full effort.
    static func runs(_ count: Int) -> Int { max(1, count * factor / 3) }
}
