/// Continues when the jobs of several loops are done. The last release triggers it: a loop that has ended releases its
/// jobs without running them.
final class Rendezvous: Sendable {
    private let next: @Sendable () -> Void

    init(_ next: @escaping @Sendable () -> Void) { self.next = next }

    deinit { next() }

    /// Does nothing but keep this alive until the call.
    func arrive() {}
}
