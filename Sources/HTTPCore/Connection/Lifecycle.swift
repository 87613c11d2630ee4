/// The state machine of a connection. A pure value that reads no socket and no clock.
///
/// Events from outside (the peer, the clock, the server) may come in any phase: there is no `default`, so a new phase
/// compiles only once that is decided. Events that the connection itself causes belong to one or two phases, as a
/// precondition.
///
///     handshake → head → deciding ─┬→ body → deciding        (the service decides again, with the body)
///                  ↑               ├→ waiting                (it owes the answer)
///                  │               ├→ streaming
///                  ├── discarding ←┤                         (answered before the body was read)
///                  └───────────────┤
///                                  └→ flushing → lingering → closed
///
/// From `flushing` there is no way back to `head`: nothing behind a refused message is ever read as a request.
/// `lingering` discards what still arrives after our side is shut down: closing a socket with unread bytes sends a
/// reset, which can destroy the answer on its way (RFC 9112 §9.6).
struct Lifecycle: Equatable, Sendable {
    enum Phase: Equatable, Sendable {
        case handshake, head, deciding, body, waiting, streaming, discarding, flushing, lingering, closed
    }

    enum Event: Equatable, Sendable {
        case secured
        /// The peer speaks plain HTTP to a TLS port.
        case receivedPlainText
        /// A head is complete. `isLast`: the client ends the connection after this exchange.
        case headCompleted(isLast: Bool)
        case bodyBegan, bodyEnded
        /// The service owes the answer.
        case deferred
        /// The answer is encoded; `rest` of the request is unread.
        case answered(rest: UnreadBody, closes: Bool)
        case streamBegan(rest: UnreadBody, closes: Bool)
        case streamEnded
        /// The answer to a refusal is encoded.
        case refused
        /// The peer has shut down its side. `isWithinHead`: part of a head has arrived.
        case inputEnded(isWithinHead: Bool)
        /// The kernel has taken all output. `isInputClean`: no unread input is known.
        case outputDrained(isInputClean: Bool)
        /// A body being discarded turned out to be too long or malformed.
        case restRefused
        case timedOut(isWithinHead: Bool)
        /// The peer reads too slowly, or memory is needed.
        case stalled
        case lost
        /// The server will end: this exchange or the next one is the last.
        case endAnnounced
        /// The server is draining. `isIdle`: no request is arriving, and no first one is awaited.
        case drainBegan(isIdle: Bool)
    }

    /// The unread body of a request that has been answered.
    enum UnreadBody: Equatable, Sendable {
        case none
        /// Short enough to be read, to keep the connection.
        case short
        /// Too long to discard, or perhaps never sent.
        case long
    }

    enum Action: Equatable, Sendable {
        case nothing
        /// Encode the service's answer to this refusal, and report `refused`.
        case refuse(Refusal)
        /// Send an interim response, to see whether the client is still there.
        case probe
        case finishSending
        /// Shut down our side and close.
        case finish
        case close
    }

    private(set) var phase: Phase
    /// Whether this exchange is the last, so that its answer says `Connection: close`.
    private(set) var isLast = false
    private var endsSoon = false
    private var hasRefused = false

    init(needsHandshake: Bool) { phase = needsHandshake ? .handshake : .head }

    var takesInput: Bool {
        switch phase {
        case .head, .body, .discarding, .lingering: true
        case .handshake, .deciding, .waiting, .streaming, .flushing, .closed: false
        }
    }

    mutating func handle(_ event: Event) -> Action {
        switch event {
        case .secured: return move(from: .handshake, to: .head)
        case .receivedPlainText:
            precondition(phase == .handshake)
            return .refuse(.malformed(.plainText))
        case .headCompleted(let isLast):
            self.isLast = isLast || endsSoon
            return move(from: .head, to: .deciding)
        case .bodyBegan: return move(from: .deciding, to: .body)
        case .bodyEnded: return phase == .discarding ? proceed(behind: .none) : move(from: .body, to: .deciding)
        case .deferred: return move(from: .deciding, to: .waiting)
        case .answered(let rest, let closes):
            precondition(phase == .deciding || phase == .waiting)
            isLast = isLast || closes || rest == .long
            return proceed(behind: rest)
        case .streamBegan(let rest, let closes):
            precondition(phase == .deciding || phase == .waiting)
            isLast = isLast || closes || rest != .none
            phase = .streaming
            return .nothing
        case .streamEnded:
            precondition(phase == .streaming)
            return proceed(behind: .none)
        case .refused, .restRefused:
            precondition(event == .refused || phase == .discarding)
            hasRefused = true
            return leave()
        case .inputEnded(let isWithinHead): return endInput(isWithinHead)
        case .outputDrained(let isInputClean):
            guard phase == .flushing else { return .nothing }
            // If nothing is unread, closing cannot destroy the answer.
            phase = isInputClean && !hasRefused ? .closed : .lingering
            return phase == .closed ? .finish : .finishSending
        case .timedOut(let isWithinHead): return timeOut(isWithinHead)
        case .stalled, .lost: return close()
        case .endAnnounced: return announceEnd()
        case .drainBegan(let isIdle): return drain(isIdle)
        }
    }

    private mutating func move(from expected: Phase, to next: Phase) -> Action {
        precondition(phase == expected)
        phase = next
        return .nothing
    }

    private mutating func proceed(behind rest: UnreadBody) -> Action {
        if isLast { return leave() }
        phase = rest == .none ? .head : .discarding
        return .nothing
    }

    private mutating func leave() -> Action {
        isLast = true
        phase = .flushing
        return .nothing
    }

    private mutating func close() -> Action {
        let wasOpen = phase != .closed
        phase = .closed
        return wasOpen ? .close : .nothing
    }

    private mutating func endInput(_ isWithinHead: Bool) -> Action {
        switch phase {
        case .head: return isWithinHead ? .refuse(.malformed(.endOfInput)) : leave()
        case .body: return .refuse(.malformed(.endOfInput))
        case .discarding: return leave()
        // A client that shuts down its side of an event stream has left.
        case .handshake, .streaming, .lingering: return close()
        // The client may still be waiting for its answer. One that has left looks the same until it is probed.
        case .deciding, .waiting, .flushing, .closed: return .nothing
        }
    }

    private mutating func timeOut(_ isWithinHead: Bool) -> Action {
        switch phase {
        case .head: return isWithinHead ? .refuse(.timeout(.head)) : close()
        case .body: return .refuse(.timeout(.body))
        case .handshake, .discarding, .flushing, .lingering: return close()
        case .waiting: return .probe
        case .deciding, .streaming, .closed: return .nothing
        }
    }

    private mutating func announceEnd() -> Action {
        endsSoon = true
        switch phase {
        case .deciding, .body, .waiting, .streaming, .discarding: isLast = true
        case .handshake, .head, .flushing, .lingering, .closed: break
        }
        return .nothing
    }

    private mutating func drain(_ isIdle: Bool) -> Action {
        // A peer that is silent before its handshake, such as a probe of the port, has asked for nothing.
        if phase == .handshake, isIdle { return close() }
        return phase == .head && isIdle ? leave() : announceEnd()
    }
}
