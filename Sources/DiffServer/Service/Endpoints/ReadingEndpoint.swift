import DiffSessions
import DiffStores
import HTTPCore

/// An endpoint that only reads its session.
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
    /// The session that a transaction has read or written.
    package init(_ slot: SessionSlot?, _ session: Session, of table: SessionTable, _ lease: RecordLease? = nil) {
        guard let slot else { preconditionFailure("a session that was read or written has a slot") }
        self.init(slot, session, of: table, isHead: true)
        self.lease = lease
    }
}
