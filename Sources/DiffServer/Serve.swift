import Glibc
import HTTPCore

/// `diffserver serve`: from options to a running server, and down again.
enum Serve {
    /// Runs until a signal says to stop. Returns the process's exit status.
    static func run(_ options: Options) -> Never {
        var options = options
        Descriptors.raiseLimit()
        if options.listen.isEmpty { options.listen = ListenAddress.activated() }
        if options.listen.isEmpty { options.listen = [.tcp(host: "127.0.0.1", port: 8080)] }
        let journal = Journal(format: options.logFormat, logsRequests: options.logsRequests)
        // Before any other thread exists: all inherit the mask, so that a signal waits until it is asked for, however early it comes.
        let signals = Signals([SIGTERM, SIGINT, SIGHUP])
        for warning in options.warnings { journal.log(warning, level: "warning") }
        let messages = MessageMemory(memory: options.tableBounds.bytes, maxBody: options.maxBodyBytes)
        let store = store(options, messages, journal)
        let service = DiffService(
            options: options, store: store, messages: messages, access: access(options, journal), journal: journal)
        var serverOptions = options.serverOptions
        (serverOptions.incoming, serverOptions.outgoing) = (messages.incoming, messages.outgoing)
        let server = Server(options: serverOptions, service: service, workers: service.workers)
        service.run(in: server)
        messages.count { server.counters.openConnections }
        let scheme = options.certificate == nil ? "http" : "https"
        do throws(ListenError) {
            for address in try server.start() {
                journal.log("diffserver \(Version.text) listens on \(scheme)://\(address)")
            }
        } catch {
            fail("\(error)")
        }
        let limit = server.counters.connectionLimit
        if limit < options.maxConnections {
            journal.log("connections are capped at \(limit), since the limit of descriptors is \(Descriptors.limit)", level: "warning")
        }
        let housekeeping = Housekeeping(service, server, options)
        housekeeping.start()
        while true {
            if signals.wait() == SIGHUP { reload(server, journal) } else { stop(server, service) }
        }
    }

    private static func reload(_ server: Server, _ journal: Journal) {
        do throws(ListenError) {
            try server.reloadCertificates()
            journal.log("certificates are read again")
        } catch { journal.log("certificates stay as they were: \(error)", level: "error") }
    }

    /// Not ready, then no new connections, then what runs may end, then exit.
    private static func stop(_ server: Server, _ service: DiffService) {
        guard service.lifecycle.isReady else { return }
        service.journal.log("draining")
        service.lifecycle.drain()
        service.table.endReaders(because: Problem(.draining, "the server is going down"))
        server.drain(within: service.options.drain) {
            service.store.close()
            // At once: other threads still run, and what `exit` takes apart they may be using.
            _exit(0)
        }
    }

    private static func store(_ options: Options, _ messages: MessageMemory, _ journal: Journal) -> any SessionStore {
        let table = SessionTable(bounds: options.tableBounds, messages: messages, isCache: options.store != .memory)
        do throws(StoreError) {
            return try options.store.open(table: table, options: options, journal: journal)
        } catch { fail("\(error)") }
    }

    private static func access(_ options: Options, _ journal: Journal) -> Guard {
        let isLocal = options.listen.allSatisfy(\.isLoopback)
        var ring = KeyRing(keys: options.keys)
        if options.isOpen {
            journal.log(
                "--open: there is no authentication; whoever reaches this server, "
                    + "be it through a proxy or from a web page, may do everything", level: "warning")
        } else if ring.keys.isEmpty {
            if isLocal {
                journal.log(
                    "no key is configured: all is open to this machine, and to nobody else; "
                        + "behind a proxy of any kind configure one (--key)", level: "warning")
            } else {
                let secret = KeyRing.newSecret()
                ring.keys.append(KeyRing.Key(name: "start", secret: secret))
                // The only time that a key is shown: nobody could use the server otherwise.
                Files.write(Array("no key is configured; this one is good until the process ends: \(secret)\n".utf8), to: 2)
            }
        }
        let secret = options.tokenSecret.isEmpty ? Digests.random(32) : options.tokenSecret
        return Guard(
            keys: ring, isLocal: isLocal, isOpen: options.isOpen, tokenSecret: secret, origins: options.origins)
    }
}

/// Ends the process with one clear line.
func fail(_ message: String, status: Int32 = 1) -> Never {
    Files.write(Array("diffserver: \(message)\n".utf8), to: 2)
    exit(status)
}

extension ListenAddress {
    /// Whether only this machine can reach the address.
    var isLoopback: Bool {
        switch self {
        case .unix: true
        case .inherited: false
        case .tcp(let host, _): Guard.isLoopback(host: host.contains(":") ? "[\(host)]" : host) && !host.isEmpty
        }
    }
}

/// Signals that are taken one by one, in place of interrupting somebody.
struct Signals {
    private var set = sigset_t()

    /// Blocks the signals in this thread and in all that it starts.
    init(_ numbers: [Int32]) {
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for the next one.
    func wait() -> Int32 {
        var (set, number) = (set, Int32(0))
        sigwait(&set, &number)
        return number
    }
}
