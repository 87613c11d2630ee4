import DiffSessions
import DiffStores
import HTTPCore

/// An endpoint that works on a session: it parses a request into an operation, and renders the operation's outcome as
/// the answer. In between, a transaction carries out the operation.
protocol SessionEndpoint: Sendable {
    associatedtype Operation: SessionOperation

    var call: Call { get }

    /// Checks the head, before the client sends the body.
    init(_ call: Call) throws(Problem)

    /// Parses the body.
    func operation(_ body: consuming [UInt8]) throws(Problem) -> Operation

    /// Renders the answer. Without a session there is no slot.
    func reply(_ outcome: Operation.Outcome, in slot: SessionSlot?) throws(Problem) -> Reply

    /// The problem to answer with if the operation was not carried out.
    func problem(_ failure: TransactionFailure) -> Problem
}

extension SessionEndpoint {
    func problem(_ failure: TransactionFailure) -> Problem { Problem(failure, of: call.session) }
}

extension Call {
    /// Takes a request from its body to its answer.
    func respond<Endpoint: SessionEndpoint>(
        _ endpoint: Endpoint, _ body: consuming [UInt8]
    ) throws(Problem) -> Reply {
        let operation = try endpoint.operation(body)
        switch Transaction(operation, for: self).run() {
        case .done(let result): return try reply(endpoint, result)
        case .pending(let promise):
            return .later { [self] pending in
                promise.whenKept { [self] result in
                    offLoop { [self] in
                        if pending.isGone { return }
                        answer(pending) { () throws(Problem) in try reply(endpoint, result) }
                    }
                }
            }
        }
    }

    private func reply<Endpoint: SessionEndpoint>(
        _ endpoint: Endpoint, _ result: Result<Transaction<Endpoint.Operation>.Done, TransactionFailure>
    ) throws(Problem) -> Reply {
        switch result {
        case .success(let done): try endpoint.reply(done.outcome, in: done.slot)
        case .failure(let failure): throw endpoint.problem(failure)
        }
    }
}

/// An endpoint that only reads its session.
protocol ReadingEndpoint: SessionEndpoint where Operation == ReadSession {
    func reply(_ view: SessionView) throws(Problem) -> Reply
}

extension ReadingEndpoint {
    func operation(_ body: consuming [UInt8]) -> ReadSession { ReadSession() }

    func reply(_ session: Session, in slot: SessionSlot?) throws(Problem) -> Reply {
        try reply(SessionView(slot, session, of: call.service.table))
    }
}

extension SessionView {
    /// The session that a transaction has read or written.
    package init(_ slot: SessionSlot?, _ session: Session, of table: SessionTable, _ share: MemoryShare? = nil) {
        guard let slot else { preconditionFailure("a session that was read or written has a slot") }
        self.init(slot, session, of: table, share: share)
    }
}
