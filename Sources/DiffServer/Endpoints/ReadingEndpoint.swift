import HTTPCore

/// An endpoint that answers from a session's head and its past.
protocol ReadingEndpoint: SessionEndpoint where Operation == ReadSession {
    var call: Call { get }

    func reply(_ view: SessionView) throws(Problem) -> Reply
}

extension ReadingEndpoint {
    func operation(_ body: consuming [UInt8]) -> ReadSession { ReadSession() }

    func reply(_ session: Session, in slot: SessionSlot?) throws(Problem) -> Reply {
        try reply(SessionView(slot, session, of: call.service.table))
    }
}

extension SessionView {
    /// A session as a transaction left it.
    init(_ slot: SessionSlot?, _ session: Session, of table: SessionTable) {
        guard let slot else { preconditionFailure("a session that was read or written has a slot") }
        self.init(slot, session, of: table, isHead: true)
    }
}
