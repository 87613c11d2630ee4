import HTTPCore

/// What an endpoint does once the body is there.
typealias Answer = @Sendable (_ body: consuming [UInt8]) throws(Problem) -> Reply

/// One row of the service: who may, what the query may hold, what is done.
final class Route: Sendable {
    /// Its label in logs and metrics.
    let name: String
    let right: Right
    let parameters: Set<String>
    /// Parameters that may be given more than once.
    let lists: Set<String>
    /// What the answers are made of; empty where the endpoint negotiates by itself.
    let mediaTypes: [String]
    let takesBody: Bool
    /// Reads the query, and what is accepted, before anybody sends a body in vain.
    let prepare: @Sendable (Call) throws(Problem) -> Answer

    /// An endpoint with a body.
    init(
        name: String, right: Right, parameters: Set<String> = [], mediaTypes: [String] = ["application/json"],
        prepare: @escaping @Sendable (Call) throws(Problem) -> Answer
    ) {
        (self.name, self.right, self.parameters, lists) = (name, right, parameters, [])
        (self.mediaTypes, takesBody, self.prepare) = (mediaTypes, true, prepare)
    }

    /// An endpoint without one.
    init(
        name: String, right: Right, parameters: Set<String> = [], lists: Set<String> = [],
        mediaTypes: [String] = ["application/json"], answer: @escaping @Sendable (Call) throws(Problem) -> Reply
    ) {
        (self.name, self.right, self.parameters, self.lists) = (name, right, parameters, lists)
        (self.mediaTypes, takesBody) = (mediaTypes, false)
        prepare = { call in { (_) throws(Problem) in try answer(call) } }
    }
}

/// The whole service on one screen.
let routes = Router<Route>([
    .init(
        .post, "/v1/diff",
        Route(
            name: "diff", right: .compute, parameters: ChangesWish.parameters.union(Parameters.pointers),
            mediaTypes: [],
            prepare: PostDiff.prepare)),
    .init(
        .put, "/v1/sessions/{session}",
        Route(
            name: "session", right: .write, parameters: Parameters.pointers, prepare: PutSession.prepare)),
    .init(.get, "/v1/sessions/{session}", Route(name: "session", right: .read, answer: GetSession.answer)),
    .init(
        .delete, "/v1/sessions/{session}",
        Route(
            name: "session", right: .write, mediaTypes: [], answer: DeleteSession.answer)),
    .init(
        .post, "/v1/sessions/{session}/changes",
        Route(
            name: "changes", right: .edit,
            parameters: ChangesWish.parameters.union(Parameters.pointers).union(["since"]), mediaTypes: [],
            prepare: PostChanges.prepare)),
    .init(
        .get, "/v1/sessions/{session}/changes",
        Route(
            name: "changes", right: .read, parameters: ChangesWish.parameters.union(["since", "wait"]),
            mediaTypes: [], answer: GetChanges.answer)),
    .init(
        .get, "/v1/sessions/{session}/items/{item}",
        Route(
            name: "item", right: .read, parameters: ["revision"], answer: GetItems.one)),
    .init(
        .get, "/v1/sessions/{session}/items",
        Route(
            name: "items", right: .read, parameters: ["at", "id", "revision"], lists: ["at", "id"],
            answer: GetItems.many)),
    .init(
        .get, "/v1/sessions/{session}/sections/{section}",
        Route(
            name: "section", right: .read, parameters: ["revision"], answer: GetSections.one)),
    .init(
        .get, "/v1/sessions/{session}/sections",
        Route(
            name: "sections", right: .read, parameters: ["at", "id", "revision"], lists: ["at", "id"],
            answer: GetSections.many)),
    .init(
        .post, "/v1/sessions/{session}/tokens",
        Route(
            name: "tokens", right: .write, prepare: PostTokens.prepare)),
    .init(.get, "/livez", Route(name: "livez", right: .probe, mediaTypes: [], answer: GetHealth.live)),
    .init(.get, "/readyz", Route(name: "readyz", right: .probe, mediaTypes: [], answer: GetHealth.ready)),
    .init(.get, "/", Route(name: "page", right: .none, mediaTypes: [], answer: GetFile.page.answer)),
    .init(.get, "/client.js", Route(name: "page", right: .none, mediaTypes: [], answer: GetFile.client.answer)),
    .init(.get, "/client.d.ts", Route(name: "page", right: .none, mediaTypes: [], answer: GetFile.clientTypes.answer)),
    .init(
        .get, "/openapi.json",
        Route(
            name: "openapi", right: .none, mediaTypes: [], answer: GetFile.description.answer)),
    .init(.get, "/metrics", Route(name: "metrics", right: .operate, mediaTypes: [], answer: GetMetrics.answer)),
    .init(.get, "/problems/{name}", Route(name: "problems", right: .none, mediaTypes: [], answer: GetProblem.answer)),
])
