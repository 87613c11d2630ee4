import CDiffSystem
import DiffService
import DiffStores
import HTTPCore

/// `diffserver serve`: from options to a running server, and to its end.
package enum Serve {
    /// Runs until a signal ends the process. Calls `ready` once the server can be reached, with the key made for it.
    package static func run(
        _ options: Options, ready: (_ addresses: [SocketAddress], _ key: String?) -> Void = { _, _ in }
    ) -> Never {
        var options = options
        Descriptors.raiseLimit()
        if options.server.listen.isEmpty { options.server.listen = ListenAddress.activated() }
        if options.server.listen.isEmpty { options.server.listen = [.tcp(host: "127.0.0.1", port: 8080)] }
        let journal = Journal(format: options.logFormat, logsRequests: options.logsRequests, slow: options.slow)
        // Before any thread starts: threads inherit the mask, and an early signal stays pending.
        let signals = Signals([SIGTERM, SIGINT, SIGHUP])
        for warning in options.warnings { journal.log(warning, level: "warning") }
        options.serverOptions.limitAllocator()
        let workers = Workers(count: options.serverOptions.loops)
        let (store, storeLoops): OpenStore
        do throws(StoreError) { (store, storeLoops) = try options.openStore(journal, workers) } catch {
            fail("\(error)", journal)
        }
        let (access, key) = access(options, journal)
        let service = DiffService(
            settings: options.service, store: store, access: access, journal: journal,
            workers: workers, figures: { ProcessFigures().write(into: &$0) })
        var upstream: RunningLists?
        if let lists = options.lists {
            if let fault = lists.fault { fail("--lists \(fault)", journal) }
            do throws(ListenError) { upstream = try lists.start(for: service, polling: options.server.polling) } catch {
                fail("\(error)", journal)
            }
        }
        var serverOptions = options.serverOptions
        let account = store.table.account
        (serverOptions.incoming, serverOptions.outgoing) = (account.incoming, account.outgoing)
        serverOptions.openConnections = account.connections
        // Not by the table itself: that would take a weak reference, which makes counting its references slow.
        account.onGrowth { [table = store.table] in table.makeRoom() }
        let server = Server(options: serverOptions, service: service, workers: workers)
        service.run(in: server)
        let scheme = options.certificate == nil ? "http" : "https"
        // Before the next line: its reader may move the file at once.
        let log = LogFile(descriptor: STDERR_FILENO)
        do throws(ListenError) {
            let addresses = try server.start()
            for address in addresses { journal.log("diffserver \(Version.text) listens on \(scheme)://\(address)") }
            ready(addresses, key)
        } catch {
            let advice = "; stop the program that listens there, or choose another --listen"
            fail("\(error)\(error.isAddressTaken ? advice : "")", journal)
        }
        let limit = server.counters.connectionLimit
        if limit < options.server.maxConnections / 2 {
            let reason =
                limit < serverOptions.maxConnections
                ? "the file descriptor limit (ulimit -n) is \(Descriptors.limit)"
                : "more could take over three quarters of --memory"
            journal.log("connections capped at \(limit): \(reason)")
        }
        Housekeeping.start(service, server, log)
        if let limit = options.watchdog {
            watch(server.loops + storeLoops + (upstream.map { [$0.loop] } ?? []), limit, journal)
        }
        let reloadables = reloadables(server, service, upstream, options)
        let signal = wait(for: signals, reloading: reloadables, service)
        Shutdown(server, service, delay: options.drainDelay, drain: options.drain).run(after: signal, signals) {
            reload(reloadables, service)
        }
    }

    /// Waits for a signal that ends the process, and meanwhile reads again what has changed.
    private static func wait(for signals: Signals, reloading all: [Reloadable], _ service: DiffService) -> Int32 {
        var interval = lookInterval
        while true {
            switch signals.wait(until: .now + interval) {
            case SIGHUP:
                if all.isEmpty { service.journal.log("nothing to reload: no option names a file that is read again") }
                for each in all { each.fault = nil }
                reload(all, service)
            case nil:
                let looks = all.map { $0.look() }
                reload(zip(all, looks).filter { $1 == .due }.map(\.0), service)
                interval = looks.contains(.changing) ? settlingTime : lookInterval
            case let signal?: return signal
            }
        }
    }

    /// The exit status when a loop is stuck (`EX_SOFTWARE` of sysexits(3)).
    static let stuckStatus: Int32 = 70

    /// Ends the process when a loop is stuck, so that its supervisor restarts it.
    private static func watch(_ loops: [EventLoop], _ limit: Duration, _ journal: Journal) {
        Watchdog(loops, limit: limit).start { findings in
            for finding in findings {
                let request = finding.request.map { "\($0.method.name) \($0.instance)" }
                journal.log(
                    "event loop \(finding.loop) stuck for \(finding.time / .seconds(1)) s; exiting with status 70",
                    level: "error", [("request", .text(request ?? "none"))])
            }
            end(stuckStatus)
        }
    }

    // MARK: Reading again

    private static let lookInterval = Duration.seconds(10)
    /// How long a changed file must stay the same before it is read: it may be half written.
    private static let settlingTime = Duration.seconds(1)

    /// Something that is read again on SIGHUP, and when its files have changed. One with a fault leaves the old in use,
    /// and is tried until it is mended.
    private final class Reloadable {
        /// Its name in the log, in the plural.
        let name: String
        private let files: () -> [String]
        /// Of its files when they were read.
        private var stamps: [String: FileStamp] = [:]
        /// Of its files at the last look.
        private var seen: [String: FileStamp] = [:]
        /// Why it could not be read; nil if it was.
        var fault: String?
        /// Reads it, and replaces the old one. Returns how much was read, in words; nil if there is nothing to count.
        let read: (_ warnings: inout [String]) throws(UsageError) -> String?

        /// Nil without a path. Other files may belong to it.
        init?(
            _ name: String, _ path: String?, and others: @escaping () -> [String] = { [] },
            _ read: @escaping (_ path: String, _ warnings: inout [String]) throws(UsageError) -> String?
        ) {
            guard let path else { return nil }
            (self.name, files) = (name, { [path] + others() })
            self.read = { (warnings) throws(UsageError) in try read(path, &warnings) }
            note()
        }

        /// Notes the files as they are, or only those that were not known before.
        func note(onlyNew: Bool = false) {
            for path in files() where !onlyNew || stamps[path] == nil { stamps[path] = FileStamp(path) }
        }

        enum Look { case unchanged, changing, due }

        /// Whether to read again: the last read failed, or a file has changed since and has settled. Nothing counts as
        /// changed while one is gone: it may be about to be replaced.
        func look() -> Look {
            let now = files().map { ($0, FileStamp($0)) }
            let before = seen
            seen = Dictionary(now.compactMap { path, stamp in stamp.map { (path, $0) } }) { $1 }
            let hasChanged = now.allSatisfy { $1 != nil } && now.contains { stamps[$0] != $1 }
            guard hasChanged || fault != nil else { return .unchanged }
            return before == seen ? .due : .changing
        }
    }

    /// Each by itself, so that a bad file does not prevent reading the others.
    private static func reload(_ all: [Reloadable], _ service: DiffService) {
        let journal = service.journal
        var isWhole = true
        for each in all {
            each.note()
            var warnings: [String] = []
            do throws(UsageError) {
                let amount = try each.read(&warnings)
                for warning in warnings { journal.log(warning, level: "warning") }
                journal.log("\(each.name) reloaded\(amount.map { " (\($0))" } ?? "")")
                each.fault = nil
                // Other files may belong to it now.
                each.note(onlyNew: true)
            } catch {
                isWhole = false
                guard each.fault != error.message else { continue }
                each.fault = error.message
                journal.log("\(each.name) not reloaded, old ones stay in use: \(error.message)", level: "error")
            }
        }
        if !all.isEmpty { service.metrics.reloaded(isWhole) }
    }

    private static func reloadables(
        _ server: Server, _ service: DiffService, _ upstream: RunningLists?, _ options: Options
    ) -> [Reloadable] {
        let all = [
            Reloadable("configuration", options.configPath) { (path, _) throws(UsageError) in
                let file = try ConfigurationFile(path)
                var scratch = Options()
                scratch.parts = options.parts
                _ = try scratch.read([], { _ in nil }, file)
                service.journal.change(
                    logsRequests: (options.given.contains("--log-requests") ? options : scratch).logsRequests,
                    slow: (options.given.contains("--log-slow") ? options : scratch).slow)
                let names = options.configuration.map(file.differences) ?? []
                return names.isEmpty ? nil : "a restart is needed for \(names.joined(separator: ", "))"
            },
            Reloadable(
                "certificates", options.certificate,
                and: { [options.certificateKey, options.clientAuthority].compactMap(\.self) }
            ) { (_, _) throws(UsageError) in
                do throws(ListenError) { try server.reloadCertificates() } catch { throw UsageError("\(error)") }
                return nil
            },
            Reloadable("lists", options.listsPath, and: { upstream?.secretFiles() ?? [] }) {
                (path, _) throws(UsageError) in Self.count(try upstream?.replace(path) ?? 0, "list")
            },
            Reloadable("keys", options.keyFile) { (path, warnings) throws(UsageError) in
                let (ring, keys) = (service.access.keys, try Options.keys(in: path, warnings: &warnings))
                ring.replace(by: options.keys + keys + ring.all.filter(\.isForMetrics))
                return Self.count(keys.count, "key")
            },
            Reloadable("metrics keys", options.metricsKeyFile) { (path, warnings) throws(UsageError) in
                let (ring, keys) = (
                    service.access.keys, try Options.keys(in: path, forMetrics: true, warnings: &warnings)
                )
                ring.replace(by: ring.all.filter { !$0.isForMetrics } + keys)
                return Self.count(keys.count, "key")
            },
            Reloadable("token secrets", options.tokenSecretFile) { (path, warnings) throws(UsageError) in
                let secrets = try Options.tokenSecrets(in: path, warnings: &warnings)
                service.access.secrets.replace(by: secrets)
                return Self.count(secrets.count, "secret")
            },
        ]
        return all.compactMap(\.self)
    }

    package static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// Who may do what, and the key that is made where none is configured and others reach the server.
    private static func access(_ options: Options, _ journal: Journal) -> (Authenticator, key: String?) {
        var made: String?
        let isLocal = options.server.listen.allSatisfy(\.isLoopback)
        var keys = options.allKeys
        if options.isOpen {
            journal.log(
                "--open: authentication is off; anyone who can reach this server, "
                    + "even through a proxy or from a web page, can do anything", level: "warning")
        } else if keys.isEmpty, isLocal {
            journal.log(
                "no key is configured: the server is open to this machine and closed to all others; "
                    + "behind any proxy, configure a key (--key)", level: "warning")
        } else if keys.isEmpty {
            let secret = KeyRing.newSecret()
            keys.append(KeyRing.Key(name: "start", secret: secret))
            made = secret
            // A key is only ever shown here, since nobody could use the server otherwise.
            journal.insist("no key is configured; until the process ends, use this one: \(secret)", level: "warning")
        }
        let secrets = options.tokenSecrets.isEmpty ? [Digests.random(TokenSecrets.minBytes)] : options.tokenSecrets
        let authenticator = Authenticator(
            keys: KeyRing(keys: keys + options.metricsKeys), isLocal: isLocal, isOpen: options.isOpen,
            secrets: TokenSecrets(secrets), origins: Set(options.origins))
        return (authenticator, made)
    }
}

/// Ends the process, whose options have been read, with one line of its log.
private func fail(_ message: String, _ journal: Journal) -> Never {
    journal.insist("diffserver: \(message)", level: "error")
    end(1)
}

extension ListenAddress {
    var isLoopback: Bool {
        switch self {
        case .unix: true
        case .inherited: false
        case .tcp(let host, _): Authenticator.isLoopback(host: host.contains(":") ? "[\(host)]" : host) && !host.isEmpty
        }
    }
}

/// Signals that are taken one by one instead of interrupting a thread.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals in this thread and those that it starts.
    init(_ numbers: [Int32]) {
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the next one; nil if none comes in time.
    func wait(until deadline: Instant) -> Int32? {
        var set = set
        while true {
            let left = max(.zero, deadline - .now)
            var time = timespec(
                tv_sec: Int(left.components.seconds), tv_nsec: Int(left.components.attoseconds / 1_000_000_000))
            let number = sigtimedwait(&set, nil, &time)
            if number > 0 { return number }
            if errno != EINTR { return nil }
        }
    }
}
