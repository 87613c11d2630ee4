import HTTPCore

/// An endpoint that works on a session: it reads a request into an operation, and writes what comes of that as the
/// answer. In between the operation is carried out, wherever sessions live.
protocol SessionEndpoint: Sendable {
    associatedtype Operation: SessionOperation

    /// Reads the head, and refuses what it asks for before anybody sends a body in vain.
    init(_ call: Call) throws(Problem)

    /// Reads the body.
    func operation(_ body: consuming [UInt8]) throws(Problem) -> Operation

    /// Writes the answer.
    ///
    /// - Parameter slot: where the session is; nil where there was none.
    func reply(_ outcome: Operation.Outcome, in slot: SessionSlot?) throws(Problem) -> Reply
}

extension Call {
    /// The way of a request from its body to its answer.
    func respond<Endpoint: SessionEndpoint>(
        _ endpoint: Endpoint, _ body: consuming [UInt8]
    ) throws(Problem) -> Reply {
        let operation = try endpoint.operation(body)
        switch Transaction(operation, for: self).run() {
        case .done(let result):
            let done = try result.get()
            return try endpoint.reply(done.outcome, in: done.slot)
        case .pending(let promise):
            return .later { [self] pending in
                promise.whenKept { [self] result in
                    offLoopIfLong { [self] in
                        answer(pending) { () throws(Problem) in
                            let done = try result.get()
                            return try endpoint.reply(done.outcome, in: done.slot)
                        }
                    }
                }
            }
        }
    }
}
