import Foundation

/// How much the random and exhaustive suites do: `SNAPSHOTKIT_EFFORT=20` makes them twenty times as thorough.
enum Effort {
    static let factor = ProcessInfo.processInfo.environment["SNAPSHOTKIT_EFFORT"].flatMap { Int($0) } ?? 1

    /// Numbers of runs, each with separate seeds.
    static func seeds(_ count: Int) -> Range<UInt64> { 0..<UInt64(count * factor) }
}
