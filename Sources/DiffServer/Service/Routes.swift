import HTTPCore
import SnapshotKit

/// What an endpoint does once the body is there.
typealias Answer = @Sendable (_ body: consuming [UInt8]) throws(Problem) -> Reply

/// One row of the service: who may, what the query may hold, what is done.
final class Route: Sendable {
    /// Its label in logs and metrics.
    let name: String
    /// Nil where the route is open to all.
    let permission: Permission?
    /// Whether it may be asked for however often: who asks decides by the answer whether to restart the process, or to
    /// send it work.
    let isProbe: Bool
    let parameters: Set<String>
    /// Parameters that may be given more than once.
    let lists: Set<String>
    /// What the answers are made of; empty where the endpoint negotiates by itself.
    let mediaTypes: [String]
    let work: Work

    /// What an endpoint does.
    enum Work: Sendable {
        /// Reads the query, and what is accepted, before anybody sends a body in vain.
        case withBody(@Sendable (Call) throws(Problem) -> Answer)
        case withoutBody(@Sendable (Call) throws(Problem) -> Reply)
        /// Asks nobody who they are, and negotiates by itself. Has no parameters, and takes any: what is asked for
        /// cannot be misunderstood.
        case open(@Sendable (OpenCall) throws(Problem) -> Response)
    }

    /// An endpoint that works on a session.
    init<Endpoint: SessionEndpoint>(
        name: String, _ permission: Permission, _ endpoint: Endpoint.Type, takesBody: Bool = false,
        parameters: Set<String> = [], lists: Set<String> = [], mediaTypes: [String] = ["application/json"]
    ) {
        (self.name, self.permission, self.parameters, self.lists) = (name, permission, parameters, lists)
        (self.mediaTypes, isProbe) = (mediaTypes, false)
        work =
            takesBody
            ? .withBody { (call) throws(Problem) in
                let endpoint = try Endpoint(call)
                return { (body) throws(Problem) in try call.respond(endpoint, body) }
            }
            : .withoutBody { (call) throws(Problem) in try call.respond(try Endpoint(call), []) }
    }

    /// An endpoint that works on its body alone.
    init(
        name: String, _ permission: Permission, parameters: Set<String> = [], lists: Set<String> = [],
        mediaTypes: [String] = ["application/json"],
        prepare: @escaping @Sendable (Call) throws(Problem) -> Answer
    ) {
        (self.name, self.permission, self.parameters, self.lists) = (name, permission, parameters, lists)
        (self.mediaTypes, work, isProbe) = (mediaTypes, .withBody(prepare), false)
    }

    /// One that looks at nothing but the head; without media types it negotiates by itself.
    init(
        name: String, _ permission: Permission, parameters: Set<String> = [], lists: Set<String> = [],
        mediaTypes: [String] = [], answer: @escaping @Sendable (Call) throws(Problem) -> Reply
    ) {
        (self.name, self.permission, self.parameters, self.lists) = (name, permission, parameters, lists)
        (self.mediaTypes, work, isProbe) = (mediaTypes, .withoutBody(answer), false)
    }

    /// One that is open to all.
    init(name: String, isProbe: Bool = false, open: @escaping @Sendable (OpenCall) throws(Problem) -> Response) {
        (self.name, permission, self.isProbe, parameters, lists) = (name, nil, isProbe, [], [])
        (mediaTypes, work) = ([], .open(open))
    }
}

/// The whole service on one screen.
let routes = Router<Route>([
    .init(
        .post, "/v1/diff",
        Route(
            name: "diff", .compute, parameters: ChangesOptions.parameters.union(Parameters.shape).union(Sight.view),
            lists: Parameters.shapeLists, mediaTypes: [], prepare: PostDiff.prepare)),
    .init(
        .get, "/v1/sessions",
        Route(
            name: "list", .list, parameters: ["prefix", "after", "limit"], mediaTypes: ["application/json"],
            answer: GetSessions.answer)),
    .init(
        .put, "/v1/sessions/{session}",
        Route(
            name: "session", .write, PutSession.self, takesBody: true, parameters: Parameters.shape,
            lists: Parameters.shapeLists)),
    .init(.get, "/v1/sessions/{session}", Route(name: "session", .read, GetSession.self, parameters: Sight.view)),
    .init(.delete, "/v1/sessions/{session}", Route(name: "session", .write, DeleteSession.self, mediaTypes: [])),
    .init(
        .post, "/v1/sessions/{session}/changes",
        Route(
            name: "changes", .edit, PostChanges.self, takesBody: true,
            parameters: ChangesOptions.parameters.union(Parameters.shape).union(Sight.parameters)
                .union(["since", "reload"]),
            lists: Parameters.shapeLists, mediaTypes: [])),
    .init(
        .get, "/v1/sessions/{session}/changes",
        Route(
            name: "changes", .read, GetChanges.self,
            parameters: ChangesOptions.parameters.union(Sight.parameters).union(["since", "wait", "every"]),
            mediaTypes: [])),
    .init(
        .post, "/v1/sessions/{session}/fetch",
        Route(
            name: "fetch", .write, parameters: ChangesOptions.parameters.union(["since"]), mediaTypes: [],
            answer: PostFetch.answer)),
    .init(
        .get, "/v1/changes",
        Route(
            name: "changesOfMany", .read, parameters: ChangesOptions.parameters.union(["session", "every"]),
            lists: ["session"], answer: GetManyChanges.answer)),
    .init(
        .get, "/v1/sessions/{session}/items/{item}",
        Route(name: "item", .read, GetElement<StateItem>.self, parameters: ["revision", "view"])),
    .init(
        .get, "/v1/sessions/{session}/items",
        Route(
            name: "items", .read, GetElements<StateItem>.self, parameters: ["at", "id", "revision", "view"],
            lists: ["at", "id"])),
    .init(
        .get, "/v1/sessions/{session}/sections/{section}",
        Route(name: "section", .read, GetElement<StateSection>.self, parameters: ["revision", "view"])),
    .init(
        .get, "/v1/sessions/{session}/sections",
        Route(
            name: "sections", .read, GetElements<StateSection>.self, parameters: ["at", "id", "revision", "view"],
            lists: ["at", "id"])),
    .init(.post, "/v1/sessions/{session}/tokens", Route(name: "tokens", .write, prepare: PostTokens.prepare)),
    .init(.delete, "/v1/sessions/{session}/tokens", Route(name: "tokens", .write, answer: DeleteTokens.answer)),
    .init(.post, "/v1/tokens", Route(name: "tokens", .write, prepare: PostTokens.prepareForSeveral)),
    .init(.get, "/livez", Route(name: "livez", isProbe: true, open: GetHealth.live)),
    .init(.get, "/readyz", Route(name: "readyz", isProbe: true, open: GetHealth.ready)),
    .init(.get, "/", Route(name: "page", open: GetFile.page.answer)),
    .init(.get, "/playground/{file}", Route(name: "page", open: GetFile.module)),
    .init(.get, "/client.js", Route(name: "page", open: GetFile.client.answer)),
    .init(.get, "/apply.js", Route(name: "page", open: GetFile.apply.answer)),
    .init(.get, "/bind.js", Route(name: "page", open: GetFile.bind.answer)),
    .init(.get, "/updates.js", Route(name: "page", open: GetFile.updates.answer)),
    .init(.get, "/edits.js", Route(name: "page", open: GetFile.edits.answer)),
    .init(.get, "/client.d.ts", Route(name: "page", open: GetFile.clientTypes.answer)),
    .init(.get, "/openapi.json", Route(name: "openapi", open: GetFile.description.answer)),
    .init(.get, "/metrics", Route(name: "metrics", .operate, answer: GetMetrics.answer)),
    .init(.get, "/problems/{name}", Route(name: "problems", open: GetProblem.answer)),
])
