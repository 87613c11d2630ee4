import DiffClient
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Asking again at once", .timeLimit(.minutes(5)))
struct ReconnectingTests {
    private static let reset =
        #"{"from":null,"to":"1-0","dialect":"keyed","reset":"initial","state":{"sections":[{"id":"main","items":[]}]}}"#

    /// A client whose first request fails by `failure`, after which it would wait for an hour.
    private func client(
        _ statuses: Statuses, failing failure: @escaping @Sendable (URL) throws -> (Data, URLResponse)
    ) throws -> ListClient {
        let url = try #require(URL(string: "http://localhost"))
        var client = ListClient(url: url, session: "list")
        client.backOff = ListClient.BackOff(first: 3_600, longest: 3_600)
        let requests = Counter()
        client.transport = { _ in
            if requests.next() == 1 { return try failure(url) }
            return (Data(Self.reset.utf8), try Self.response(url, 200))
        }
        statuses.listen(to: &client)
        return client
    }

    private static func response(_ url: URL, _ status: Int, _ fields: [String: String] = [:]) throws -> URLResponse {
        let fields = fields.merging(["Content-Type": "application/json"]) { $1 }
        return try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: fields))
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    @Test("a lost connection is tried again as soon as somebody says so")
    func lost() async throws {
        let statuses = Statuses()
        let client = try client(statuses) { _ in throw URLError(.notConnectedToInternet) }
        let first = Task {
            var updates = client.updates.makeAsyncIterator()
            return try await updates.next()?.revision
        }
        await statuses.met(nil)
        // The client reports shortly before it sleeps.
        await eventually {
            client.reconnect()
            return statuses.isLive
        }
        #expect(try await first.value == "1-0")
    }

    @Test("a time that the server named is kept")
    func named() async throws {
        let statuses = Statuses()
        var client = try client(statuses) { try (Data("{}".utf8), Self.response($0, 503, ["Retry-After": "1"])) }
        client.backOff = ListClient.BackOff(first: 0.1)
        let start = ContinuousClock.now
        let first = Task { [client] in
            var updates = client.updates.makeAsyncIterator()
            return try await updates.next()?.revision
        }
        await statuses.met(503)
        await eventually {
            client.reconnect()
            return statuses.isLive
        }
        #expect(try await first.value == "1-0")
        #expect(ContinuousClock.now - start >= .seconds(1))
    }
}
