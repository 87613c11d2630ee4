import HTTPCore
import SnapshotKit

/// What an endpoint does once the body has arrived.
package typealias Answer = @Sendable (_ body: consuming [UInt8]) throws(Problem) -> Reply

/// The route of a request, for metrics and logs.
enum RouteName: String, CaseIterable, Sendable {
    /// No route matched.
    case other
    /// OPTIONS on any route, including preflights.
    case options
    case diff, shape, list, session, changes, fetch, changesOfMany, item, items
    case section, sectionChanges, sections, settings, tokens, livez, readyz, page, openapi, metrics, hot, problems
}

/// One route: who may use it, the parameters of its query, and what it does.
package final class Route: Sendable {
    /// Several routes may share a name.
    let name: RouteName
    /// The label of this route's answers.
    let label: AnswerLabel
    /// Nil if the route is open to all.
    let permission: Permission?
    /// Probes are never rate-limited: by their answers, supervisors restart the process or send it traffic.
    let isProbe: Bool
    let parameters: Set<String>
    /// The parameters that may be repeated.
    let lists: Set<String>
    /// Whether bodies are merge patches; otherwise they are JSON documents.
    let takesPatches: Bool
    /// Whether all answers are `application/json`; otherwise the endpoint negotiates.
    let isJSON: Bool
    let work: Work

    /// What an endpoint does.
    enum Work: Sendable {
        /// Checks the query and the accepted types before the client sends its body.
        case withBody(@Sendable (Call) throws(Problem) -> Answer)
        case withoutBody(@Sendable (Call) throws(Problem) -> Reply)
        /// Neither authenticated nor negotiated. Takes no parameters, and ignores any that are given.
        case open(@Sendable (OpenCall) throws(Problem) -> Response)

        /// An endpoint that works on a session.
        static func session<Endpoint: SessionEndpoint>(_: Endpoint.Type, takesBody: Bool = false) -> Work {
            guard takesBody else {
                return .withoutBody { (call) throws(Problem) in
                    let endpoint = try Endpoint(call)
                    try call.checkAcceptance()
                    return try call.respond(endpoint, [])
                }
            }
            return .withBody { (call) throws(Problem) in
                let endpoint = try Endpoint(call)
                // Captures one reference, so that the closure allocates nothing.
                return { (body) throws(Problem) in try endpoint.call.respond(endpoint, body) }
            }
        }
    }

    init(
        _ name: RouteName, _ work: Work, _ permission: Permission? = nil, parameters: Set<String> = [],
        lists: Set<String> = [], takesPatches: Bool = false, isJSON: Bool = true, isProbe: Bool = false
    ) {
        (self.name, self.permission, self.work, self.parameters) = (name, permission, work, parameters)
        label = AnswerLabel(name)
        (self.lists, self.takesPatches, self.isJSON, self.isProbe) = (lists, takesPatches, isJSON, isProbe)
    }
}

let routes = Router<Route>(allRoutes)
/// The path patterns of all routes.
let routePatterns = allRoutes.map(\.pattern)

/// The whole service on one screen.
private let allRoutes: [Router<Route>.Route] = [
    .init(
        .post, "/v1/diff",
        Route(
            .diff, .withBody(PostDiff.prepare), .compute,
            parameters: ChangesStyle.parameters.union(Parameters.shape).union(Projection.view),
            lists: Parameters.shapeLists, isJSON: false)),
    .init(.post, "/v1/shape", Route(.shape, .withBody(PostShape.prepare), .compute)),
    .init(
        .get, "/v1/sessions",
        Route(.list, .withoutBody(GetSessions.answer), .list, parameters: ["prefix", "after", "limit", "source"])),
    .init(
        .put, "/v1/sessions/{session}",
        Route(
            .session, .session(PutSession.self, takesBody: true), .write, parameters: Parameters.shape,
            lists: Parameters.shapeLists)),
    .init(
        .get, "/v1/sessions/{session}",
        Route(.session, .session(GetSession.self), .read, parameters: Projection.view)),
    .init(.delete, "/v1/sessions/{session}", Route(.session, .session(DeleteSession.self), .write, isJSON: false)),
    .init(
        .post, "/v1/sessions/{session}/changes",
        Route(
            .changes, .session(PostChanges.self, takesBody: true), .edit,
            parameters: PostChanges.parameters.union(Parameters.shape), lists: Parameters.shapeLists, isJSON: false)),
    .init(
        .get, "/v1/sessions/{session}/changes",
        Route(
            .changes, .session(GetChanges.self), .read,
            parameters: ChangesStyle.parameters.union(Projection.parameters).union(["since", "wait", "every"]),
            isJSON: false)),
    .init(
        .post, "/v1/sessions/{session}/fetch",
        Route(
            .fetch, .withoutBody(PostFetch.answer), .write, parameters: ChangesStyle.parameters.union(["since"]),
            isJSON: false)),
    .init(
        .get, "/v1/changes",
        Route(
            .changesOfMany, .withoutBody(GetManyChanges.answer), .read,
            parameters: ChangesStyle.parameters.union(["session", "every"]), lists: ["session"], isJSON: false)),
    .init(
        .get, "/v1/sessions/{session}/items/{item}",
        Route(.item, .session(GetElement<StateItem>.self), .read, parameters: ["revision", "view"])),
    .init(
        .patch, "/v1/sessions/{session}/items/{item}",
        Route(
            .item, .session(PatchContent<StateItem>.self, takesBody: true), .edit, parameters: PostChanges.parameters,
            takesPatches: true, isJSON: false)),
    .init(
        .get, "/v1/sessions/{session}/items",
        Route(
            .items, .session(GetElements<StateItem>.self), .read, parameters: ["at", "id", "revision", "view"],
            lists: ["at", "id"])),
    .init(
        .get, "/v1/sessions/{session}/sections/{section}",
        Route(.section, .session(GetElement<StateSection>.self), .read, parameters: ["revision", "view"])),
    .init(
        .patch, "/v1/sessions/{session}/sections/{section}",
        Route(
            .section, .session(PatchContent<StateSection>.self, takesBody: true), .edit,
            parameters: PostChanges.parameters, takesPatches: true, isJSON: false)),
    .init(
        .post, "/v1/sessions/{session}/sections/{section}/changes",
        Route(
            .sectionChanges, .session(PostSection.self, takesBody: true), .write, parameters: PostSection.parameters,
            lists: Parameters.shapeLists, isJSON: false)),
    .init(
        .get, "/v1/sessions/{session}/sections",
        Route(
            .sections, .session(GetElements<StateSection>.self), .read, parameters: ["at", "id", "revision", "view"],
            lists: ["at", "id"])),
    .init(.get, "/v1/sessions/{session}/settings", Route(.settings, .session(GetSettings.self), .write)),
    .init(.post, "/v1/sessions/{session}/tokens", Route(.tokens, .withBody(PostTokens.prepare), .write)),
    .init(
        .delete, "/v1/sessions/{session}/tokens",
        Route(.tokens, .withoutBody(DeleteTokens.answer), .write, isJSON: false)),
    .init(
        .delete, "/v1/sessions/{session}/tokens/{jti}",
        Route(.tokens, .withoutBody(DeleteTokens.answerForOne), .write, isJSON: false)),
    .init(.post, "/v1/tokens", Route(.tokens, .withBody(PostTokens.prepareForSeveral), .write)),
    .init(.get, "/livez", Route(.livez, .open(GetHealth.live), isProbe: true)),
    .init(.get, "/readyz", Route(.readyz, .open(GetHealth.ready), isProbe: true)),
    .init(.get, "/", Route(.page, .open(GetFile["index.html"].answer))),
    .init(.get, "/page", Route(.page, .open(GetPage.answer))),
    .init(.get, "/playground/{file}", Route(.page, .open(GetFile.module))),
    .init(.get, "/client.js", Route(.page, .open(GetFile["client.js"].answer))),
    .init(.get, "/apply.js", Route(.page, .open(GetFile["apply.js"].answer))),
    .init(.get, "/bind.js", Route(.page, .open(GetFile["bind.js"].answer))),
    .init(.get, "/updates.js", Route(.page, .open(GetFile["updates.js"].answer))),
    .init(.get, "/edits.js", Route(.page, .open(GetFile["edits.js"].answer))),
    .init(.get, "/live-list.js", Route(.page, .open(GetFile["live-list.js"].answer))),
    .init(.get, "/client.d.ts", Route(.page, .open(GetFile["client.d.ts"].answer))),
    .init(.get, "/openapi.json", Route(.openapi, .open(GetFile.description))),
    .init(.get, "/metrics", Route(.metrics, .withoutBody(GetMetrics.answer), .operate, isJSON: false)),
    .init(.get, "/debug/hot", Route(.hot, .withoutBody(GetHot.answer), .survey, parameters: ["by"])),
    .init(.get, "/problems/{name}", Route(.problems, .open(GetProblem.answer))),
]
