// A client of one session. It does not compute differences: the server says what changed, and the appliers do it.
//
// It reads a stream of events, opened while somebody waits for updates, or long polls where streams do not get through.
// Both are pulled: an answer leads from the list shown to the server's head, and if events arrive faster than they are
// read, the stream is closed, and a new one brings the rest in one step. So a slow animation makes no queue grow,
// neither here nor on the server.
//
// Rows, ids and windows are SnapshotKit's, and requests are FoundationNetworking's where that is a module of its own.
// Both are exported, so that `import DiffClient` is all that an app needs.

import Foundation
@_exported import SnapshotKit

#if canImport(FoundationNetworking)
    @_exported import FoundationNetworking
#endif

/// A session of a diffserver: follows its changes, and writes to it.
///
/// ```swift
/// let client = ListClient(url: server, session: "inbox", token: token)
/// _ = try await client.post(state: JSONText(#"[{"id":17,"content":{"subject":"Hello"}}]"#))
/// for try await update in client.updates {
///     print(update.list.sections[0].rows.map(\.id))  // [17]
///     break
/// }
/// ```
public struct ListClient: Sendable {
    /// The form that changes come in.
    public enum Form: Sendable {
        /// By id, for SwiftUI and any view of the whole list.
        case keyed
        /// In stages, each of them safe as one batch of UICollectionView, UITableView or NSCollectionView. `compact`
        /// merges stages that views carry out reliably together.
        case staged(compact: Bool = false)
        /// As final ids and what to draw again, for NSDiffableDataSourceSnapshot.
        case diffable

        fileprivate var query: Query {
            switch self {
            case .keyed: [("dialect", Dialect.keyed.rawValue)]
            case .staged(let compact):
                [("dialect", Dialect.staged.rawValue), ("staging", compact ? Staging.compact.rawValue : nil)]
            case .diffable: [("dialect", Dialect.diffable.rawValue)]
            }
        }
    }

    /// The state of the connection.
    public enum Status: Sendable, Equatable {
        /// Nothing has been answered yet.
        case connecting
        /// The server has answered.
        case live
        /// The server answers, but what is shown may be old: the list's source, or the server's store, has been silent
        /// for this many seconds. It is `live` again once that is over.
        case stale(seconds: Int)
        /// The client tries again after a delay; the list shown stays. A problem with status 404 means that nobody has
        /// posted the list yet, or a misspelt name.
        case waiting(ServerProblem, seconds: TimeInterval)
        /// Trying again cannot help: the token is refused, or the request or the server's URL is wrong.
        case stopped(ServerProblem)
    }

    /// Edits that the server has not answered yet.
    public struct Pending: Sendable, Equatable {
        /// How many calls of `edit` wait.
        public let count: Int
        /// The rows and sections that they name.
        let ids: Set<ElementID>

        static let none = Pending(count: 0, ids: [])

        /// Whether one of them names the row, or the section.
        public func has(_ id: some ElementIDConvertible) -> Bool { ids.contains(id.elementID) }
    }

    /// The server's address.
    public let url: URL
    /// The session's name.
    public let session: String
    /// The form that changes come in.
    public var form = Form.keyed
    /// The view of the session to follow; nil for all of it. If the list passed to `updates(from:)` was followed with
    /// another view, the first update is a reset.
    public var view: ListView?
    /// The rows to follow; nil for all of them. Copies of a client share it.
    public var window: ListWindow?
    /// How updates carry contents: by default as little as brings them up to date. The list has whole contents in any
    /// case.
    public var content = ContentStyle.delta
    /// Whether to receive a reset, `large`, if the changes would take more bytes than the whole list.
    public var prefersSmallest = false
    /// Whether to poll instead of reading a stream. Where streams do not get through, the client polls for a while.
    public var polls = false
    /// How many seconds lie between polls that the server does not hold, a tenth more or less; nil for streams, and
    /// polls that it holds. For public sessions behind a cache: all readers of a revision ask for one URL.
    public var pollInterval: TimeInterval?
    /// How many seconds the server holds a poll while nothing changes, at most 60.
    public var wait: TimeInterval = 25
    /// For how many seconds an edit is retried if answers are lost or the server is not ready. It is given up as soon
    /// as the next try would come later than that.
    public var patience: TimeInterval = 60
    /// How long to wait before trying again.
    public var backOff = BackOff()
    /// Encodes posted values, and the contents in edits. Copies of a client share it.
    public var encoder = JSONEncoder()
    /// Called when the state of the connection changes, on any thread.
    public var onStatus: (@Sendable (Status) -> Void)?
    /// Called by loops over `updates` when other edits wait for the server than before, on any thread.
    public var onPending: (@Sendable (Pending) -> Void)?
    /// Sends requests in place of the client's own `URLSession`, and makes the client poll. To use a session of yours:
    /// `client.transport = { try await session.data(for: $0) }`.
    public var transport: (@Sendable (URLRequest) async throws -> (Data, URLResponse))?

    /// Edits that are shown but not confirmed. Copies of a client share them.
    let queue = PendingEdits()
    /// Reasons to ask again at once. Copies of a client share it.
    let connectivity = Connectivity()
    private let token: @Sendable () async throws -> String?
    private let renewsToken: Bool
    /// Whether requests go without credentials, so that a missing session is 401 as well.
    private let isAnonymous: Bool

    /// A client of a session, with a fixed key or token.
    public init(url: URL, session: String, token: String? = nil) {
        (self.url, self.session, self.token, renewsToken, isAnonymous) = (url, session, { token }, false, token == nil)
    }

    /// A client of a session that asks for a token before each request, so that it can be renewed, and retries after
    /// 401.
    public init(url: URL, session: String, renewing token: @escaping @Sendable () async throws -> String?) {
        (self.url, self.session, self.token, renewsToken, isAnonymous) = (url, session, token, true, false)
    }

    /// The edits of this client and its copies that wait for the server now.
    public var pending: Pending { queue.waiting }

    /// Asks again at once, because the network has changed or the app is in the foreground again. Ends a pause after a
    /// failure, unless the server asked for it. On Apple's platforms the client does this on its own.
    public func reconnect() { connectivity.reconnections.change { $0 += 1 } }

    /// Whether asking again may help: for a reader without credentials, what is missing is 401 as well.
    func mayPass(_ problem: ServerProblem) -> Bool {
        problem.isPassing || (renewsToken || isAnonymous) && problem.status == 401
    }

    /// Whether writing again may help; a session must be there, and who may write it has credentials.
    func mayWriteAgain(after problem: ServerProblem) -> Bool {
        problem.status != 404 && (problem.isPassing || renewsToken && problem.status == 401)
    }
}

// MARK: Requests

extension ListClient {
    /// The parameters of an address; those without a value are left out.
    typealias Query = [(name: String, value: String?)]

    func request(_ query: Query, timeout: TimeInterval) -> URLRequest {
        let base = String(url.absoluteString.reversed().drop { $0 == "/" }.reversed())
        // The name stays one segment of the path, whatever its characters.
        let characters = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: "/"))
        let name = session.addingPercentEncoding(withAllowedCharacters: characters) ?? ""
        var components = URLComponents(string: "\(base)/v1/sessions/\(name)/changes") ?? URLComponents()
        // In one order, so that caches find what others have asked for; but parts of an id stay in theirs.
        let parameters = query.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
        components.queryItems = parameters.compactMap { _, parameter in
            parameter.value.map { URLQueryItem(name: parameter.name, value: $0) }
        }
        // Some servers decode a plus as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return URLRequest(
            url: components.url ?? url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: timeout)
    }

    var viewQuery: Query { [("view", view?.json.description)] }

    func query(in rows: StateWindow?) -> Query { form.query + viewQuery + (rows?.query ?? []) }

    /// Reads what has changed since a revision. A server that does not know `delta` is asked for patches from then on.
    func reading(by mode: Following.Mode, since revision: String?, in rows: StateWindow?) -> OpenRequest.Reading {
        let query = query(in: rows) + [("since", revision), ("smallest", prefersSmallest ? "true" : nil)]
        return { events throws(ServerProblem) in
            let asksForDelta = content == .delta && connectivity.serverKnowsDelta.value
            do throws(ServerProblem) {
                return try await read(by: mode, query, content == .delta && !asksForDelta ? .patch : content, events)
            } catch { if error.status != 400 || !asksForDelta { throw error } }
            connectivity.serverKnowsDelta.change { $0 = false }
            return try await read(by: mode, query, .patch, events)
        }
    }

    private func read(
        by mode: Following.Mode, _ query: Query, _ style: ContentStyle, _ events: @escaping @Sendable (Data) -> Bool
    ) async throws(ServerProblem) -> News.Item {
        let query = query + [("content", style == .full ? nil : style.rawValue)]
        guard case .poll(let wait) = mode else {
            // `Following` gives up earlier than that.
            return try await stream(request(query, timeout: 90), events)
        }
        let seconds = Int(max(0, min(wait, 60)))
        // If it takes longer than the server holds it, the request is lost.
        let request = request([("wait", seconds > 0 ? "\(seconds)" : nil)] + query, timeout: Double(seconds) + 20)
        return .changes(try await answer(to: request, accepting: "*/*"))
    }

    private func stream(
        _ request: URLRequest, _ events: @escaping @Sendable (Data) -> Bool
    ) async throws(ServerProblem) -> News.Item {
        do throws(ServerProblem) {
            let (_, response) = try await exchange(request, accepting: "text/event-stream", events)
            if !response.isEventStream { return .unavailable }
        } catch {
            if error.status == 406 { return .unavailable }
            throw error
        }
        throw ServerProblem(title: "The stream broke off")
    }

    /// Sends a request, and checks that the answer is one of the server's.
    func answer(
        to request: URLRequest, accepting type: String = "application/json"
    ) async throws(ServerProblem) -> [UInt8] {
        let (body, response) = try await exchange(request, accepting: type)
        // A proxy or a login portal may answer 200, too.
        let type = response.contentType
        guard type.hasPrefix("application/") && type.contains("json") else {
            throw ServerProblem(title: "Not the server's answer", detail: "\(type) instead of JSON")
        }
        return [UInt8](body)
    }

    /// Sends a request with the token. Any status but success is an error.
    private func exchange(
        _ request: URLRequest, accepting type: String, _ events: (@Sendable (Data) -> Bool)? = nil
    ) async throws(ServerProblem) -> (Data, HTTPURLResponse) {
        guard ["http", "https"].contains(url.scheme?.lowercased()) else { throw .noScheme }
        var request = request
        request.setValue(type, forHTTPHeaderField: "Accept")
        let (body, response): (Data, URLResponse)
        do {
            if let secret = try await token() {
                request.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
            }
            let carry = transport ?? { try await Carrier.shared.carry($0, events: events) }
            (body, response) = try await carry(request)
        } catch { throw ServerProblem(title: "No connection", detail: error.localizedDescription) }
        guard let response = response as? HTTPURLResponse else { throw ServerProblem(title: "The answer is not HTTP") }
        guard (200..<300).contains(response.statusCode) else { throw ServerProblem(response, body) }
        return (body, response)
    }
}

// MARK: - Back-off

extension ListClient {
    /// How long to wait before trying again.
    public struct BackOff: Sendable, Equatable {
        /// The most seconds after the first failure; each further one doubles it.
        public var first: TimeInterval
        /// The most seconds, unless the server asks for more.
        public var longest: TimeInterval

        /// Defaults to a second at first, and half a minute in the end.
        public init(first: TimeInterval = 1, longest: TimeInterval = 30) {
            (self.first, self.longest) = (first, longest)
        }

        /// The pause after several failures in a row, in seconds.
        ///
        /// Half of it is random (`chance` from 0 to 1), so that clients do not all return at once. A `Retry-After` is
        /// respected, up to a day, and the random part added: a date far off must not stop a client for good.
        public func pause(
            after failures: Int, retryAfter: TimeInterval?, chance: Double = .random(in: 0...1)
        ) -> TimeInterval {
            let share = 0.5 + chance / 2
            if let retryAfter { return min(retryAfter, 86_400) + first * share }
            // By 2^20 any first pause has reached the longest.
            return min(first * TimeInterval(1 << min(failures, 20)), longest) * share
        }
    }
}

extension TimeInterval {
    /// Seconds since the system started, by a clock that cannot be set.
    static var uptime: TimeInterval { ProcessInfo.processInfo.systemUptime }
}

extension Task where Success == Never, Failure == Never {
    /// Sleeps for seconds, or until the task is cancelled.
    static func pause(for seconds: TimeInterval) async {
        try? await sleep(nanoseconds: UInt64(max(0, min(seconds, 1e9)) * 1e9))
    }
}
