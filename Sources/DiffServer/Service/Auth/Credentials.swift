import HTTPCore
import Synchronization

/// What admits requests: keys, or the secrets of tokens. The set can be replaced while the server runs.
final class Credentials<Credential: Hashable & Sendable>: Sendable {
    private let content: Locked<[Credential]>
    private let replacements = Atomic<Int>(0)
    private let listeners = Locked<[@Sendable () -> Void]>([])

    init(_ all: [Credential]) { content = Locked(all) }

    var all: [Credential] { content.withLock { $0 } }

    /// How often the set was replaced.
    var generation: Int { replacements.load(ordering: .acquiring) }

    /// Whether the set has the credential. O(credentials), which are few.
    func contains(_ credential: Credential) -> Bool { all.contains(credential) }

    func replace(by others: [Credential]) {
        content.withLock {
            $0 = others
            replacements.add(1, ordering: .releasing)
        }
        for listener in listeners.withLock({ $0 }) { listener() }
    }

    /// Calls this after each replacement.
    func whenReplaced(_ action: @escaping @Sendable () -> Void) { listeners.withLock { $0.append(action) } }
}
