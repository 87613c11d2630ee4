import DiffSessions
import DiffStores
import HTTPCore

/// Fetches a list from its source now, and answers with what that changed.
enum PostFetch {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let (since, options) = (try call.parameters.since(), try ChangesOptions(call))
        guard let source = call.service.source, source.hasSource(call.session) else {
            throw Problem(.sessionNotFound, "no list with this name has a source")
        }
        return .later { pending in
            call.service.store.load(call.session, again: false, on: call.loop).whenDone { found in
                let before: Revision?
                switch found {
                case .success(let view): before = view?.session.head.revision
                case .failure(let failure):
                    return call.answer(pending) { () throws(Problem) in throw Problem(failure) }
                }
                source.fetch(call.session).whenDone { fetched in
                    if case .failure(let failure) = fetched {
                        var problem = Problem(failure, of: call.session)
                        if case .unavailable = failure { problem.detail = source.failureDetail(of: call.session) }
                        return call.answer(pending) { [problem] () throws(Problem) in throw problem }
                    }
                    call.view().whenDone { result in
                        let answer = { @Sendable in
                            call.answer(pending) { () throws(Problem) in
                                .now(try response(try call.get(result), since: since, before: before, call, options))
                            }
                        }
                        if call.isLong { answer() } else { call.loop.perform(answer) }
                    }
                }
            }
        }
    }

    /// - Parameter before: the head before the fetch; nil if there was no session.
    private static func response(
        _ view: SessionView, since: Since, before: Revision?, _ call: Call, _ options: ChangesOptions
    ) throws(Problem) -> Response {
        let base = before.map { view.name(of: ReaderState(revision: $0), options.projection) }
        try view.checkRoom()
        let answer = call.annotated(view.answer(since: since.orElse(base), options))
        guard before == nil else { return answer.response() }
        return answer.response(status: 201, fields: [Field("Location", "/v1/sessions/\(call.session)")])
    }
}
