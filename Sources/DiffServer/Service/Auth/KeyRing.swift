import DiffSessions
import HTTPCore

/// The hashed keys of writers: `name:sha256-hex`, or `name:sha256-hex:prefix` for sessions whose names start with
/// `prefix`.
package struct KeyRing: Sendable {
    package struct Key: Sendable {
        var name: String
        var hash: [UInt8]
        /// The start of its sessions' names; empty for all.
        var prefix: String

        /// What is wrong with text that is no key, for error messages.
        package static let fault =
            "is not NAME:SHA256 or NAME:SHA256:PREFIX, with a hash of 64 hexadecimal digits; diffserver key makes one"

        /// Reads the written form; nil for anything else. An empty prefix is refused: a script that failed to fill it
        /// in would have made a key for everything.
        package init?(_ text: some StringProtocol) {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count >= 2, !parts[0].isEmpty, parts[1].count == 64, let hash = Hex.decode(parts[1]) else {
                return nil
            }
            let prefix = parts.count > 2 ? String(parts[2]) : nil
            guard prefix.map(SessionName.isStart) ?? true else { return nil }
            (name, self.hash, self.prefix) = (String(parts[0]), hash, prefix ?? "")
        }

        package init(name: String, secret: String) {
            (self.name, hash, prefix) = (name, Digests.sha256(Array(secret.utf8)), "")
        }
    }

    package var keys: [Key]

    package init(keys: [Key]) {
        self.keys = keys
    }

    /// The key of a secret. All are compared, so that the time reveals nothing.
    func key(for secret: String) -> Key? {
        let hash = Digests.sha256(Array(secret.utf8))
        var found: Key?
        for key in keys where Digests.isEqual(key.hash, hash) { found = key }
        return found
    }

    /// A new secret of 256 random bits.
    package static func newSecret() -> String { "dsk_" + Base64URL.encode(Digests.random(32)) }
}
