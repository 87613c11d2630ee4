import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What happens to one request.
enum Fault: Sendable {
    /// Nothing.
    case none
    /// The request is carried out, but its answer is lost.
    case answerLost
    /// Something on the way answers instead of the server.
    case answered(status: Int, fields: [String: String], String)
}

/// Sends requests to the server; the first ones have a fault each.
final class Faults: Sendable {
    private let plan: Mutex<[Fault]>

    init(_ plan: [Fault]) { self.plan = Mutex(plan) }

    /// The number of faults still to come.
    var left: Int { plan.withLock(\.count) }

    /// The transport for a client.
    var transport: @Sendable (URLRequest) async throws -> (Data, URLResponse) {
        { request in
            switch self.plan.withLock({ $0.isEmpty ? .none : $0.removeFirst() }) {
            case .none: return try await URLSession.shared.data(for: request)
            case .answerLost:
                _ = try await URLSession.shared.data(for: request)
                throw URLError(.networkConnectionLost)
            case .answered(let status, let fields, let body):
                guard let url = request.url,
                    let response = HTTPURLResponse(
                        url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
                else { throw URLError(.badURL) }
                return (Data(body.utf8), response)
            }
        }
    }
}
