import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension DiffClient {
    /// Posts what the list looks like now; whoever holds a key may. Makes the session if there is none.
    ///
    /// - Parameters:
    ///   - since: the revision that the changeset in the answer is to lead from; the head before this write, if there
    ///     is none.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        state: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(Problem) -> [UInt8] {
        try await post("state", state, since, revision)
    }

    /// Posts an array of edits, all of which are done or none; a token with the scope `edit` is enough.
    ///
    /// - Parameters: as of `post(state:since:ifMatch:)`.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        edits: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(Problem) -> [UInt8] {
        try await post("edits", edits, since, revision)
    }

    /// Tries up to four times. All tries carry one key, so that a write whose answer was lost is not done again: the
    /// server answers the next try as it would have answered the first.
    private func post(
        _ name: String, _ value: JSONText, _ since: String?, _ revision: String?
    ) async throws(Problem) -> [UInt8] {
        let query = since.map { [URLQueryItem(name: "since", value: $0)] } ?? []
        var request = URLRequest(url: changesURL(query, in: window?.rows))
        request.httpMethod = "POST"
        request.timeoutInterval = 30
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        if let revision { request.setValue("\"\(revision)\"", forHTTPHeaderField: "If-Match") }
        request.httpBody = Data("{\"\(name)\":".utf8) + value.bytes + Data("}".utf8)
        for failures in 0..<3 {
            do throws(Problem) {
                return try await answer(to: request)
            } catch {
                guard error.isPassing, error.status != 404, !Task.isCancelled else { throw error }
                let delay = backOff.pause(
                    after: failures, retryAfter: error.retryAfter, chance: .random(in: 0...1))
                try? await Task.sleep(for: delay)
            }
        }
        return try await answer(to: request)
    }
}
