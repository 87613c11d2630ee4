import DiffClock

@testable import DiffStores

/// Counts what a reader is told: changes, and ends.
final class Listener: SessionReader {
    let counts = Locked([0, 0])
    let isAnonymous: Bool
    private let admission: @Sendable () -> Bool

    init(isAnonymous: Bool = false, while admission: @escaping @Sendable () -> Bool = { true }) {
        (self.isAnonymous, self.admission) = (isAnonymous, admission)
    }

    var isAdmitted: Bool { admission() }
    func sessionChanged() { counts.withLock { $0[0] += 1 } }
    func sessionEnded(_ end: SessionEnd) { counts.withLock { $0[1] += 1 } }
    func serverEnds(after time: Duration) {}
}
