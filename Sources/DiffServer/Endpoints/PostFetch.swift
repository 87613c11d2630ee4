import HTTPCore

/// Fetches a list from its source now, and answers with what that changed.
enum PostFetch {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let (since, options) = (try call.parameters.since(), try ChangesOptions(call))
        guard let upstream = call.service.upstream, upstream.hasSource(call.session) else {
            throw Problem(.sessionNotFound, "no list of this name has a source")
        }
        return .later { pending in
            call.service.store.load(call.session, again: false, on: call.loop).whenDone { found in
                let before: Revision?
                switch found {
                case .success(let view): before = view?.session.head.revision
                case .failure(let failure):
                    return call.answer(pending) { () throws(Problem) in throw Problem(failure) }
                }
                upstream.fetch(call.session).whenDone { fetched in
                    if case .failure(var problem) = fetched {
                        if problem.type == .sourceUnavailable { problem.detail = upstream.obstacle(of: call.session) }
                        return call.answer(pending) { [problem] () throws(Problem) in throw problem }
                    }
                    call.view().whenDone { result in
                        let answer = { @Sendable in
                            call.answer(pending) { () throws(Problem) in
                                .now(try response(try result.get(), since: since, before: before, call, options))
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
        let base = before.map { view.name(of: ReaderBase(revision: $0), options.sight) }
        try view.checkRoom()
        let answer = call.told(view.answer(since: since.orElse(base), options))
        guard before == nil else { return answer.response() }
        return answer.response(status: 201, fields: [Field("Location", "/v1/sessions/\(call.session)")])
    }
}
