import HTTPCore

/// Takes a session away; that it was gone already is no error.
enum DeleteSession {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        while let slot = call.service.table.slot(call.session), let session = slot.session {
            let revision = session.head.revision
            let condition = try EntityTags.condition(call)
            if let condition, !condition.matches(revision) { throw .mismatch(current: revision) }
            do throws(SessionTable.Refusal) {
                try call.service.table.delete(slot, at: condition == nil ? nil : revision)
                return .now(Response(status: 204))
            } catch { continue }
        }
        return .now(Response(status: 204))
    }
}
