import HTTPCore
import SnapshotKit

/// What an endpoint does once the body has arrived.
package typealias Answer = @Sendable (_ body: consuming [UInt8]) throws(Problem) -> Reply

/// The route of a request, for metrics and logs: `options` for OPTIONS on any, `other` if none matched.
enum RouteName: String, CaseIterable, Sendable {
    case other, options
    case diff, shape, list, session, changes, fetch, changesOfMany, item, items
    case section, sectionChanges, sections, settings, tokens, livez, readyz, page, openapi, metrics, hot, problems
}

/// One route: who may use it, the parameters of its query, and what it does.
package final class Route: Sendable {
    let method: Method
    let pattern: String
    /// Several routes may share a name.
    let name: RouteName
    let label: AnswerLabel
    let work: Work
    /// Nil if the route is open to all.
    let permission: Permission?
    let parameters: Set<String>
    /// The parameters that may be repeated.
    let lists: Set<String>
    /// Whether all answers are `application/json`; otherwise the endpoint negotiates.
    let isJSON: Bool
    /// Probes are never rate-limited: by their answers, supervisors restart the process or send it traffic.
    let isProbe: Bool
    /// Whether bodies are merge patches; otherwise they are JSON documents.
    var takesPatches: Bool { if case .patch = method { true } else { false } }

    /// What an endpoint does.
    enum Work: Sendable {
        /// Checks the query and the accepted types before the client sends its body.
        case withBody(@Sendable (Call) throws(Problem) -> Answer)
        case withoutBody(@Sendable (Call) throws(Problem) -> Reply)
        /// Neither authenticated nor negotiated. Takes no parameters, and ignores any that are given.
        case open(@Sendable (OpenCall) throws(Problem) -> Response)

        static func session<Endpoint: SessionEndpoint>(_: Endpoint.Type) -> Work {
            .withoutBody { (call) throws(Problem) in
                let endpoint = try Endpoint(call)
                try call.checkAcceptance()
                return try call.respond(endpoint, [])
            }
        }

        static func session<Endpoint: SessionEndpoint>(withBody _: Endpoint.Type) -> Work {
            .withBody { (call) throws(Problem) in
                let endpoint = try Endpoint(call)
                // Captures one reference, so that the closure allocates nothing.
                return { (body) throws(Problem) in try endpoint.call.respond(endpoint, body) }
            }
        }
    }

    init(
        _ method: Method, _ pattern: String, _ name: RouteName, _ work: Work, _ permission: Permission? = nil,
        _ parameters: Set<String> = [], lists: Set<String> = Parameters.lists, isJSON: Bool = true,
        isProbe: Bool = false
    ) {
        (self.method, self.pattern, self.name, label, self.work) = (method, pattern, name, AnswerLabel(name), work)
        (self.permission, self.parameters, self.lists) = (permission, parameters, lists)
        (self.isJSON, self.isProbe) = (isJSON, isProbe)
    }
}

let routes = Router<Route>(allRoutes.map { .init($0.method, $0.pattern, $0) })
let routePatterns = allRoutes.map(\.pattern)

/// The whole service on one screen.
private let allRoutes: [Route] = [
    Route(
        .post, "/v1/diff", .diff, .withBody(PostDiff.prepare), .compute,
        ChangesStyle.parameters.union(Parameters.shape).union(Projection.view), isJSON: false),
    Route(.post, "/v1/shape", .shape, .withBody(PostShape.prepare), .compute),
    Route(.get, "/v1/sessions", .list, .withoutBody(GetSessions.answer), .list, GetSessions.parameters),
    Route(.put, "/v1/sessions/{session}", .session, .session(withBody: PutSession.self), .write, Parameters.shape),
    Route(.get, "/v1/sessions/{session}", .session, .session(GetSession.self), .read, Projection.view),
    Route(.delete, "/v1/sessions/{session}", .session, .session(DeleteSession.self), .write, isJSON: false),
    Route(
        .post, "/v1/sessions/{session}/changes", .changes, .session(withBody: PostChanges.self), .edit,
        PostChanges.parameters.union(Parameters.shape), isJSON: false),
    Route(
        .get, "/v1/sessions/{session}/changes", .changes, .session(GetChanges.self), .read,
        ChangesStyle.parameters.union(Projection.parameters).union(["since", "wait", "every"]), isJSON: false),
    Route(
        .post, "/v1/sessions/{session}/fetch", .fetch, .withoutBody(PostFetch.answer), .write,
        ChangesStyle.parameters.union(["since"]), isJSON: false),
    Route(
        .get, "/v1/changes", .changesOfMany, .withoutBody(GetManyChanges.answer), .read,
        ChangesStyle.parameters.union(["session", "every"]), isJSON: false),
    Route(
        .get, "/v1/sessions/{session}/items/{item}", .item, .session(GetElement<StateItem>.self), .read,
        ["revision", "view"]),
    Route(
        .patch, "/v1/sessions/{session}/items/{item}", .item, .session(withBody: PatchContent<StateItem>.self), .edit,
        PostChanges.parameters, isJSON: false),
    Route(
        .get, "/v1/sessions/{session}/items", .items, .session(GetElements<StateItem>.self), .read,
        ["at", "id", "revision", "view"], lists: ["at", "id"]),
    Route(
        .get, "/v1/sessions/{session}/sections/{section}", .section, .session(GetElement<StateSection>.self), .read,
        ["revision", "view"]),
    Route(
        .patch, "/v1/sessions/{session}/sections/{section}", .section,
        .session(withBody: PatchContent<StateSection>.self), .edit, PostChanges.parameters, isJSON: false),
    Route(
        .post, "/v1/sessions/{session}/sections/{section}/changes", .sectionChanges,
        .session(withBody: PostChanges.self), .write, PostChanges.sectionParameters, isJSON: false),
    Route(
        .get, "/v1/sessions/{session}/sections", .sections, .session(GetElements<StateSection>.self), .read,
        ["at", "id", "revision", "view"], lists: ["at", "id"]),
    Route(.get, "/v1/sessions/{session}/settings", .settings, .session(GetSettings.self), .write),
    Route(.post, "/v1/sessions/{session}/tokens", .tokens, .withBody(PostTokens.prepare), .write),
    Route(.delete, "/v1/sessions/{session}/tokens", .tokens, .withoutBody(DeleteTokens.answer), .write, isJSON: false),
    Route(
        .delete, "/v1/sessions/{session}/tokens/{jti}", .tokens, .withoutBody(DeleteTokens.answer), .write,
        isJSON: false),
    Route(.post, "/v1/tokens", .tokens, .withBody(PostTokens.prepare), .write),
    Route(.get, "/livez", .livez, .open(GetHealth.live), isProbe: true),
    Route(.get, "/readyz", .readyz, .open(GetHealth.ready), isProbe: true),
    Route(.get, "/", .page, .open(GetFile["index.html"].answer)),
    Route(.get, "/page", .page, .open(GetPage.answer)),
    Route(.get, "/playground/{file}", .page, .open(GetFile.module)),
    Route(.get, "/client.js", .page, .open(GetFile["client.js"].answer)),
    Route(.get, "/apply.js", .page, .open(GetFile["apply.js"].answer)),
    Route(.get, "/bind.js", .page, .open(GetFile["bind.js"].answer)),
    Route(.get, "/updates.js", .page, .open(GetFile["updates.js"].answer)),
    Route(.get, "/edits.js", .page, .open(GetFile["edits.js"].answer)),
    Route(.get, "/live-list.js", .page, .open(GetFile["live-list.js"].answer)),
    Route(.get, "/client.d.ts", .page, .open(GetFile["client.d.ts"].answer)),
    Route(.get, "/openapi.json", .openapi, .open(GetFile.description)),
    Route(.get, "/metrics", .metrics, .withoutBody(GetMetrics.answer), .operate, isJSON: false),
    Route(.get, "/debug/hot", .hot, .withoutBody(GetHot.answer), .survey, ["by"]),
    Route(.get, "/problems/{name}", .problems, .open(GetProblem.answer)),
]
