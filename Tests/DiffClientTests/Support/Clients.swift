import DiffClient
import Foundation
import SnapshotKit
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension ListClient {
    /// A client with short waits, to keep tests short.
    static func hasty(_ server: RunningServer, _ session: String = "list", token: String? = nil) -> ListClient {
        var client = ListClient(url: server.url, session: session, token: token)
        client.backOff = ListClient.BackOff(first: 0.02, longest: 0.1)
        return client
    }

    /// The server's state.
    func shown() async throws -> RowList {
        let (state, _) = try await URLSession.shared.data(from: url.appending(path: "v1/sessions/\(session)/changes"))
        var followed = FollowedList()
        _ = try followed.take([UInt8](state))
        return followed.list
    }

    /// Sends a request without a body, or with one.
    func send(_ method: String, _ body: String? = nil) async throws {
        var request = URLRequest(url: url.appending(path: "v1/sessions/\(session)"))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        _ = try await URLSession.shared.data(for: request)
    }
}

/// The statuses that a client reported about its connection.
final class Statuses: Sendable {
    private let all = Mutex<[ListClient.Status]>([])

    func listen(to client: inout ListClient) { client.onStatus = { status in self.all.withLock { $0.append(status) } } }

    /// The problems that the client waited for.
    var problems: [ServerProblem] {
        all.withLock { $0.compactMap { if case .waiting(let problem, _) = $0 { problem } else { nil } } }
    }

    /// Whether the client has had an answer.
    var isLive: Bool { all.withLock { $0.contains(.live) } }

    /// For each answer, for how many seconds the list was stale.
    var silences: [Int?] {
        all.withLock {
            $0.compactMap { status -> Int?? in
                switch status {
                case .live: .some(nil)
                case .stale(let seconds): seconds
                default: nil
                }
            }
        }
    }

    /// The pause after each problem.
    var delays: [TimeInterval] {
        all.withLock { $0.compactMap { if case .waiting(_, let delay) = $0 { delay } else { nil } } }
    }

    /// Waits until the client has met a problem with this status.
    func met(_ status: Int?) async { await eventually { problems.contains { $0.status == status } } }
}

extension ListUpdate {
    /// The reason of a reset; nil for any other change.
    var reason: String? { if case .reset(let reason) = change { reason } else { nil } }

    var ids: [String] { list.sections.flatMap { $0.rows.map(\.id.text) } }
}

/// Any content, unread.
struct AnyContent: Decodable {
    init(from decoder: any Decoder) {}
}
