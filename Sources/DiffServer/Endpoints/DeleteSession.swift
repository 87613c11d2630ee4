import HTTPCore

/// Takes a session away; that it was gone already is no error.
enum DeleteSession {
    @Sendable
    static func answer(_ call: Call, _ body: consuming [UInt8]) throws(Problem) -> Reply {
        let condition = EntityTags(call.head, "if-match")
        while let slot = call.service.table.slot(call.session), let session = slot.session {
            let revision = session.head.revision
            if let condition, !condition.matches(revision) { throw .mismatch(current: revision) }
            do throws(SessionTable.Refusal) {
                try call.service.table.delete(slot, at: condition == nil ? nil : revision)
                return .now(Response(status: 204))
            } catch { continue }
        }
        if condition != nil { throw .mismatch(current: nil) }
        return .now(Response(status: 204))
    }
}
