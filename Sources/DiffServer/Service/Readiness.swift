import Synchronization

/// Whether the server takes work.
final class Readiness: Sendable {
    private let draining = Atomic<Bool>(false)

    var isReady: Bool { !draining.load(ordering: .relaxed) }

    /// From now on `/readyz` says no.
    func drain() { draining.store(true, ordering: .relaxed) }
}
