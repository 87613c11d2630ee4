import Foundation
import SnapshotKit

extension ListClient {
    /// Posts the current list as a value of your own. This requires a key, and creates the session if there is none.
    ///
    /// ```swift
    /// try await client.post([NewElement("4a03", Fire(name: "Platina Fire", acres: 10))])
    /// ```
    ///
    /// - Parameters:
    ///   - state: encodes to an array of items, or to an object with `items` or `sections`; with a shape, to any JSON.
    ///   - shape: where the list is in it, such as `.pointers(itemsAt: JSONPointer("/orders"))`.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the head after the write.
    /// - Throws: `ServerProblem` if the write is refused, if there is no answer, or if the value cannot be encoded.
    @discardableResult
    public func post(
        _ state: some Encodable, shape: StateShape? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> String {
        try head(of: await post(state: json(state), shape: shape, ifMatch: revision))
    }

    /// Posts the current list. This requires a key, and creates the session if there is none.
    ///
    /// - Parameters:
    ///   - state: an array of items, or an object with `items` or `sections`; with a shape, any JSON.
    ///   - shape: where the list is in it.
    ///   - since: the base revision of the changeset in the answer; by default the head before this write.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        state: JSONText, shape: StateShape? = nil, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        // With parameters of a shape, the body is the document itself.
        let parameters: Query = shape?.essentials.map { (name: $0.0.rawValue, value: $0.1) } ?? []
        let name = parameters.isEmpty ? "state" : nil
        return try await answer(to: writing(name, state, since, revision, parameters), tries: 4)
    }

    /// Posts an array of edits like a state. They are applied together or not at all. A token with the scope `edit`
    /// suffices.
    public func post(
        edits: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        try await answer(to: writing("edits", edits, since, revision), tries: 4)
    }

    /// Shows edits at once, with the next of `updates`, and posts them after earlier ones have been answered. They are
    /// applied in order, all or none. Until the list contains them, they are applied to each newer list. While answers
    /// are lost or the server is not ready, they are retried for `patience` seconds, and applied only once.
    ///
    /// ```swift
    /// try await client.edit(.move("a", before: "b"), .add("a", "/likes", 1))
    /// ```
    ///
    /// - Returns: the revision that contains them.
    /// - Throws: `ServerProblem` if they are refused, if there is no answer, or if a content cannot be encoded. Then,
    ///   or if the task is cancelled, they are no longer shown.
    @discardableResult
    public func edit(_ edits: ListEdit...) async throws(ServerProblem) -> String { try await edit(edits) }

    /// Shows edits at once, and posts them.
    @discardableResult
    public func edit(_ edits: [ListEdit]) async throws(ServerProblem) -> String { try await edit(json(edits)) }

    /// Shows edits at once, and posts them, as an array in JSON.
    @discardableResult
    public func edit(_ edits: JSONText) async throws(ServerProblem) -> String { try await begin(edits)() }

    func json(_ value: some Encodable) throws(ServerProblem) -> JSONText {
        do {
            return try JSONText(encoding: value, by: encoder)
        } catch { throw ServerProblem(title: "A value cannot be encoded", detail: "\(error)") }
    }

    /// Shows edits and begins to send them; the returned function waits for the answer.
    func begin(_ edits: JSONText) -> () async throws(ServerProblem) -> String {
        let deadline = TimeInterval.uptime + patience
        var request = writing("edits", edits, nil, nil)
        request.setValue("return=minimal", forHTTPHeaderField: "Prefer")
        return queue.begin(edits) { [request] () throws(ServerProblem) in
            let answer = try await self.answer(to: request, tries: .max, until: deadline)
            return try self.head(of: answer)
        }
    }

    private func head(of answer: [UInt8]) throws(ServerProblem) -> String {
        guard let revision = (try? JSONSlice(checking: answer))?.members?["to"]?.string else {
            throw ServerProblem(title: "The answer has no revision")
        }
        return revision
    }

    /// A POST. All tries have the same key, so that a write whose answer was lost is not repeated: the server answers
    /// the next try like the first.
    private func writing(
        _ name: String?, _ value: JSONText, _ since: String?, _ revision: String?, _ more: Query = []
    ) -> URLRequest {
        var request = request(query(in: window?.rows) + [("since", since)] + more, timeout: 30)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue(UUID().uuidString, forHTTPHeaderField: "Idempotency-Key")
        if let revision { request.setValue("\"\(revision)\"", forHTTPHeaderField: "If-Match") }
        request.httpBody = name.map { Data("{\"\($0)\":".utf8) + value.bytes + Data("}".utf8) } ?? Data(value.bytes)
        return request
    }

    /// Sends a request with up to `tries` tries, until a deadline.
    private func answer(
        to request: URLRequest, tries: Int, until deadline: TimeInterval = .infinity
    ) async throws(ServerProblem) -> [UInt8] {
        var failures = 0
        while true {
            do throws(ServerProblem) { return try await answer(to: request) } catch {
                let delay = backOff.pause(after: failures, retryAfter: error.retryAfter)
                failures += 1
                let isHopeless = !mayWriteAgain(after: error) || Task.isCancelled
                if isHopeless || failures == tries || .uptime + delay >= deadline { throw error }
                await Task.pause(for: delay)
            }
        }
    }
}
