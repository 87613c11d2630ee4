import HTTPCore

/// Takes a session away; that it was gone already is no error.
enum DeleteSession {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        try SessionWork(call: call, isWrite: true, replacesDamaged: call.isUnconditional) { (reading) throws(Problem) in
            guard let revision = reading?.session.head.revision else { return .answer(.now(Response(status: 204))) }
            let condition = try EntityTags.condition(call)
            if let condition, !condition.matches(revision) { throw .mismatch(current: revision) }
            return .drop(at: condition == nil ? nil : revision, answer: Response(status: 204))
        }.reply()
    }
}
