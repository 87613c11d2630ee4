// Every option once: its flag, its place in the environment (`--max-body` is `DIFFSERVER_MAX_BODY`), its unit, its
// default, its range, and how it is read. Help, errors and the environment all come from here. What only makes sense
// together with another option is checked by `Options.checked()`.

import HTTPCore
import SnapshotKit

/// Options that are about one subject.
struct OptionGroup: Sendable {
    let title: String
    let options: [Option]
}

/// All options of `diffserver serve`, in the order of its help.
enum OptionTable {
    static let groups = [
        OptionGroup(title: "Addresses and TLS", options: addresses),
        OptionGroup(title: "Authentication", options: authentication),
        OptionGroup(title: "Where sessions live", options: stores),
        OptionGroup(title: "Writes, and lists from upstream", options: writes),
        OptionGroup(title: "Limits of a request", options: requests),
        OptionGroup(title: "Sessions, their history and their readers", options: sessions),
        OptionGroup(title: "Connections", options: connections),
        OptionGroup(title: "The process and its log", options: process),
    ]
    static let all = groups.flatMap(\.options)

    private static let addresses: [Option] = [
        .list(
            "--listen", "ADDRESS",
            "where to listen: 127.0.0.1:8080 (default), [::1]:8080, :8080, unix:/path; may be repeated",
            "is not an address such as 127.0.0.1:8080, [::1]:8080, :8080 or unix:/path"
        ) {
            guard let address = ListenAddress($1) else { return false }
            $0.listen.append(address)
            return true
        },
        .list(
            "--origin", "ORIGIN",
            "a web page's origin that may call from a browser, as https://example.org; may be repeated",
            "is not an origin as browsers write it, such as https://example.org: lower case, and no path"
        ) {
            $0.origins.insert($1)
            return CrossOrigin.isOrigin($1)
        },
        .text(
            "--tls-certificate", "FILE", "a PEM file with the server's certificate and its chain; read again on SIGHUP",
            \.certificate),
        .text("--tls-key", "FILE", "a PEM file with the certificate's key, without a passphrase", \.certificateKey),
        .text(
            "--tls-client-ca", "FILE",
            "a PEM file with the authorities of client certificates, which are then required", \.clientAuthority),
    ]

    private static let authentication: [Option] = [
        .toggle("--open", "no authentication: whoever reaches the server may do everything", \.isOpen),
        .list(
            "--key", "NAME:SHA256[:PREFIX]",
            "a writer's key by its hash, for sessions whose names start with PREFIX; may be repeated",
            "is not NAME:SHA256 or NAME:SHA256:PREFIX, with a hash of 64 hexadecimal digits; diffserver key makes one"
        ) {
            guard let key = KeyRing.Key($1) else { return false }
            $0.keys.append(key)
            return true
        }.keptSecret(),
        .text("--key-file", "FILE", "a file with such keys, one a line", \.keyFile),
        .text(
            "--token-secret", "TEXT",
            "signs thin clients' tokens, at least \(TokenSecrets.minBytes) bytes (default: made at the start); may be "
                + "repeated, or have several lines: the first signs, all are good",
            "is shorter than \(TokenSecrets.minBytes) bytes, or one too many: \(TokenSecrets.maxCount) are allowed"
        ) {
            guard let secrets = TokenSecrets.read($1.utf8) else { return false }
            $0.tokenSecrets += secrets
            return $0.tokenSecrets.count <= TokenSecrets.maxCount
        }.keptSecret(),
        .text(
            "--token-secret-file", "FILE",
            "a file with such secrets, one a line, so that ps does not show them; read again on SIGHUP",
            \.tokenSecretFile),
    ]

    private static let stores: [Option] = [
        .text(
            "--store", "ADDRESS",
            "memory (default), sqlite:PATH, redis://HOST, rediss://HOST, unix:/path, redis-sentinel://HOSTS/NAME, "
                + "redis-cluster://HOSTS",
            "is not memory, sqlite:PATH, redis://HOST, rediss://HOST, unix:/path, redis-sentinel://HOSTS/NAME or "
                + "redis-cluster://HOSTS"
        ) {
            guard let address = StoreAddress($1) else { return false }
            $0.store = address
            return true
        }.keptSecret(),
        .text(
            "--store-password-file", "FILE", "a file with the password of a Redis, so that ps does not show it",
            \.storePasswordFile),
        .text(
            "--store-ca", "FILE", "a PEM file with the authority of a Redis that speaks TLS (default: the system's)",
            \.storeAuthority),
        .text(
            "--durability", "full|relaxed",
            "when sqlite tells a writer that it has written: on the disk (full), or at most a second before",
            "is neither full nor relaxed"
        ) {
            $0.isDurable = $1 == "full"
            return $1 == "full" || $1 == "relaxed"
        },
        .text(
            "--digest-key", "TEXT",
            "keys the digests in revisions; the same on all nodes that share sessions "
                + "(default: the store's, else made at the start; a Redis Cluster wants one)",
            \.digestKey
        ).keptSecret(),
    ]

    private static let writes: [Option] = [
        .toggle("--require-if-match", "refuse writes to sessions without If-Match", \.requiresIfMatch),
        .text(
            "--lists", "FILE",
            "a JSON file of lists that come from upstream, or whose edits are asked about there; see check-lists",
            \.listsPath),
    ]

    private static let requests: [Option] = [
        .count("--rate", "requests a second of one key or token (default no limit)", \.rate),
        .count("--peer-rate", "requests a second of one IPv4 address or IPv6 /64 (default no limit)", \.peerRate),
        .bytes("--max-body", "a request's body, on the wire and inflated, at most 1 GiB", \.maxBodyBytes, 1...1 << 30),
        .count("--max-sections", "sections of a state", \.stateLimits.maxSections),
        .count("--max-items", "items of a state, children included", \.stateLimits.maxItems),
        .count("--max-nesting", "levels of items, at most 64", \.stateLimits.maxNesting, 1...64),
        .count("--max-depth", "arrays and objects around a JSON value, at most 512", \.stateLimits.maxDepth, 1...512),
        .count("--max-edits", "edits of a batch", \.stateLimits.maxEdits),
    ]

    private static let sessions: [Option] = [
        .bytes(
            "--memory", "snapshots and history of all sessions (default 512 MiB, or half of the cgroup's limit)",
            \.tableBounds.bytes),
        .count("--max-sessions", "sessions", \.tableBounds.sessions),
        .time("--ttl", "how long a session lives after its last use, at most 7 days", \.timeToLive),
        .count("--history-revisions", "past revisions of a session", \.tableBounds.history.revisions, 0...1_000_000),
        .time("--history-age", "how long a past revision is kept", \.tableBounds.history.age),
        .bytes("--history-bytes", "past revisions of a session", \.tableBounds.history.bytes),
        .count("--max-streams", "streams and held requests of one session", \.tableBounds.readers),
        .text(
            "--stream-life", "TIME",
            "how long a stream stays open before its reader has to come back (default no limit)", Option.timeFault
        ) {
            $0.streamLife = Unit.time($1)
            return Option.times.contains($0.streamLife ?? .zero)
        },
    ]

    private static let connections: [Option] = [
        .count("--max-connections", "connections at once", \.maxConnections),
        .count(
            "--peer-connections", "connections at once of one IPv4 address or IPv6 /64 (default no limit)",
            \.peerConnections),
        .bytes(
            "--max-request-line", "a request line, at most 16 MiB", \.messageLimits.maxRequestLineBytes, 1...16 << 20),
        .bytes("--max-headers", "a request's headers, at most 16 MiB", \.messageLimits.maxHeaderBytes, 1...16 << 20),
        .count("--max-fields", "a request's header fields", \.messageLimits.maxFields),
        .time("--head-timeout", "for a request's headers to arrive", \.connectionLimits.headTimeout),
        .time("--body-window", "before a body must keep up with --body-rate", \.connectionLimits.bodyWindow),
        .bytes("--body-rate", "a body, each second", \.connectionLimits.minBodyRate),
        .time("--idle-timeout", "for the next request of a connection", \.connectionLimits.idleTimeout),
        .time("--write-stall", "before a client must keep up with --write-rate", \.connectionLimits.writeStall),
        .bytes("--write-rate", "an answer, each second, that its client takes", \.connectionLimits.minWriteRate),
    ]

    private static let process: [Option] = [
        .time("--drain", "for running requests to end, when the server goes down", \.drain),
        .text(
            "--watchdog", "TIME",
            "after which a stuck event loop ends the process, with status 70; 0 for never (default 10s)",
            "is neither 0 nor a time from 100ms to 1h, such as 10s"
        ) {
            guard let time = Unit.time($1), time == .zero || time >= .milliseconds(100), time <= .seconds(3600) else {
                return false
            }
            $0.watchdog = time == .zero ? nil : time
            return true
        },
        .count("--loops", "event loops (default: one a core)", \.loops, 1...1024),
        .text(
            "--log", "text|json|none", "how the log is written, to standard error (default text)",
            "is not text, json or none"
        ) {
            guard let format = LogFormat(rawValue: $1) else { return false }
            $0.logFormat = format
            return true
        },
        .toggle("--log-requests", "one line in the log for each request", \.logsRequests),
    ]
}
