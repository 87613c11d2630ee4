/// What a connection is at, and what each event makes of it. A pure value: it reads no socket and no clock.
///
/// Events that come from outside, of the peer, the clock or the server, can come in any phase, and each answers all of
/// them: there is no `default`, so a new phase compiles only when that is thought about. Events that the connection
/// itself brings about, such as an answer, belong to one phase or two, and that is a precondition.
///
///     handshake → head → deciding ─┬→ body → deciding        (the service decides again, with the body)
///                  ↑               ├→ waiting                (it owes the answer)
///                  │               ├→ streaming
///                  ├── discarding ←┤                         (answered before the body was read)
///                  └───────────────┤
///                                  └→ flushing → lingering → closed
///
/// Whatever is refused goes to `flushing`, and from there no way leads back to `head`: nothing behind a refused message
/// is ever read as a request. `lingering` reads and forgets what still comes after our side is shut, because a socket
/// that is closed with unread bytes answers with a reset, and that can destroy the answer on its way (RFC 9112 §9.6).
struct Lifecycle: Equatable, Sendable {
    enum Phase: Equatable, Sendable {
        case handshake, head, deciding, body, waiting, streaming, discarding, flushing, lingering, closed
    }

    enum Event: Equatable, Sendable {
        /// The transport is ready for bytes.
        case secured
        /// The peer speaks plain HTTP where TLS is due.
        case spokePlainly
        /// A head is complete. `isLast`: the client or its version ends the connection behind this exchange.
        case headCompleted(isLast: Bool)
        /// The service wants the body.
        case bodyBegan
        case bodyEnded
        /// The service owes the answer.
        case deferred
        /// The answer is encoded; `rest` is what of the request has not been read.
        case answered(rest: Rest, closes: Bool)
        case streamBegan(rest: Rest, closes: Bool)
        case streamEnded
        /// An answer that gives up the framing is encoded.
        case refused
        /// The peer sends nothing more. `isWithinHead`: a part of a head has arrived.
        case inputEnded(isWithinHead: Bool)
        /// Everything encoded is with the kernel. `isInputClean`: nothing that the peer sent is known to be unread.
        case outputDrained(isInputClean: Bool)
        /// The rest of a body that nobody wants turned out to be long, or malformed.
        case restRefused
        /// The time of the phase is over.
        case timedOut(isWithinHead: Bool)
        /// The peer takes nothing.
        case stalled
        /// Reset, or any other failure of the socket.
        case lost
        /// The server goes down.
        case drainBegan(isWithinHead: Bool)
    }

    /// The body of a request that was answered before it was read.
    enum Rest: Equatable, Sendable {
        case none
        /// Worth reading to keep the connection.
        case short
        /// Not worth it, or not known whether it comes.
        case long
    }

    enum Action: Equatable, Sendable {
        /// Look at the input.
        case proceed
        /// Nothing, until something happens.
        case wait
        /// Have the service word this refusal, encode it, and report `refused`.
        case refuse(Refusal)
        /// Send something that says nothing, to see whether anybody is there.
        case probe
        /// Shut our side.
        case finishSending
        /// Shut our side and close.
        case finish
        case close
    }

    private(set) var phase: Phase
    /// The current exchange is the last one, so its answer says `Connection: close`.
    private(set) var isLast = false
    private var isDraining = false
    private var hasRefused = false

    init(needsHandshake: Bool) {
        phase = needsHandshake ? .handshake : .head
    }

    /// Whether bytes of the peer mean anything now.
    var takesInput: Bool {
        switch phase {
        case .head, .body, .discarding, .lingering: true
        case .handshake, .deciding, .waiting, .streaming, .flushing, .closed: false
        }
    }

    mutating func handle(_ event: Event) -> Action {
        switch event {
        case .secured:
            precondition(phase == .handshake)
            phase = .head
            return isDraining ? leave() : .proceed
        case .spokePlainly:
            precondition(phase == .handshake)
            return .refuse(.malformed(.plainText))
        case .headCompleted(let isLast):
            precondition(phase == .head)
            phase = .deciding
            self.isLast = isLast || isDraining
            return .proceed
        case .bodyBegan:
            precondition(phase == .deciding)
            phase = .body
            return .proceed
        case .bodyEnded: return endBody()
        case .deferred:
            precondition(phase == .deciding)
            phase = .waiting
            return .wait
        case .answered(let rest, let closes):
            precondition(phase == .deciding || phase == .waiting)
            isLast = isLast || closes || rest == .long
            return goOn(behind: rest)
        case .streamBegan(let rest, let closes):
            precondition(phase == .deciding || phase == .waiting)
            isLast = isLast || closes || rest != .none
            phase = .streaming
            return .wait
        case .streamEnded:
            precondition(phase == .streaming)
            return goOn(behind: .none)
        case .refused:
            hasRefused = true
            return leave()
        case .restRefused:
            precondition(phase == .discarding)
            hasRefused = true
            return leave()
        case .inputEnded(let isWithinHead): return endInput(isWithinHead)
        case .outputDrained(let isInputClean): return drained(isInputClean)
        case .timedOut(let isWithinHead): return timeOut(isWithinHead)
        case .stalled, .lost: return close()
        case .drainBegan(let isWithinHead): return drain(isWithinHead)
        }
    }

    private mutating func goOn(behind rest: Rest) -> Action {
        if isLast { return leave() }
        phase = rest == .none ? .head : .discarding
        return .proceed
    }

    private mutating func leave() -> Action {
        isLast = true
        phase = .flushing
        return .wait
    }

    private mutating func close() -> Action {
        let wasOpen = phase != .closed
        phase = .closed
        return wasOpen ? .close : .wait
    }

    private mutating func endBody() -> Action {
        switch phase {
        case .body:
            phase = .deciding
            return .proceed
        case .discarding:
            if isLast || isDraining { return leave() }
            phase = .head
            return .proceed
        case .handshake, .head, .deciding, .waiting, .streaming, .flushing, .lingering, .closed:
            preconditionFailure("a body ended in phase \(phase)")
        }
    }

    private mutating func endInput(_ isWithinHead: Bool) -> Action {
        switch phase {
        case .head: return isWithinHead ? .refuse(.malformed(.endOfInput)) : leave()
        case .body: return .refuse(.malformed(.endOfInput))
        case .discarding: return leave()
        // A client that shut its side of an event stream is gone: one that only half closed has no use for the stream's
        // end.
        case .handshake, .streaming, .lingering: return close()
        // One that only half closed waits for its answer. One that is gone looks the same until it is probed.
        case .deciding, .waiting, .flushing, .closed: return .wait
        }
    }

    private mutating func drained(_ isInputClean: Bool) -> Action {
        switch phase {
        case .flushing:
            // With nothing unread a close cannot destroy the answer; a client that asked for the end sends nothing
            // more.
            phase = isInputClean && !hasRefused ? .closed : .lingering
            return phase == .closed ? .finish : .finishSending
        case .handshake, .head, .deciding, .body, .waiting, .streaming, .discarding, .lingering, .closed:
            return .wait
        }
    }

    private mutating func timeOut(_ isWithinHead: Bool) -> Action {
        switch phase {
        case .head: return isWithinHead ? .refuse(.timeout(.head)) : close()
        case .body: return .refuse(.timeout(.body))
        case .handshake, .discarding, .flushing, .lingering: return close()
        case .waiting: return .probe
        case .deciding, .streaming, .closed: return .wait
        }
    }

    private mutating func drain(_ isWithinHead: Bool) -> Action {
        isDraining = true
        switch phase {
        case .head: return isWithinHead ? .wait : leave()
        case .deciding, .body, .waiting, .streaming, .discarding:
            isLast = true
            return .wait
        case .handshake, .flushing, .lingering, .closed: return .wait
        }
    }
}
