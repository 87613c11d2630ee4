import CDiffSystem

@testable import HTTPCore

/// A transport without a socket: plays a script, keeps what it gets, and fails in one way at one call.
final class ScriptedTransport: Transport {
    enum Fault: CaseIterable {
        /// EAGAIN; the next edge comes at once.
        case blocked
        /// One octet instead of all.
        case short
        /// ECONNRESET.
        case reset
        /// The end of the input, or a peer that accepts no more output.
        case ended
    }

    private var input: [UInt8]
    private(set) var output: [UInt8] = []
    private(set) var calls = 0
    private(set) var closes = 0
    private(set) var hasFinished = false
    private(set) var hasFaulted = false
    private let fault: (call: Int, kind: Fault)?
    /// The peer's room; anything beyond it must wait.
    var room = Int.max
    /// The most octets of one read or write.
    var pace = Int.max
    var endsInput = true
    /// Whether the peer is gone, so that nothing can be sent to it.
    var isReset = false

    init(_ input: [UInt8], fault: (call: Int, kind: Fault)? = nil) {
        self.input = input
        self.fault = fault
    }

    func give(_ bytes: String) { input += Array(bytes.utf8) }

    func prepare() -> Preparation { .ready }
    var shortReceiveIsLast: Bool { false }
    var held: Int { 0 }
    var unacknowledged: Int { 0 }
    func limitUnsent(bytes: Int) {}
    func finishSending() { hasFinished = true }
    func close(gracefully: Bool) { closes += 1 }

    func receive(into target: UnsafeMutableRawBufferPointer) -> Transfer {
        transfer(min(target.count, input.count, pace)) { count in
            guard count > 0 else { return endsInput ? .ended : .blocked }
            target.copyBytes(from: input[..<count])
            input.removeFirst(count)
            return .moved(count)
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Transfer {
        if isReset { return .failed }
        return transfer(min(bytes.count, pace, room - output.count)) { count in
            guard count > 0 else { return .blocked }
            output += bytes[..<count]
            return .moved(count)
        }
    }

    private func transfer(_ count: Int, _ move: (Int) -> Transfer) -> Transfer {
        precondition(closes == 0, "used behind its close")
        calls += 1
        guard let fault, fault.call == calls else { return move(count) }
        hasFaulted = true
        switch fault.kind {
        case .blocked: return .blocked
        case .short: return move(min(count, 1))
        case .reset: return .failed
        case .ended: return .ended
        }
    }
}

/// A connection over a script, with a loop whose thread and clock belong to the test.
final class ScriptedConnection {
    let transport: ScriptedTransport
    let service: TestService
    let shard: Shard
    private(set) weak var connection: Connection?
    private(set) var now = Instant.now
    let loop: EventLoop
    /// Shared by all connections: a test makes thousands, and threads are not free.
    private static let workers = Workers(count: 1)

    init(
        _ transport: ScriptedTransport, isTLS: Bool = false, _ change: (inout ServerOptions) -> Void = { _ in }
    ) throws {
        var options = ServerOptions.ofTests(listen: [])
        change(&options)
        self.transport = transport
        service = TestService()
        loop = try EventLoop(index: 0, polling: .ofTests)
        loop.adoptThread()
        shard = Shard(
            loop: loop, options: options, capacity: ConnectionCapacity(for: options.maxConnections, free: .max)!,
            service: service, workers: Self.workers,
            outputLimit: OutputBufferLimit(budget: options.outgoing))
        loop.iterate(at: now)
        connect(isTLS: isTLS)
    }

    /// Another connection on the loop of `other`, whose clock it copies.
    init(_ transport: ScriptedTransport, beside other: ScriptedConnection) {
        (self.transport, loop, shard, now) = (transport, other.loop, other.shard, other.now)
        service = other.service
        connect(isTLS: false)
    }

    private func connect(isTLS: Bool) {
        let address = SocketAddress.v4(address: 0x7F00_0001, port: 1)
        let connection = Connection(
            shard: shard, transport: transport, descriptor: -1, peer: Peer(remote: address, isTLS: isTLS))
        self.connection = connection
        shard.adopt(connection)
    }

    var isOpen: Bool { connection != nil && !shard.connections.isEmpty }
    var output: String { String(decoding: transport.output, as: UTF8.self) }

    /// Gives the connection edges in both directions, as from a socket that has become ready, until nothing more
    /// happens.
    func settle() {
        for _ in 0..<64 where isOpen {
            loop.iterate(at: now) { connection?.receive([.input, .output]) }
            loop.runJobs()
        }
    }

    /// Shuts down the peer's side.
    func hangUp() {
        transport.endsInput = true
        loop.iterate(at: now) { connection?.receive([.input, .inputEnd]) }
    }

    /// An iteration of the loop without events, with its own clock.
    func iterate(_ clock: () -> Instant) { loop.iterate(at: now, clock: clock) }

    func pass(_ duration: Duration) {
        // In steps, like a loop: an alarm may rearm itself.
        let end = now + duration
        while now < end {
            now = min(end, now + .milliseconds(100))
            loop.iterate(at: now)
        }
    }
}
