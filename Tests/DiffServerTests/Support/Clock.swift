// Where tests in Swift wait, as Tests/EndToEnd/support/clock.py for those in Python. What can be seen is waited for,
// with a limit that only ends a hang. A time of its own has a reason: a clock of the product has to run, or somebody in
// the test keeps a pace, and each call says which. Nothing else sleeps (.ci/check-sleeps).

import Foundation

/// Waits until a condition holds, for two minutes at most; returns whether it does. Disfavored, or it would also be
/// chosen where one can `await`.
@_disfavoredOverload @available(*, noasync)
func eventually(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while !condition() {
        if ContinuousClock.now > end { return false }
        Thread.sleep(forTimeInterval: 0.005)
    }
    return true
}

/// Waits until a condition holds, beside others; returns false after the limit, or if the task is cancelled.
@discardableResult
func eventually(
    within limit: Duration = .seconds(120), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async -> Bool
) async -> Bool {
    let end = ContinuousClock.now + limit
    while await !condition() {
        if ContinuousClock.now > end { return false }
        do { try await Task.sleep(for: .milliseconds(4)) } catch { return false }
    }
    return true
}

/// Whether a condition holds now and for so long: what must not happen gets the time to happen.
func stays(
    for duration: Duration, isolation: isolated (any Actor)? = #isolation, _ condition: () async -> Bool
) async -> Bool {
    let end = ContinuousClock.now + duration
    while await condition() {
        if ContinuousClock.now > end { return true }
        do { try await Task.sleep(for: .milliseconds(4)) } catch { return false }
    }
    return false
}

/// Lets a clock of the product run, of which nothing is to be seen until it has: `clock` names it.
func letPass(_ duration: Duration, _ clock: String) async throws { try await Task.sleep(for: duration) }

/// The pace of somebody in the test: a client between two requests, a network, a source that is slow.
func pause(_ duration: Duration, _ whose: String) async throws { try await Task.sleep(for: duration) }

/// `pause` on a thread of one's own.
func pauseThread(_ duration: Duration, _ whose: String) { Thread.sleep(forTimeInterval: duration / .seconds(1)) }

/// Waits until the task is cancelled, as for a server that never answers.
func waitForCancellation() async throws {
    for await _ in AsyncStream(Void.self, { _ in }) {}
    try Task.checkCancellation()
}
