import HTTPCore

/// One connection to one Redis. Commands are sent in the order of the calls, those of one turn of the loop in one
/// write, and each answer belongs to the oldest command without one.
///
/// Confined to its loop, and alive until it is lost or retired, whether or not anybody holds it. Commands may be sent
/// before the connection is open. When it is lost, every command without an answer fails; it is given up if an answer
/// takes longer than `patience`.
final class RedisConnection: @unchecked Sendable {
    typealias Completion = @Sendable (Result<RedisReply, RedisFailure>) -> Void

    private struct Outstanding {
        let sent: Instant
        let completion: Completion
        let isTransaction: Bool
        /// Answers that come before the one that counts.
        var preceding: Int
        /// The first error among them.
        var error: RedisError?
    }

    let destination: ConnectAddress
    private let loop: EventLoop
    private var parser = RedisReplyParser()
    private var socket: OutgoingConnection?
    private var outstanding = Queue<Outstanding>()
    private var watchdog: Timer?
    private var isOpen = false
    private var isRetired = false

    /// How long an answer may take.
    var patience: Duration
    /// Called once when the connection is lost, before its commands fail.
    var whenLost: ((RedisFailure) -> Void)?
    /// Called when the server turns out to take no commands; the command has failed as unavailable.
    var whenMisplaced: ((RedisError) -> Void)?
    /// Takes all answers in place of the commands: for a connection with subscriptions.
    var whenReceived: ((RedisReply) -> Void)?

    init(to destination: ConnectAddress, tls: OutgoingTLS?, on loop: EventLoop, patience: Duration) {
        self.destination = destination
        self.loop = loop
        self.patience = patience
        socket = OutgoingConnection(
            to: destination, tls: tls, on: loop, within: patience,
            .init(
                opened: { self.isOpen = true }, received: { self.receive($0) },
                closed: { self.lose($0.description) }))
    }

    var isLost: Bool { socket == nil }

    func send(_ command: RedisCommand, _ completion: @escaping Completion) {
        guard socket != nil, !isRetired else { return completion(.failure(.unavailable("no connection"))) }
        outstanding.append(
            Outstanding(
                sent: .now, completion: completion, isTransaction: command.isTransaction,
                preceding: command.precedingAnswers))
        post(command)
        if watchdog == nil { watch(for: patience) }
    }

    /// Sends a command that has no answer of its own.
    func post(_ command: RedisCommand) {
        for part in command.parts { socket?.send(part) }
    }

    /// Closes once the last command has its answer, and takes no more commands.
    func retire() {
        isRetired = true
        if outstanding.isEmpty { lose("retired") }
    }

    /// Closes, and fails commands without an answer.
    func lose(_ reason: String) {
        guard let socket else { return }
        self.socket = nil
        socket.close()
        watchdog?.cancel()
        watchdog = nil
        // Commands that were never sent were not executed.
        let failure: RedisFailure = isOpen ? .lost(reason) : .unavailable(reason)
        let whenLost = whenLost
        let commands = outstanding
        outstanding = Queue()
        self.whenLost = nil
        whenMisplaced = nil
        whenReceived = nil
        whenLost?(failure)
        for command in commands.elements { command.completion(.failure(failure)) }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        do throws(RedisReplyParser.Violation) {
            while socket != nil, let reply = try parser.next(&rest) { deliver(reply) }
        } catch {
            lose("protocol error: \(error)")
        }
    }

    private func deliver(_ reply: RedisReply) {
        if let whenReceived { return whenReceived(reply) }
        guard let oldest = outstanding.first else { return lose("unexpected reply") }
        if oldest.preceding > 0 {
            return outstanding.updateFirst {
                $0.preceding -= 1
                if $0.error == nil, case .error(let error) = reply { $0.error = error }
            }
        }
        _ = outstanding.popFirst()
        var answer = reply
        if let error = oldest.error {
            answer = .error(error)
        } else if oldest.isTransaction, case .array(let answers) = reply, let last = answers.last {
            answer = last
        }
        if case .error(let error) = answer {
            let whenMisplaced = error.isMisplaced ? whenMisplaced : nil
            oldest.completion(.failure(error.isMisplaced ? .unavailable(error.text) : .refused(error)))
            whenMisplaced?(error)
        } else {
            oldest.completion(.success(answer))
        }
        if isRetired, outstanding.isEmpty { lose("retired") }
    }

    /// One timer serves all commands: when it fires it looks at the oldest.
    private func watch(for span: Duration) {
        watchdog = loop.schedule(after: span) { [weak self] in self?.look() }
    }

    private func look() {
        watchdog = nil
        guard let oldest = outstanding.first else { return }
        let left = patience - (.now - oldest.sent)
        if left <= .zero { lose("no answer within \(patience)") } else { watch(for: left) }
    }
}
