import CDiffSystem
import Dispatch
import Synchronization

@testable import HTTPCore

/// A service whose paths cover each way through the server, and which records its calls.
final class TestService: Service {
    let exchanges = Locked<[ExchangeSummary]>([])
    let streamsClosed = Atomic<Int>(0)
    let pendings = Locked<[Pending]>([])
    let gone = Atomic<Int>(0)
    let shared = Locked<SharedBody?>(nil)
    /// `/stuck` signals `isStuck` when it blocks its loop, and waits for `goOn`.
    let isStuck = DispatchSemaphore(value: 0)
    let goOn = DispatchSemaphore(value: 0)

    func admit(_ head: RequestHead, from peer: Peer, on loop: EventLoop, noting note: inout ExchangeNote) -> Admission {
        if head.isServerWide { return .answer(Response(status: 204, fields: [Field("Allow", "GET")])) }
        switch head.path.first {
        case "echo": return .read(maxBytes: 100_000) { body, _ in .now(Self.answer(body)) }
        case "unread": return .answer(Response(status: 403, text: "no"))
        case "held": return .read(maxBytes: 0) { [self] _, _ in .later { self.hold($0) } }
        case "stuck":
            return .read(maxBytes: 10) { [self] _, _ in
                isStuck.signal()
                goOn.wait()
                return .now(Response(status: 200, text: "unstuck"))
            }
        case "forgotten": return .read(maxBytes: 0) { _, _ in .later { _ in } }
        case "elsewhere": return .read(maxBytes: 0) { _, _ in .later { Self.answerElsewhere($0) } }
        case "peer": return .answer(Response(status: 200, text: "\(peer.address) \(peer.isLoopback) \(peer.isUnix)"))
        case "bytes":
            let count = Int(head.path.last ?? "") ?? 0
            return .answer(Self.answer([UInt8](repeating: UInt8(ascii: "x"), count: count)))
        case "shared":
            return .answer(Response(status: 200, body: shared.withLock { $0 }.map { .shared($0) } ?? .empty))
        case "pieces":
            let body = shared.withLock { $0 }.map { Body.shared(prefix: Array("start".utf8), $0) } ?? .empty
            return .answer(Response(status: 200, body: body, isCompressible: true))
        case "stream": return .answer(Response(status: 200, body: .stream { self.stream($0) }))
        case "flood": return .answer(Response(status: 200, body: .stream { self.flood($0) }))
        case nil: return .answer(Response(status: 200, text: "root"))
        default: return .answer(Response(status: 404, text: "nowhere"))
        }
    }

    func refusal(_ refusal: Refusal, target: String?) -> Response {
        Response(status: refusal.status, text: "\(refusal)")
    }

    func finished(_ exchange: ExchangeSummary) { exchanges.withLock { $0.append(exchange) } }

    private static func answer(_ body: [UInt8]) -> Response {
        Response(status: 200, fields: [Field("Content-Type", "text/plain")], body: .bytes(body), isCompressible: true)
    }

    private func hold(_ pending: Pending) {
        pending.onGone { [self] in gone.add(1, ordering: .relaxed) }
        pendings.withLock { $0.append(pending) }
    }

    private static func answerElsewhere(_ pending: Pending) {
        let thread = Elsewhere { pending.answer(Response(status: 200, text: "from elsewhere")) }
        thread.start()
    }

    private func stream(_ writer: StreamWriter) {
        writer.onClose { [self] in streamsClosed.add(1, ordering: .relaxed) }
        writer.write(Array("one".utf8))
        writer.write([])
        writer.loop.schedule(after: .milliseconds(20)) {
            writer.write(Array("two".utf8))
            writer.finish()
        }
    }

    /// Writes whenever the stream is writable, without end.
    private func flood(_ writer: StreamWriter) {
        writer.onClose { [self] in streamsClosed.add(1, ordering: .relaxed) }
        writer.onWritable { writer.write([UInt8](repeating: 0, count: 10_000)) }
        writer.write([UInt8](repeating: 0, count: 10_000))
    }
}

/// A thread that does one thing.
final class Elsewhere {
    private let work: @Sendable () -> Void

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = work
    }

    func start() {
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            {
                Unmanaged<Elsewhere>.fromOpaque($0!).takeRetainedValue().work()
                return nil
            }, Unmanaged.passRetained(self).toOpaque())
        pthread_detach(thread)
    }
}

/// A server on a free port of the loopback.
struct TestServer {
    let server: Server
    let service = TestService()
    let address: SocketAddress
    let options: ServerOptions

    init(workers: Workers? = nil, _ change: (inout ServerOptions) -> Void = { _ in }) throws {
        var options = ServerOptions.ofTests(listen: [.tcp(host: "127.0.0.1", port: 0)])
        options.loops = 2
        // A busy machine may delay a client.
        options.connectionLimits.headTimeout = .seconds(300)
        options.connectionLimits.firstRequestTimeout = .seconds(300)
        options.connectionLimits.bodyWindow = .seconds(300)
        options.connectionLimits.idleTimeout = .seconds(300)
        options.connectionLimits.writeStall = .seconds(300)
        change(&options)
        self.options = options
        server = Server(options: options, service: service, workers: workers)
        address = try server.start()[0]
    }

    /// Answers that were encoded.
    var answers: Int { service.exchanges.withLock { $0.count } }

    /// Sends `text` on a new connection, shuts that side, and reads to the end.
    func ask(_ text: String) throws -> String {
        let client = try Client(address)
        client.send(text)
        client.finishSending()
        return client.receiveToEnd()
    }
}
