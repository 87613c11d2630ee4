import Synchronization

/// Events of sessions since the start.
final class SessionCounters: Sendable {
    private let creations = Atomic<Int>(0)
    private let commits = Atomic<Int>(0)
    private let evictions = Atomic<Int>(0)
    private let expirations = Atomic<Int>(0)

    func created() { creations.wrappingAdd(1, ordering: .relaxed) }
    func committed() { commits.wrappingAdd(1, ordering: .relaxed) }
    func evicted() { evictions.wrappingAdd(1, ordering: .relaxed) }
    func expired() { expirations.wrappingAdd(1, ordering: .relaxed) }

    var values: (creations: Int, commits: Int, evictions: Int, expirations: Int) {
        (
            creations.load(ordering: .relaxed), commits.load(ordering: .relaxed), evictions.load(ordering: .relaxed),
            expirations.load(ordering: .relaxed)
        )
    }
}
