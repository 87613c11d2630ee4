// Every option once: its flag, its place in the environment (`--max-body` is `DIFFSERVER_MAX_BODY`), its unit, its
// default, its range, and how it is read. Help, errors and the environment all come from here. A range ends where a
// value could no longer work, far below where a sum of it would overflow; what only makes sense together with another
// option is checked by `Options.checked()`.

import HTTPCore
import SnapshotKit

/// One option.
struct Option: Sendable {
    let flag: String
    /// What stands for the value in help; nil for a switch.
    let value: String?
    let help: String
    /// Whether a value may hold what nobody else should read: no message repeats it then.
    var isSecret = false
    /// Sets it from its text; false if the text is of no use.
    let set: @Sendable (inout Options, String) -> Bool

    var variable: String {
        "DIFFSERVER_" + flag.dropFirst(2).map { $0 == "-" ? "_" : $0.uppercased() }.joined()
    }

    /// Sets it from a text that was given as `name`, its flag or its variable.
    func read(_ text: String, from name: String, into options: inout Options) throws(UsageError) {
        guard !set(&options, text) else { return }
        throw UsageError(isSecret || text.isEmpty ? "\(name): \(help)" : "\(name) \(text): \(help)")
    }

    fileprivate func keptSecret() -> Option {
        var option = self
        option.isSecret = true
        return option
    }
}

/// All options of `diffserver serve`, in the order of its help.
enum OptionTable {
    static let all: [Option] = places + limits + sessions + connections + observing

    private static let places: [Option] = [
        list(
            "--listen", "ADDRESS",
            "where to listen: 127.0.0.1:8080 (default), [::1]:8080, :8080, unix:/path; may be repeated"
        ) {
            guard let address = ListenAddress($1) else { return false }
            $0.listen.append(address)
            return true
        },
        list(
            "--key", "NAME:SHA256[:PREFIX]",
            "a writer's key by its hash, for sessions whose names start with PREFIX; may be repeated"
        ) {
            guard let key = KeyRing.Key($1) else { return false }
            $0.keys.append(key)
            return true
        }.keptSecret(),
        text("--key-file", "FILE", "a file with such keys, one a line", \.keyFile),
        toggle("--open", "no authentication: whoever reaches the server may do everything", \.isOpen),
        text(
            "--token-secret", "TEXT",
            "signs thin clients' tokens, at least \(TokenSecrets.minBytes) bytes (default: made at the start); may be "
                + "repeated, or have several lines: the first signs, all are good"
        ) {
            guard let secrets = TokenSecrets.read($1.utf8) else { return false }
            $0.tokenSecrets += secrets
            return $0.tokenSecrets.count <= TokenSecrets.maxCount
        }.keptSecret(),
        text(
            "--token-secret-file", "FILE",
            "a file with such secrets, one a line, so that ps does not show them; read again on SIGHUP",
            \.tokenSecretFile),
        text(
            "--digest-key", "TEXT",
            "keys the digests in revisions; the same on all nodes that share sessions "
                + "(default: the store's, else made at the start; a Redis Cluster wants one)",
            \.digestKey
        ).keptSecret(),
        text(
            "--store", "ADDRESS",
            "where sessions live: memory (default), sqlite:PATH, redis://HOST, rediss://HOST, unix:/path, "
                + "redis-sentinel://HOSTS/NAME, redis-cluster://HOSTS"
        ) {
            guard let address = StoreAddress($1) else { return false }
            $0.store = address
            return true
        }.keptSecret(),
        text(
            "--store-password-file", "FILE", "a file with the password of a Redis, so that ps does not show it",
            \.storePasswordFile),
        text(
            "--store-ca", "FILE", "a PEM file with the authority of a Redis that speaks TLS (default: the system's)",
            \.storeAuthority),
        text(
            "--durability", "full|relaxed",
            "when sqlite tells a writer that it has written: on the disk (full), or at most a second before"
        ) {
            $0.isDurable = $1 == "full"
            return $1 == "full" || $1 == "relaxed"
        },
        list(
            "--origin", "ORIGIN",
            "a web page's origin that may call from a browser, as https://example.org; may be repeated"
        ) {
            $0.origins.insert($1)
            return CrossOrigin.isOrigin($1)
        },
        text(
            "--tls-certificate", "FILE", "a PEM file with the server's certificate and its chain; read again on SIGHUP",
            \.certificate),
        text("--tls-key", "FILE", "a PEM file with the certificate's key, without a passphrase", \.certificateKey),
        text(
            "--tls-client-ca", "FILE",
            "a PEM file with the authorities of client certificates, which are then required", \.clientAuthority),
        toggle("--require-if-match", "refuse writes to sessions without If-Match", \.requiresIfMatch),
        text(
            "--lists", "FILE",
            "a JSON file of lists that come from upstream, or whose edits are asked about there; see check-lists",
            \.listsPath),
    ]

    private static let limits: [Option] = [
        count("--rate", "requests a second of one key or token (default no limit)", \.rate),
        count("--peer-rate", "requests a second of one IPv4 address or IPv6 /64 (default no limit)", \.peerRate),
        bytes("--max-body", "a request's body, on the wire and inflated, at most 1 GiB", \.maxBodyBytes, 1...1 << 30),
        count("--max-sections", "sections of a state", \.stateLimits.maxSections),
        count("--max-items", "items of a state, children included", \.stateLimits.maxItems),
        count("--max-nesting", "levels of items, at most 64", \.stateLimits.maxNesting, 1...64),
        count("--max-depth", "arrays and objects around a JSON value, at most 512", \.stateLimits.maxDepth, 1...512),
        count("--max-edits", "edits of a batch", \.stateLimits.maxEdits),
    ]

    private static let sessions: [Option] = [
        bytes(
            "--memory", "snapshots and history of all sessions (default 512 MiB, or half of the cgroup's limit)",
            \.tableBounds.bytes),
        count("--max-sessions", "sessions", \.tableBounds.sessions),
        count("--max-streams", "streams and held requests of one session", \.tableBounds.readers),
        text(
            "--stream-life", "TIME",
            "how long a stream stays open before its reader has to come back (default no limit)"
        ) {
            $0.streamLife = Unit.time($1)
            return times.contains($0.streamLife ?? .zero)
        },
        count("--history-revisions", "past revisions of a session", \.tableBounds.history.revisions, 0...1_000_000),
        time("--history-age", "how long a past revision is kept", \.tableBounds.history.age),
        bytes("--history-bytes", "past revisions of a session", \.tableBounds.history.bytes),
        time("--ttl", "how long a session lives after its last use, at most 7 days", \.timeToLive),
    ]

    private static let connections: [Option] = [
        count("--max-connections", "connections at once", \.maxConnections),
        count(
            "--peer-connections", "connections at once of one IPv4 address or IPv6 /64 (default no limit)",
            \.peerConnections),
        bytes(
            "--max-request-line", "a request line, at most 16 MiB", \.messageLimits.maxRequestLineBytes, 1...16 << 20),
        bytes("--max-headers", "a request's headers, at most 16 MiB", \.messageLimits.maxHeaderBytes, 1...16 << 20),
        count("--max-fields", "a request's header fields", \.messageLimits.maxFields),
        time("--head-timeout", "for a request's headers to arrive", \.connectionLimits.headTimeout),
        time("--body-window", "before a body must keep up with --body-rate", \.connectionLimits.bodyWindow),
        bytes("--body-rate", "a body, each second", \.connectionLimits.minBodyRate),
        time("--idle-timeout", "for the next request of a connection", \.connectionLimits.idleTimeout),
        time("--write-stall", "before a client must keep up with --write-rate", \.connectionLimits.writeStall),
        bytes("--write-rate", "an answer, each second, that its client takes", \.connectionLimits.minWriteRate),
        time("--drain", "for running requests to end, when the server goes down", \.drain),
        text(
            "--watchdog", "TIME",
            "after which a stuck event loop ends the process, with status 70; 0 for never (default 10s)"
        ) {
            guard let time = Unit.time($1), time == .zero || time >= .milliseconds(100), time <= .seconds(3600) else {
                return false
            }
            $0.watchdog = time == .zero ? nil : time
            return true
        },
        count("--loops", "event loops (default: one a core)", \.loops, 1...1024),
    ]

    private static let observing: [Option] = [
        text("--log", "text|json|none", "how the log is written, to standard error (default text)") {
            guard let format = LogFormat(rawValue: $1) else { return false }
            $0.logFormat = format
            return true
        },
        toggle("--log-requests", "one line in the log for each request", \.logsRequests),
    ]

    // MARK: Ranges

    private static let counts = 1...1_000_000_000
    /// Up to 1 TiB: no machine that this runs on has more, and sums of some such amounts stay far from overflowing.
    private static let sizes = 1...1 << 40
    /// Up to what a session may live.
    private static let times = Duration.nanoseconds(1)...Duration.seconds(Options.maxTimeToLive)

    // MARK: Kinds of options

    private static func text(
        _ flag: String, _ value: String, _ help: String, _ set: @escaping @Sendable (inout Options, String) -> Bool
    ) -> Option {
        Option(flag: flag, value: value, help: help, set: set)
    }

    /// One that is any text but an empty one.
    private static func text(
        _ flag: String, _ value: String, _ help: String, _ path: WritableKeyPath<Options, String?> & Sendable
    ) -> Option {
        Option(flag: flag, value: value, help: help) { options, text in
            options[keyPath: path] = text
            return !text.isEmpty
        }
    }

    private static func toggle(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Bool> & Sendable
    ) -> Option {
        Option(flag: flag, value: nil, help: help) { options, text in
            options[keyPath: path] = text == "true"
            return text == "true" || text == "false"
        }
    }

    /// One that may be repeated; in the environment the values are separated by commas.
    private static func list(
        _ flag: String, _ value: String, _ help: String, _ add: @escaping @Sendable (inout Options, String) -> Bool
    ) -> Option {
        Option(flag: flag, value: value, help: help) { options, text in
            text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { add(&options, $0.trimmed) }
        }
    }

    private static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        Option(flag: flag, value: "COUNT", help: help + " (default \(Options()[keyPath: path]))") { options, text in
            guard let count = Int(text), range.contains(count) else { return false }
            options[keyPath: path] = count
            return true
        }
    }

    /// One without a default; its help says what that means.
    private static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int?> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        Option(flag: flag, value: "COUNT", help: help) { options, text in
            options[keyPath: path] = Int(text)
            return range.contains(options[keyPath: path] ?? 0)
        }
    }

    private static func bytes(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = sizes
    ) -> Option {
        let standard = help.contains("default") ? "" : " (default \(Unit.bytes(Options()[keyPath: path])))"
        return Option(flag: flag, value: "BYTES", help: help + standard) { options, text in
            guard let bytes = Unit.bytes(text), range.contains(bytes) else { return false }
            options[keyPath: path] = bytes
            return true
        }
    }

    private static func time(_ flag: String, _ help: String, _ path: WritableKeyPath<Options, Duration> & Sendable)
        -> Option
    {
        Option(flag: flag, value: "TIME", help: help + " (default \(Unit.time(Options()[keyPath: path])))") {
            options, text in
            guard let time = Unit.time(text), times.contains(time) else { return false }
            options[keyPath: path] = time
            return true
        }
    }
}

/// Amounts as people write them.
enum Unit {
    private static let sizes = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    private static let times = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]

    /// `16MiB`, `16 MiB`, or bytes.
    static func bytes(_ text: String) -> Int? {
        for (unit, size) in sizes where text.hasSuffix(unit) {
            let (bytes, overflows) = (Int(text.dropLast(3).trimmed) ?? -1).multipliedReportingOverflow(by: size)
            return overflows || bytes < 0 ? nil : bytes
        }
        return Int(text)
    }

    static func bytes(_ count: Int) -> String {
        for (unit, size) in sizes where count >= size && count % size == 0 { return "\(count / size) \(unit)" }
        return "\(count)"
    }

    /// `500ms`, `10s`, `5m`, `1h`, `7d`, or seconds.
    static func time(_ text: String) -> Duration? {
        if let seconds = Int(text) { return seconds < 1 << 40 ? .seconds(seconds) : nil }
        for (unit, size) in times where text.hasSuffix(unit) {
            if let count = Int(text.dropLast(unit.count)), count >= 0, count < 1 << 30 {
                return .milliseconds(count * size)
            }
        }
        return nil
    }

    static func time(_ time: Duration) -> String {
        let milliseconds =
            Int(time.components.seconds) * 1000 + Int(time.components.attoseconds / 1_000_000_000_000_000)
        for (unit, size) in times.reversed() where milliseconds >= size && milliseconds % size == 0 {
            return "\(milliseconds / size)\(unit)"
        }
        return "0s"
    }
}
