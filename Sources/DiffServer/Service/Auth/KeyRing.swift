/// The keys of writers, as hashes: `name:sha256-hex`, or `name:sha256-hex:prefix` for sessions whose names start with
/// `prefix`.
struct KeyRing: Sendable {
    struct Key: Sendable {
        var name: String
        var hash: [UInt8]
        /// What the names of its sessions start with; empty for all.
        var prefix: String

        /// Reads the written form; nil for anything else. A prefix that is written is not empty: what a script meant to
        /// put there, and did not, would else be a key for everything.
        init?(_ text: some StringProtocol) {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count >= 2, !parts[0].isEmpty, parts[1].count == 64, let hash = Hex.decode(parts[1]) else {
                return nil
            }
            let prefix = parts.count > 2 ? String(parts[2]) : nil
            guard prefix.map(SessionName.isStart) ?? true else { return nil }
            name = String(parts[0])
            self.hash = hash
            self.prefix = prefix ?? ""
        }

        init(name: String, secret: String) {
            self.name = name
            hash = Digests.sha256(Array(secret.utf8))
            prefix = ""
        }
    }

    var keys: [Key]

    /// The key that a secret belongs to. All are compared, so that the time tells nothing.
    func key(for secret: String) -> Key? {
        let hash = Digests.sha256(Array(secret.utf8))
        var found: Key?
        for key in keys where Digests.isEqual(key.hash, hash) { found = key }
        return found
    }

    /// A new secret: 256 bits that nobody can guess.
    static func newSecret() -> String { "dsk_" + Base64URL.encode(Digests.random(32)) }
}
