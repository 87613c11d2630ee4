// A backend-for-frontend in any Swift server: call this from a route's handler. It fetches an upstream's list, posts it
// to diffserver as it is, and returns the changeset to pass on. docs/bff.md explains each step.
import Foundation
#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What is handed on to the client.
struct PassedAnswer: Sendable {
    var status: Int
    var type: String?
    var retryAfter: String?
    var body: Data
}

/// Lists of an upstream, and what changes in them.
struct Lists: Sendable {
    var diffserver: URL
    var secret: String
    var upstream: URL

    /// What changed for a client, whose revision is `since`, or empty.
    func changes(session: String, since: String, dialect: String) async throws -> PassedAnswer {
        let (list, response) = try await URLSession.shared.data(from: upstream)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        let query = [
            URLQueryItem(name: "itemsAt", value: "/Incidents"), URLQueryItem(name: "idAt", value: "/UniqueId"),
            URLQueryItem(name: "dialect", value: dialect), URLQueryItem(name: "since", value: since),
        ]
        return try await post("v1/sessions/\(session)/changes", query, list)
    }

    /// A token with which a thin client reads the session itself for an hour.
    func token(session: String) async throws -> PassedAnswer {
        try await post("v1/sessions/\(session)/tokens", [], Data(#"{"ttl":3600,"scope":["read"]}"#.utf8))
    }

    /// Tries up to four times under one key, so that nothing is done twice.
    private func post(_ path: String, _ query: [URLQueryItem], _ body: Data) async throws -> PassedAnswer {
        let url = diffserver.appending(path: path).appending(queryItems: query)
        var request = URLRequest(url: url, timeoutInterval: 10)
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        for failures in 0... {
            let isLast = failures == 3
            var pause = Duration.milliseconds(100 << failures) * Double.random(in: 0.5...1)
            do {
                let (data, response) = try await URLSession.shared.data(for: request)
                guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
                let retryAfter = response.value(forHTTPHeaderField: "Retry-After")
                if isLast || (response.statusCode < 500 && response.statusCode != 429) {
                    let type = response.value(forHTTPHeaderField: "Content-Type")
                    return PassedAnswer(status: response.statusCode, type: type, retryAfter: retryAfter, body: data)
                }
                pause += .seconds(retryAfter.flatMap { Int($0) } ?? 0)
            } catch {
                if isLast { throw error }
            }
            try await Task.sleep(for: pause)
        }
        throw URLError(.cannotConnectToHost)
    }
}
