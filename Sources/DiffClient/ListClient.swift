// A client of one session. It holds no diff code: the server says what changed, and SnapshotKit's appliers do it.
//
// Reading is by one stream of events, opened while somebody waits for updates, or by long polls where streams do not
// get through. Both are pulled: an answer leads from what is shown to what the server holds, and where more events come
// than are read, the stream is given up and a new one brings the rest in one step. So an animation that takes its time
// keeps no queue growing, neither here nor on the server.

import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A session of a diffserver: what changes in it, and writing to it.
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
    /// How changes are wanted.
    public enum Form: Sendable {
        /// By id: SwiftUI, and whoever shows the whole list anyway.
        case keyed
        /// In stages, each safe as one batch: UICollectionView, UITableView, NSCollectionView. `compact` merges stages
        /// where a view carries them out reliably together.
        case staged(compact: Bool = false)
        /// As final ids and what to draw again: NSDiffableDataSourceSnapshot.
        case diffable
    }

    /// What the connection is doing.
    public enum Status: Sendable, Equatable {
        /// Nothing has been answered yet.
        case connecting
        /// The server has answered.
        case live
        /// It asks again after the delay; what is shown stays. A problem with status 404 is a list that nobody has
        /// posted yet, or a misspelt name.
        case waiting(ServerProblem, seconds: TimeInterval)
        /// Asking again cannot help: the token is refused, or the request is wrong.
        case stopped(ServerProblem)
    }

    /// Where the server is.
    public let url: URL
    /// The session's name.
    public let session: String
    /// How changes are wanted; by id, unless it is set.
    public var form = Form.keyed
    /// What is followed of the session, as a view in JSON; nil for all of it. The same as what `updates(from:)` begins
    /// with was seen through, or all comes anew.
    public var view: JSONText?
    /// Which rows are followed; nil for all of them. Copies of a client share it.
    public var window: ListWindow?
    /// Whether updates bring what changed of a content, where that is smaller. The list has the whole content all the
    /// same.
    public var receivesPatches = false
    /// Whether an update is a reset, `large`, where the changes would take more bytes than the whole list.
    public var prefersSmallest = false
    /// Whether it asks again and again for what has changed, in place of one stream. It does so by itself for a while
    /// where streams do not get through.
    public var polls = false
    /// How many seconds the server holds a poll while nothing changes, at most 60.
    public var wait: TimeInterval = 25
    /// For how many seconds an edit is tried again where answers are lost, or the server is not ready.
    public var patience: TimeInterval = 60
    /// How long to wait before asking again.
    public var backOff = BackOff()
    /// Told what the connection is doing, on no particular thread.
    public var onStatus: (@Sendable (Status) -> Void)?
    /// Carries a request to the server and its answer back, in place of the client's own `URLSession`. It polls then.
    /// To go through a session of yours: `client.transport = { try await session.data(for: $0) }`.
    public var transport: (@Sendable (URLRequest) async throws -> (Data, URLResponse))?

    /// Edits that are shown and not confirmed. Copies of a client share them.
    let pending = PendingEdits()
    /// When to ask anew. Copies of a client share it.
    let connectivity = Connectivity()
    private let token: @Sendable () async throws -> String?
    /// Whether a refused token may be followed by a better one.
    let renewsToken: Bool

    /// A client of a session, with a key or a token that stays as it is.
    public init(url: URL, session: String, token: String? = nil) {
        self.url = url
        self.session = session
        self.token = { token }
        renewsToken = false
    }

    /// A client of a session that asks for a token before each request, so that it can be renewed; 401 is tried again
    /// then.
    public init(url: URL, session: String, renewing token: @escaping @Sendable () async throws -> String?) {
        self.url = url
        self.session = session
        self.token = token
        renewsToken = true
    }
}

extension ListClient {
    /// Asks anew, at once: the network is another one, or the app is in front again. A pause after a failure ends,
    /// unless the server named it. On Apple's platforms the client does so by itself.
    public func reconnect() { connectivity.held.interrupt() }
}

// MARK: Requests

extension ListClient {
    /// Asks what changed since a revision, and lets the server hold the request so long while that is nothing.
    func changes(
        since revision: String?, wait: TimeInterval, in rows: StateWindow?
    ) async throws(ServerProblem) -> [UInt8] {
        let seconds = Int(max(0, min(wait, 60)))
        let query = [URLQueryItem(name: "wait", value: "\(seconds)")] + readingQuery(since: revision)
        // Beyond what the server holds it, the request is lost.
        return try await answer(
            to: URLRequest(url: changesURL(query, in: rows), timeoutInterval: Double(seconds) + 20))
    }

    /// Waits for what a reader brings next; nil if that was given up, or took longer than `seconds`.
    func nextNews(
        of reader: ChangesReader, since revision: String?, by way: ChangesReader.Way, within seconds: TimeInterval?,
        unlessEditedSince moment: Int
    ) async throws(ServerProblem) -> OpenRequest.News? {
        try await held(since: moment) { rows throws(ServerProblem) in
            try await reader.next(of: self, rows: rows, since: revision, by: way, within: seconds)
        }
    }

    /// Asks for the rows that are wanted, until the window is moved, there are edits, or a reason to ask anew.
    private func held<Answer: Sendable>(
        since moment: Int, asking: @escaping @Sendable (StateWindow?) async throws(ServerProblem) -> Answer?
    ) async throws(ServerProblem) -> Answer? {
        try await connectivity.held.answer(since: connectivity.held.moment) { () throws(ServerProblem) in
            try await pending.held.answer(since: moment) { () throws(ServerProblem) in
                guard let window else { return try await asking(nil) }
                return try await window.answer(asking: asking)
            }
        }
    }

    /// A request for a stream.
    func streamRequest(since revision: String?, in rows: StateWindow?) async throws(ServerProblem) -> URLRequest {
        // By then `NewsInbox` has given it up.
        var request = URLRequest(url: changesURL(readingQuery(since: revision), in: rows), timeoutInterval: 90)
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        try await authorize(&request)
        return request
    }

    private func readingQuery(since revision: String?) -> [URLQueryItem] {
        var query: [URLQueryItem] = []
        if let revision { query.append(URLQueryItem(name: "since", value: revision)) }
        if receivesPatches { query.append(URLQueryItem(name: "content", value: "patch")) }
        if prefersSmallest { query.append(URLQueryItem(name: "smallest", value: "true")) }
        return query
    }

    /// What is followed of the session, as a query says it.
    var viewQuery: [URLQueryItem] {
        view.map { [URLQueryItem(name: "view", value: String(decoding: $0.bytes, as: UTF8.self))] } ?? []
    }

    /// The session's `changes`, in the form that is wanted, of what is followed.
    func changesURL(_ query: [URLQueryItem], in rows: StateWindow?) -> URL {
        changesURL(of: form.query + viewQuery + (rows?.query ?? []) + query)
    }

    /// The session's `changes`, as this query wants them.
    func changesURL(of query: [URLQueryItem]) -> URL {
        let base = url.absoluteString.trimmingSuffix("/")
        // Whatever a name is made of, it stays one segment of the path.
        let name = session.addingPercentEncoding(withAllowedCharacters: .nameCharacters) ?? ""
        var components = URLComponents(string: "\(base)/v1/sessions/\(name)/changes") ?? URLComponents()
        components.queryItems = query
        // Some read a plus as a space.
        components.percentEncodedQuery = components.percentEncodedQuery?.replacingOccurrences(of: "+", with: "%2B")
        return components.url ?? url
    }

    /// Sends a request and takes the answer in, if it is one of the server's.
    func answer(to request: URLRequest) async throws(ServerProblem) -> [UInt8] {
        var request = request
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let (data, response) = try await exchange(request)
        guard let response = response as? HTTPURLResponse else { throw ServerProblem(title: "No answer by HTTP") }
        guard (200..<300).contains(response.statusCode) else { throw ServerProblem(response, data) }
        // A proxy, or a portal that wants a login first, answers 200 as well.
        let type = response.value(forHTTPHeaderField: "Content-Type") ?? ""
        guard type.hasPrefix("application/") && type.contains("json") else {
            throw ServerProblem(title: "Not the server's answer", detail: "\(type) in place of JSON")
        }
        return [UInt8](data)
    }

    private func exchange(_ request: URLRequest) async throws(ServerProblem) -> (Data, URLResponse) {
        var request = request
        try await authorize(&request)
        do {
            guard let transport else { return try await Carrier.shared.carry(request) }
            return try await transport(request)
        } catch {
            throw ServerProblem(title: "No connection", detail: error.localizedDescription)
        }
    }

    private func authorize(_ request: inout URLRequest) async throws(ServerProblem) {
        do {
            if let secret = try await token() {
                request.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
            }
        } catch {
            throw ServerProblem(title: "No connection", detail: error.localizedDescription)
        }
    }
}

extension ListClient.Form {
    fileprivate var query: [URLQueryItem] {
        switch self {
        case .keyed: [URLQueryItem(name: "dialect", value: "keyed")]
        case .staged(compact: false): [URLQueryItem(name: "dialect", value: "staged")]
        case .staged(compact: true):
            [URLQueryItem(name: "dialect", value: "staged"), URLQueryItem(name: "staging", value: "compact")]
        case .diffable: [URLQueryItem(name: "dialect", value: "diffable")]
        }
    }
}

extension CharacterSet {
    /// What names of sessions are made of.
    fileprivate static let nameCharacters = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~:-")
}

extension String {
    fileprivate func trimmingSuffix(_ character: Character) -> String {
        var text = self[...]
        while text.last == character { text.removeLast() }
        return String(text)
    }
}

extension URLRequest {
    fileprivate init(url: URL, timeoutInterval: TimeInterval) {
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: timeoutInterval)
    }
}
