// Each option of the server once, with its flag, variable (`--max-body` is `DIFFSERVER_MAX_BODY`), unit, default and
// range. Help, errors and the environment all come from here. `Options.checked()` checks combinations of options.

import DiffService
import DiffSessions
import HTTPCore
import SnapshotKit

/// In the order of the help of `diffserver serve`.
extension Options: CommandOptions {
    package static let topic = Help.Topic.serve

    package static func variable(for flag: String) -> String? {
        "DIFFSERVER_" + flag.dropFirst(2).map { $0 == "-" ? "_" : $0.uppercased() }.joined()
    }

    package static func needsParts(_ flag: String, _ value: String) -> Bool {
        switch flag {
        case "--store": value != "memory"
        case "--durability", "--lists": true
        default: flag.hasPrefix("--store-")
        }
    }

    package static let groups = [
        OptionGroup(title: "Addresses and TLS", options: addresses),
        OptionGroup(title: "Authentication", options: authentication),
        OptionGroup(title: "Storage", options: stores),
        OptionGroup(title: "Writes and upstream lists", options: writes),
        OptionGroup(title: "Request limits", options: requests),
        OptionGroup(title: "Sessions, history and readers", options: sessions),
        OptionGroup(title: "Connections", options: connections),
        OptionGroup(title: "Process and log", options: process),
        OptionGroup(title: "Limits whose defaults suit nearly everyone", options: rare, isRare: true),
    ]

    private static let addresses: [Option<Options>] = [
        .list(
            "--listen", "ADDRESS",
            "where to listen: 127.0.0.1:8080 (default), [::1]:8080, :8080, unix:/path; may be repeated",
            "is not an address such as 127.0.0.1:8080, [::1]:8080, :8080 or unix:/path", \.server.listen
        ) { ListenAddress($0) },
        .list(
            "--origin", "ORIGIN",
            "an origin whose web pages may call this server, such as https://example.org; may be repeated",
            """
            is not an origin as browsers write it, such as https://example.org: lower case, and no path; a page opened \
            from disk has none, so serve it by --page
            """, \.origins
        ) { CrossOrigin.isOrigin($0) ? $0 : nil },
        .text("--page", "FILE", "an HTML page of your own, served at /page; read again at each request", \.pagePath),
        .text(
            "--tls-certificate", "FILE", "PEM file: the server's certificate and its chain; read again when it changes",
            \.certificate),
        .text("--tls-key", "FILE", "PEM file: the certificate's private key, without a passphrase", \.certificateKey),
        .text(
            "--tls-client-ca", "FILE",
            "PEM file: the CAs of client certificates, which are then required", \.clientAuthority),
    ]

    private static let authentication: [Option<Options>] = [
        .toggle("--open", "turn authentication off: anyone who can reach the server can do anything", \.isOpen),
        .list(
            "--key", "NAME:SHA256[:PREFIX]",
            "hash of a writer's key, good for sessions whose names start with PREFIX; may be repeated",
            KeyRing.Key.fault, \.keys
        ) { KeyRing.Key($0) }.keptSecret(),
        .text("--key-file", "FILE", "file with such keys, one per line; read again when it changes", \.keyFile),
        .text(
            "--metrics-key-file", "FILE",
            "file with keys, NAME:SHA256 in a line, that read /metrics and nothing else; read again when it changes",
            \.metricsKeyFile),
        .tokenSecret(
            "secret that signs clients' tokens, at least \(TokenSecrets.minBytes) bytes (default: random at each "
                + "start); may be repeated, or have several lines: the first signs, all verify", \.tokenSecrets),
        .text(
            "--token-secret-file", "FILE",
            "file with such secrets, one per line, so that ps does not show them; read again when it changes",
            \.tokenSecretFile),
    ]

    private static let stores: [Option<Options>] = [
        Option(
            flag: "--store", value: "ADDRESS",
            help: "memory (default), sqlite:PATH, redis://HOST, rediss://HOST, unix:/path, "
                + "redis-sentinel://HOSTS/NAME, redis-cluster://HOSTS",
            fault: "is not memory, sqlite:PATH, redis://HOST, rediss://HOST, unix:/path, redis-sentinel://HOSTS/NAME "
                + "or redis-cluster://HOSTS", isSecret: true
        ) {
            $0.store = $0.parts?.store($1)
            return $0.store != nil || $1 == "memory"
        },
        .text(
            "--store-password-file", "FILE",
            "file with the password of Redis, so that ps does not show it; read at each connection",
            \.storePasswordFile),
        .text(
            "--store-ca", "FILE", "PEM file: the CA of a Redis reached over TLS (default: the system's CAs)",
            \.storeAuthority),
        .count(
            "--store-replicas",
            "replicas of Redis, up to 16, that must have a write within a second; otherwise the answer is 503, "
                + "and the write may stand", \.storeReplicas, 0...16),
        .optional(
            "--store-prefix", "TEXT",
            "what the names of all keys and channels in Redis begin with (default diffserver:)",
            "is not 1 to 64 letters, digits and ._:-", \.storePrefix
        ) {
            let isPrefix = $0.utf8.allSatisfy { SessionName.isOfName($0) && $0 != UInt8(ascii: "~") }
            return isPrefix && (1...64).contains($0.utf8.count) ? $0 : nil
        },
        .optional(
            "--store-max-size", "BYTES",
            "size of the SQLite file, from 1 MiB; beyond it writes get 503 (default no limit)",
            "is not an amount from 1 MiB to 1024 GiB, such as 2GiB", \.storeMaxSize
        ) { Unit.bytes($0).flatMap { (1 << 20...1 << 40).contains($0) ? $0 : nil } },
        .value(
            "--durability", "full|relaxed",
            "when SQLite acknowledges a write: on disk (full, the default), or up to a second earlier (relaxed)",
            "is neither full nor relaxed", \.isDurable
        ) { ["full": true, "relaxed": false][$0] },
        .text(
            "--digest-key", "TEXT",
            "key of the digests in revisions; must be the same on all nodes that share sessions "
                + "(required with Redis; default: the database's, else random at each start)", \.digestKey
        ).keptSecret(),
    ]

    private static let writes: [Option<Options>] = [
        .toggle("--require-if-match", "require If-Match on every write to a session", \.service.requiresIfMatch),
        .text(
            "--lists", "FILE",
            "JSON file of lists that are fetched from upstream or whose edits a webhook approves; see check-lists",
            \.listsPath),
    ]

    private static let requests: [Option<Options>] = [
        .count("--rate", "requests per second per key or token (default no limit)", \.service.rate),
        .count(
            "--peer-rate", "requests per second per IPv4 address or IPv6 /64 (default no limit)", \.service.peerRate),
        .bytes(
            "--max-body", "size of a request's body, compressed or not, at most 1 GiB", \.service.maxBodyBytes,
            1...1 << 30),
        .count("--max-sections", "sections in a state", \.service.stateLimits.maxSections),
        .count("--max-items", "items in a state, including children", \.service.stateLimits.maxItems),
    ]

    private static let sessions: [Option<Options>] = [
        .bytes(
            "--memory",
            "memory for all sessions and their history (default 512 MiB, or half of the cgroup's limit if less)",
            \.tableBounds.bytes),
        .count("--max-sessions", "sessions", \.tableBounds.sessions),
        .time("--ttl", "how long a session lives after its last use, at most 7 days", \.service.timeToLive),
        .count(
            "--history-revisions", "past revisions kept per session", \.tableBounds.history.revisions, 0...1_000_000),
        .time("--history-age", "how long a past revision is kept", \.tableBounds.history.age),
        .bytes("--history-bytes", "memory for past revisions per session", \.tableBounds.history.bytes),
        .count("--max-streams", "streams and held requests per session", \.tableBounds.readers),
        .time(
            "--stream-life", "how long a stream stays open before its reader must reconnect (default no limit)",
            \.service.streamLife),
    ]

    private static let connections: [Option<Options>] = [
        .count("--max-connections", "concurrent connections", \.server.maxConnections),
        .count(
            "--peer-connections", "concurrent connections per IPv4 address or IPv6 /64 (default no limit)",
            \.server.maxPeerConnections),
    ]

    package static let configFlag = "--config"

    private static let process: [Option<Options>] = [
        .text(
            configFlag, "FILE",
            "JSON file of these options, such as {\"maxBody\": \"8MiB\"}; the command line and variables win over it",
            \.configPath),
        .toggle(
            "--check", "check the options, the files that they name and the store, without serving; then exit",
            \.checksOnly),
        .time(
            "--drain-delay",
            "how long the server keeps serving after SIGTERM while /readyz fails, so that balancers notice; at most 1h",
            \.drainDelay, .zero ... .seconds(3600)),
        .time(
            "--drain", "time for requests and streams to end after that; streams end evenly over up to half of it",
            \.drain),
        .choice("--log", "format of the log on standard error (default text)", \.logFormat),
        .toggle("--log-requests", "log one line per request", \.logsRequests),
        .optional(
            "--log-slow", "MS",
            "log each request that takes longer than MS milliseconds, and where they went (default none)",
            "is not a whole number of milliseconds from 1 to 3600000", \.slow
        ) { Int($0).flatMap { (1...3_600_000).contains($0) ? $0 : nil } },
    ]

    /// Options that a file of `--config` changes in a running server.
    static let switchable: Set = ["--log-requests", "--log-slow"]

    private static let rare: [Option<Options>] = [
        .count("--max-nesting", "levels of nested items, at most 64", \.service.stateLimits.maxNesting, 1...64),
        .count(
            "--max-depth", "levels of nested JSON arrays and objects, at most 512", \.service.stateLimits.maxDepth,
            1...512),
        .count("--max-edits", "edits in a batch", \.service.stateLimits.maxEdits),
        .bytes("--max-text", "length of a text that edits append to", \.service.stateLimits.maxTextBytes),
        .bytes(
            "--max-request-line", "length of a request line, at most 256 KiB",
            \.server.messageLimits.maxRequestLineBytes, 1...MessageLimits.largest),
        .bytes(
            "--max-headers", "size of a request's headers, at most 256 KiB", \.server.messageLimits.maxHeaderBytes,
            1...MessageLimits.largest),
        .count("--max-fields", "header fields in a request", \.server.messageLimits.maxFields),
        .time("--head-timeout", "time for a request's headers to arrive", \.server.connectionLimits.headTimeout),
        .time(
            "--body-window", "time before a body must keep up with --body-rate", \.server.connectionLimits.bodyWindow),
        .bytes(
            "--body-rate", "minimum rate at which a body must arrive, per second",
            \.server.connectionLimits.minBodyRate),
        .time("--idle-timeout", "how long an idle connection stays open", \.server.connectionLimits.idleTimeout),
        .time(
            "--write-stall", "time before a client must keep up with --write-rate",
            \.server.connectionLimits.writeStall),
        .bytes(
            "--write-rate", "minimum rate at which a client must read an answer, per second",
            \.server.connectionLimits.minWriteRate),
        Option(
            flag: "--watchdog", value: "TIME",
            help: "exit with status 70 when an event loop is stuck for this long; 0 for never (default 10s)",
            fault: "is neither 0 nor a time from 100ms to 1h, such as 10s"
        ) {
            guard let time = Unit.time($1), time == .zero || time >= .milliseconds(100), time <= .seconds(3600) else {
                return false
            }
            $0.watchdog = time == .zero ? nil : time
            return true
        },
        .count("--loops", "event loops (default: one per core)", \.server.loops, 1...1024),
        .choice(
            "--event-loop",
            "how event loops wait for sockets (default \(Polling.preferred.rawValue)); dispatch costs more per request",
            \.server.polling),
    ]
}
