// Who may use the server: holders of keys or, without keys, programs on this machine. Web pages in a browser reach the
// loopback too, but their Host, Origin or Sec-Fetch-Site gives them away, as `Forwarded` and the like do most proxies.
// Other proxies look like a program on this machine: a warning at the start says that behind any, a key is needed.

import DiffSessions
import DiffStores
import HTTPCore

/// Identifies who makes a request.
package struct Authenticator: Sendable {
    /// Never empty if other machines can reach the server.
    package let keys: KeyRing
    /// Whether the server only listens on the loopback and on Unix sockets.
    var isLocal: Bool
    /// Whether authentication is off, and anyone may do anything.
    var isOpen: Bool
    package var secrets: TokenSecrets
    /// Origins of web pages that may call, such as `https://example.org`.
    var origins: Set<String>

    package init(keys: KeyRing, isLocal: Bool, isOpen: Bool = false, secrets: TokenSecrets, origins: Set<String>) {
        (self.keys, self.isLocal, self.isOpen, self.secrets, self.origins) = (keys, isLocal, isOpen, secrets, origins)
    }

    /// - Parameter permission: with `.read`, credentials may be left out.
    /// - Throws: 401 without good credentials; 403 if only programs on this machine may ask, and this is not one.
    func identity(_ head: RequestHead, _ peer: Peer, for permission: Permission) throws(Problem) -> Identity {
        if isOpen { return .anyone }
        if head["authorization"] != nil {
            guard let secret = secret(of: head) else { throw .noCredentials }
            if let key = keys.key(for: secret) {
                guard !key.isForMetrics || permission == .operate else {
                    throw Problem(.forbidden, "this key reads /metrics and nothing else")
                }
                return .writer(key)
            }
            if let (token, signature) = secrets.token(secret, at: .now) { return .client(token, signature) }
            throw Problem(.unauthenticated, "the key or token is unknown or has expired")
        }
        guard isLocal, peer.isLoopback, keys.isEmpty || permission == .operate else {
            if permission == .read { return .anonymous }
            throw .noCredentials
        }
        try checkLocal(head)
        return .anyone
    }

    /// Whether no credentials are needed.
    func isUnlocked(for peer: Peer) -> Bool { isOpen || isLocal && peer.isLoopback && keys.isEmpty }

    /// The key or token of a request; nil if it has none, or several.
    private func secret(of head: RequestHead) -> String? {
        guard let text = head["authorization"], head.values(of: "authorization").count == 1 else { return nil }
        let parts = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1).map { Substring($0) }
        return parts.count == 2 && parts[0].lowercased() == "bearer" ? parts[1].trimmed : nil
    }

    /// Counts the replacements of keys or secrets.
    var generation: Int { keys.current.generation &+ secrets.current.generation }

    /// Whether the server still has the key, or the secret of the token, that admitted a request.
    func knows(_ identity: Identity) -> Bool {
        switch identity {
        case .anyone, .anonymous: true
        case .writer(let key): keys.current.contains(key)
        case .client(_, let signature): secrets.current.contains(signature.secret)
        }
    }

    /// Whether the credentials of an admitted request are still good, since its body may take hours.
    func isStillGood(_ identity: Identity) -> Bool {
        knows(identity) && (identity.token?.expires.seconds ?? .max) > WallTime.now.seconds
    }

    private func checkLocal(_ head: RequestHead) throws(Problem) {
        if let host = head.host, !Self.isLoopback(host: host) {
            throw Problem(
                .forbidden,
                "without a key, only this machine may connect, as localhost and not \"\(host)\"; configure a key")
        }
        let origin = head["origin"]
        if let origin, !admits(origin: origin, head) {
            throw Problem(
                .forbidden, "the origin \"\(origin)\" is not allowed; allow it with --origin, or configure a key")
        }
        // A page from a named origin is cross-site, too.
        if origin.map(origins.contains) != true, head.values(of: "sec-fetch-site").contains("cross-site") {
            throw Problem(
                .forbidden,
                "the request comes from another site's page; allow its origin with --origin, or configure a key")
        }
        if head.hasField(named: Self.proxyFields, orStartingWith: "x-forwarded-") {
            throw Problem(.forbidden, "without a key, requests that come through a proxy are refused; configure a key")
        }
    }

    /// Fields of proxies, besides X-Forwarded-* (RFC 7239, RFC 9110 §7.6.3, nginx, Cloudflare).
    private static let proxyFields: [StaticString] = ["forwarded", "via", "x-real-ip", "cf-connecting-ip"]

    /// Whether the pages of an origin may read answers: it is allowed, or this server's own.
    func admits(origin: String, _ head: RequestHead) -> Bool {
        if origins.contains(origin) { return true }
        return head.host.map { origin == "http://" + $0 || origin == "https://" + $0 } ?? false
    }

    /// Whether a Host is a name or an address of the loopback.
    package static func isLoopback(host: String) -> Bool {
        if host.utf8.first == UInt8(ascii: "[") {
            let name = host.dropFirst().prefix { $0 != "]" }.lowercased()
            return name == "::1" || name == "0:0:0:0:0:0:0:1" || name.hasPrefix("::ffff:127.")
        }
        var host = host
        let name = host.withUTF8 { String(decoding: $0.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self) }
        if name == "127.0.0.1" || name == "localhost" { return true }
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        if parts.count == 4, parts[0].elementsEqual("127".utf8), parts.allSatisfy({ UInt8(Substring($0)) != nil }) {
            return true
        }
        let letters = name.lowercased()
        return letters == "localhost" || letters == "localhost." || letters.hasSuffix(".localhost")
    }
}

/// The hashed keys of writers: `name:sha256-hex`, or `name:sha256-hex:prefix` for sessions whose names start with
/// `prefix`.
package final class KeyRing: Sendable {
    package struct Key: Hashable, Sendable {
        var name: String
        var hash: [UInt8]
        /// The start of its sessions' names; empty for all.
        var prefix: String
        /// Whether it only reads `/metrics`, and is no writer's.
        package private(set) var isForMetrics = false

        /// The fault of text that is no key, for error messages.
        package static let fault =
            "is not NAME:SHA256 or NAME:SHA256:PREFIX, with a hash of 64 hexadecimal digits; diffserver key makes one"

        /// Reads the written form; nil for anything else. An empty prefix is refused: a script that failed to fill it
        /// in would have made a key for everything.
        package init?(_ text: some StringProtocol) {
            let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            let prefix = parts.count > 2 ? String(parts[2]) : nil
            guard parts.count >= 2, !parts[0].isEmpty, parts[1].count == 64, let hash = Hex.decode(parts[1]),
                prefix.map(SessionName.isStart) ?? true
            else { return nil }
            (name, self.hash, self.prefix) = (String(parts[0]), hash, prefix ?? "")
        }

        /// The same key, for `/metrics` alone; nil if it is for sessions with a prefix.
        package var forMetrics: Key? {
            var key = self
            key.isForMetrics = true
            return prefix.isEmpty ? key : nil
        }

        package init(name: String, secret: String) {
            (self.name, hash, prefix) = (name, Digests.sha256(Array(secret.utf8)), "")
        }
    }

    /// Whether there are no writers' keys, now and later.
    let isEmpty: Bool
    let current: Credentials<Key>

    package init(keys: [Key]) { (isEmpty, current) = (keys.allSatisfy(\.isForMetrics), Credentials(keys)) }

    /// The key of a secret. All are compared, so that the time reveals nothing.
    func key(for secret: String) -> Key? {
        let hash = Digests.sha256(Array(secret.utf8))
        var found: Key?
        for key in all where Digests.isEqual(key.hash, hash) { found = key }
        return found
    }

    package var all: [Key] { current.all }

    package func replace(by keys: [Key]) {
        precondition(isEmpty == keys.allSatisfy(\.isForMetrics), "whether a key is needed is decided at the start")
        current.replace(by: keys)
    }

    package static func newSecret() -> String { "dsk_" + Base64URL.encode(Digests.random(32)) }
}
