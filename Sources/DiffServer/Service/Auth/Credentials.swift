import DiffStores
import HTTPCore
import Synchronization

/// What admits requests: keys, or the secrets of tokens. The set can be replaced while the server runs, which ends the
/// readers admitted by a credential that is gone.
final class Credentials<Credential: Hashable & Sendable>: Sendable {
    private struct Content {
        var all: [Credential]
        /// By the credential that admitted them.
        var readers: [Credential: [ObjectIdentifier: any SessionReader]] = [:]
    }

    private let content: Locked<Content>
    private let replacements = Atomic<Int>(0)

    init(_ all: [Credential]) { content = Locked(Content(all: all)) }

    var all: [Credential] { content.withLock { $0.all } }

    /// How often the set was replaced.
    var generation: Int { replacements.load(ordering: .acquiring) }

    /// Whether the set has the credential. O(credentials), which are few.
    func contains(_ credential: Credential) -> Bool { all.contains(credential) }

    /// Replaces the set. O(credentials × those with readers).
    func replace(by others: [Credential]) {
        let ended = content.withLock { content in
            content.all = others
            replacements.add(1, ordering: .releasing)
            let ended = content.readers.filter { !others.contains($0.key) }
            for credential in ended.keys { content.readers[credential] = nil }
            return ended.values.flatMap(\.values)
        }
        for reader in ended { reader.sessionEnded(.revoked) }
    }

    /// Ends the reader when the credential is withdrawn, at once if it already is. Lasts until `leave`.
    func follow(_ credential: Credential, _ reader: any SessionReader) {
        let isThere = content.withLock { content in
            guard content.all.contains(credential) else { return false }
            content.readers[credential, default: [:]][ObjectIdentifier(reader)] = reader
            return true
        }
        if !isThere { reader.sessionEnded(.revoked) }
    }

    func leave(_ credential: Credential, _ reader: any SessionReader) {
        content.withLock { content in
            content.readers[credential]?[ObjectIdentifier(reader)] = nil
            if content.readers[credential]?.isEmpty == true { content.readers[credential] = nil }
        }
    }
}
