import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension ListClient {
    /// Posts what the list looks like now, as a value of your own. This takes a key, and makes a session
    /// if there is none.
    ///
    /// ```swift
    /// let fires = [Fire(id: "4a03", content: .init(name: "Platina Fire", acres: 10))]
    /// try await client.post(fires)
    /// ```
    ///
    /// - Parameters:
    ///   - state: a state as JSON: an array of items, or an object with
    ///     `items` or `sections`.
    ///   - revision: refuses the write (412) unless this is the head.
    ///   - encoder: encodes the value.
    /// - Returns: the head's revision after the write.
    /// - Throws: `ServerProblem` if the write is refused, or what the encoder throws.
    @discardableResult
    public func post(
        _ state: some Encodable, ifMatch revision: String? = nil, encoder: JSONEncoder = JSONEncoder()
    ) async throws -> String {
        try head(of: await post(state: JSONText(encoding: state, by: encoder), ifMatch: revision))
    }

    /// Posts what the list looks like now; whoever holds a key may. Makes the session if there is none.
    ///
    /// - Parameters:
    ///   - state: the list: an array of items, or an object with `items` or `sections`.
    ///   - since: the revision that the changeset in the answer is to lead from; the head before this write, if there
    ///     is none.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        state: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        try await answer(to: writing("state", state, since, revision), tries: 4)
    }

    /// Posts an array of edits, all of which are done or none; a token with the scope `edit` is enough.
    ///
    /// - Parameters:
    ///   - edits: an array of edits.
    ///   - since: the revision that the changeset in the answer is to lead from; the head before this write, if there
    ///     is none.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        edits: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        try await answer(to: writing("edits", edits, since, revision), tries: 4)
    }

    /// Shows edits at once, in what `updates` bring next, and posts them when those before are answered. What is shown
    /// is from then on each newer list with the edits done to it, until that holds them. Lost answers and a server that
    /// is not ready are waited for, as long as `patience` says, and the edits done once all the same.
    ///
    /// ```swift
    /// try await client.edit(JSONText(#"[{"op":"move","items":[17],"at":"start"}]"#))
    /// ```
    ///
    /// - Returns: the revision that holds them.
    /// - Throws: `ServerProblem` if they are refused. They are not shown any more then, nor when the task is cancelled.
    @discardableResult
    public func edit(_ edits: JSONText) async throws(ServerProblem) -> String { try await begin(edits).revision() }

    /// Shows edits, and begins to send them.
    func begin(_ edits: JSONText) -> SentEdits {
        let deadline = TimeInterval.uptime + patience
        var request = writing("edits", edits, nil, nil)
        request.setValue("return=minimal", forHTTPHeaderField: "Prefer")
        return pending.begin(edits) { [request] () throws(ServerProblem) in
            let answer = try await self.answer(to: request, tries: .max, until: deadline)
            return try self.head(of: answer)
        }
    }

    private func head(of answer: [UInt8]) throws(ServerProblem) -> String {
        guard let revision = (try? JSONSlice(checking: answer))?.members?["to"]?.string else {
            throw ServerProblem(title: "An answer without a revision")
        }
        return revision
    }

    /// A POST. All tries carry its key, so that a write whose answer was lost is not done again: the server answers the
    /// next try as it would have answered the first.
    private func writing(_ name: String, _ value: JSONText, _ since: String?, _ revision: String?) -> URLRequest {
        let query = since.map { [URLQueryItem(name: "since", value: $0)] } ?? []
        var request = URLRequest(url: changesURL(query, in: window?.rows))
        request.httpMethod = "POST"
        request.timeoutInterval = 30
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        if let revision { request.setValue("\"\(revision)\"", forHTTPHeaderField: "If-Match") }
        request.httpBody = Data("{\"\(name)\":".utf8) + value.bytes + Data("}".utf8)
        return request
    }

    /// Tries so often, and not beyond a deadline.
    private func answer(
        to request: URLRequest, tries: Int, until deadline: TimeInterval? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        var failures = 0
        while true {
            do throws(ServerProblem) {
                return try await answer(to: request)
            } catch {
                failures += 1
                let delay = backOff.pause(
                    after: failures - 1, retryAfter: error.retryAfter, chance: .random(in: 0...1))
                let mayPass = error.isPassing && error.status != 404 || renewsToken && error.status == 401
                guard mayPass, failures < tries, deadline.map({ .uptime + delay < $0 }) ?? true, !Task.isCancelled
                else {
                    throw error
                }
                await Task.pause(for: delay)
            }
        }
    }
}
