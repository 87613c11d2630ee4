import HTTPCore

/// One connection to one Redis, confined to its loop; keeps itself alive until it closes. Commands are sent in the
/// order of the calls, those of one loop iteration in one write. Each answer belongs to the oldest unanswered command.
/// It is closed if an answer takes longer than `patience`. If the server turns out to take no commands, it is retired:
/// it closes once everything is answered.
final class RedisConnection: @unchecked Sendable {
    typealias Completion = @Sendable (RedisResult) -> Void

    private struct Outstanding {
        let sent: Instant
        let completion: Completion
        let isTransaction: Bool
        /// Answers still to come before the one that counts.
        var preceding: Int
        var error: RedisError?

        mutating func note(_ reply: RedisReply) {
            preceding -= 1
            if error == nil, case .error(let first) = reply { error = first }
        }

        func result(of reply: RedisReply) -> RedisResult {
            var answer = error.map { .error($0) } ?? reply
            if case .array(let answers) = answer, isTransaction, let last = answers.last { answer = last }
            guard case .error(let error) = answer else { return .success(answer) }
            return .failure(error.isUnready ? .unavailable(error.text) : .refused(error))
        }
    }

    let destination: ConnectAddress
    private let loop: EventLoop
    private var parser = RedisReplyParser()
    private var socket: OutgoingConnection?
    private var outstanding = Queue<Outstanding>()
    private var watchdog: Timer?
    private var isOpen = false
    private var isRetired = false
    /// Whether a PING is unanswered; used only with a listener.
    private var isSilent = false
    private var listener: ((RedisReply) -> Void)?

    var patience: Duration
    /// Called once when the connection takes no more commands; if it was lost, before they fail.
    var whenLost: ((RedisFailure) -> Void)?

    init(to destination: ConnectAddress, tls: OutgoingTLS?, on loop: EventLoop, patience: Duration) {
        (self.destination, self.loop, self.patience) = (destination, loop, patience)
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

    /// Sends a command without waiting for an answer.
    func post(_ command: RedisCommand) {
        for part in command.parts { socket?.send(part) }
    }

    /// Passes all later answers to `listener`. A PING every `patience` detects a dead connection.
    func listen(_ listener: @escaping (RedisReply) -> Void) {
        self.listener = listener
        isSilent = false
        sendPing()
    }

    private func sendPing() {
        watchdog?.cancel()
        watchdog = loop.schedule(after: patience) { [weak self] in
            guard let self else { return }
            guard !isSilent else { return lose("no answer within \(patience)") }
            isSilent = true
            post(RedisCommand("PING"))
            sendPing()
        }
    }

    /// Refuses further commands, and closes once the last one is answered.
    func retire(because reason: String = "retired") {
        guard !isRetired, socket != nil else { return }
        isRetired = true
        whenLost.take()?(.unavailable(reason))
        if outstanding.isEmpty { lose(reason) }
    }

    /// Closes, and fails unanswered commands.
    func lose(_ reason: String) {
        guard let socket = socket.take() else { return }
        socket.close()
        watchdog.take()?.cancel()
        // Commands that were never sent were not executed.
        let failure: RedisFailure = isOpen ? .lost(reason) : .unavailable(reason)
        let commands = exchange(&outstanding, with: Queue())
        listener = nil
        whenLost.take()?(failure)
        for command in commands.elements { command.completion(.failure(failure)) }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        do throws(RedisReplyParser.Violation) {
            while socket != nil, let reply = try parser.next(&rest) { deliver(reply) }
        } catch { lose("protocol error: \(error)") }
    }

    private func deliver(_ reply: RedisReply) {
        if let listener {
            isSilent = false
            return listener(reply)
        }
        guard let preceding = outstanding.first?.preceding else { return lose("unexpected reply") }
        if preceding > 0 { return outstanding.updateFirst { $0.note(reply) } }
        guard let command = outstanding.popFirst() else { return }
        let result = command.result(of: reply)
        command.completion(result)
        // The server takes no commands for now.
        if case .failure(.unavailable(let reason)) = result { retire(because: reason) }
        if isRetired, outstanding.isEmpty { lose("retired") }
    }

    /// Starts the one timer of all commands: when it fires, it checks the oldest.
    private func watch(for span: Duration) {
        watchdog = loop.schedule(after: span) { [weak self] in
            guard let self else { return }
            watchdog = nil
            guard let oldest = outstanding.first else { return }
            let left = patience - (.now - oldest.sent)
            if left <= .zero { lose("no answer within \(patience)") } else { watch(for: left) }
        }
    }
}
