import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension ListClient {
    /// Posts the current list as a value of your own. This requires a key, and creates the session if there is none.
    ///
    /// ```swift
    /// let fires = [Fire(id: "4a03", content: .init(name: "Platina Fire", acres: 10))]
    /// try await client.post(fires)
    /// ```
    ///
    /// - Parameters:
    ///   - state: encodes to an array of items, or to an object with `items` or `sections`.
    ///   - revision: refuses the write (412) unless this is the head.
    ///   - encoder: encodes the value.
    /// - Returns: the head after the write.
    /// - Throws: `ServerProblem` if the write is refused, or what the encoder throws.
    @discardableResult
    public func post(
        _ state: some Encodable, ifMatch revision: String? = nil, encoder: JSONEncoder = JSONEncoder()
    ) async throws -> String {
        try head(of: await post(state: JSONText(encoding: state, by: encoder), ifMatch: revision))
    }

    /// Posts the current list. This requires a key, and creates the session if there is none.
    ///
    /// - Parameters:
    ///   - state: an array of items, or an object with `items` or `sections`.
    ///   - since: the base revision of the changeset in the answer; by default the head before this write.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        state: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        try await answer(to: writing("state", state, since, revision), tries: 4)
    }

    /// Posts edits, which are applied together or not at all. A token with the scope `edit` suffices.
    ///
    /// - Parameters:
    ///   - edits: an array of edits.
    ///   - since: the base revision of the changeset in the answer; by default the head before this write.
    ///   - revision: refuses the write (412) unless this is the head.
    /// - Returns: the answer, which `FollowedList.take(_:)` takes.
    public func post(
        edits: JSONText, since: String? = nil, ifMatch revision: String? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        try await answer(to: writing("edits", edits, since, revision), tries: 4)
    }

    /// Shows edits at once, with the next of `updates`, and posts them after earlier ones have been answered. Until the
    /// list contains them, they are applied to each newer one. While answers are lost or the server is not ready, they
    /// are retried for `patience` seconds, and applied only once.
    ///
    /// ```swift
    /// try await client.edit(JSONText(#"[{"op":"move","items":[17],"at":"start"}]"#))
    /// ```
    ///
    /// - Returns: the revision that contains them.
    /// - Throws: `ServerProblem` if they are refused. Then, or if the task is cancelled, they are no longer shown.
    @discardableResult
    public func edit(_ edits: JSONText) async throws(ServerProblem) -> String { try await begin(edits).revision() }

    /// Shows edits and begins to send them.
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
            throw ServerProblem(title: "The answer has no revision")
        }
        return revision
    }

    /// A POST. All tries have the same key, so that a write whose answer was lost is not repeated: the server answers
    /// the next try as it would have answered the first.
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

    /// Sends a request with up to `tries` tries, until a deadline.
    private func answer(
        to request: URLRequest, tries: Int, until deadline: TimeInterval? = nil
    ) async throws(ServerProblem) -> [UInt8] {
        var failures = 0
        while true {
            do throws(ServerProblem) {
                return try await answer(to: request)
            } catch {
                failures += 1
                let delay = backOff.pause(after: failures - 1, retryAfter: error.retryAfter)
                let isInTime = deadline.map { .uptime + delay < $0 } ?? true
                guard mayPass(error), error.status != 404, failures < tries, isInTime, !Task.isCancelled else {
                    throw error
                }
                await Task.pause(for: delay)
            }
        }
    }
}

// MARK: - Pending edits
//
// The list shown is the head with the pending edits applied, and every update leads there in one step from the list
// shown before. So a row that an edit has moved does not move again when that is confirmed, and returns once if it is
// refused.
//
// An edit is pending for a list until the list is known to contain it. The answer to the edit is not enough, since the
// list may be behind it: its revision tells, or a read that began after the answer, which each list requests if nothing
// arrives in time. There may be many lists (each loop over `updates` has one), so answered edits are kept for those
// that are behind.

/// Edits of a client and its copies that lists may not contain yet.
final class PendingEdits: @unchecked Sendable {
    /// One call of `edit`.
    private struct Batch {
        let id: UUID
        /// Nil if they are malformed, which is for the server to say.
        let edits: EditBatch?
        /// When they were answered, and with which revision.
        var answer: (time: TimeInterval, revision: String)?

        func isIn(_ followed: FollowedList) -> Bool {
            guard let answer, let revision = followed.revision else { return false }
            return sequence(of: answer.revision) <= sequence(of: revision)
                || followed.readTime.map { answer.time < $0 } ?? false
        }

        /// Between resets, a later revision has a larger number.
        private func sequence(of revision: String) -> Int { Int(revision.prefix { $0 != "-" }) ?? 0 }
    }

    /// How many answered edits are kept for lists that nobody is updating.
    private static let maxAnswered = 64

    /// The lists' requests, abandoned when edits change what is shown.
    let heldRequests = HeldRequests()
    private let lock = NSLock()
    // Protected by the lock.
    private var batches: [Batch] = []
    private var last: Task<Void, Never>?

    /// A list's rows with the pending edits applied. A batch that does not fit is skipped, as the server would refuse
    /// it. O(n) per batch.
    func applied(to followed: FollowedList) -> RowList {
        guard followed.revision != nil else { return followed.list }
        return pending(for: followed).reduce(followed.list) { list, batch in
            batch.edits.flatMap { try? list.applying($0) } ?? list
        }
    }

    /// Whether edits have been answered that a list is not known to contain.
    func isAnswered(beyond followed: FollowedList) -> Bool {
        pending(for: followed).contains { $0.answer != nil }
    }

    private func pending(for followed: FollowedList) -> [Batch] {
        lock.withLock { batches.filter { !$0.isIn(followed) } }
    }

    /// Shows edits, and sends them once earlier ones have been answered.
    ///
    /// - Parameter post: sends them, and returns the answer's revision.
    func begin(_ edits: JSONText, by post: @escaping @Sendable () async throws(ServerProblem) -> String) -> SentEdits {
        let id = UUID()
        let sending = lock.withLock {
            batches.append(Batch(id: id, edits: try? EditBatch(json: edits.bytes)))
            let sending = Task { [last] () -> Result<String, ServerProblem> in
                await last?.value
                return await self.send(id, by: post)
            }
            last = Task { _ = await sending.value }
            return sending
        }
        heldRequests.interrupt()
        return SentEdits(result: sending) { self.drop(id) }
    }

    private func send(_ id: UUID, by post: () async throws(ServerProblem) -> String) async -> Result<
        String, ServerProblem
    > {
        do throws(ServerProblem) {
            if Task.isCancelled { throw ServerProblem(title: "Cancelled") }
            let revision = try await post()
            answered(id, revision)
            return .success(revision)
        } catch {
            drop(id)
            return .failure(error)
        }
    }

    private func answered(_ id: UUID, _ revision: String) {
        lock.withLock {
            guard let place = batches.firstIndex(where: { $0.id == id }) else { return }
            batches[place].answer = (.uptime, revision)
            let answered = batches.prefix { $0.answer != nil }.count
            batches.removeFirst(max(0, answered - Self.maxAnswered))
        }
        heldRequests.interrupt()
    }

    private func drop(_ id: UUID) {
        lock.withLock { batches.removeAll { $0.id == id } }
        heldRequests.interrupt()
    }
}

/// Edits that are shown and being sent.
struct SentEdits {
    fileprivate let result: Task<Result<String, ServerProblem>, Never>
    fileprivate let drop: @Sendable () -> Void

    /// The answer's revision. If the task is cancelled, the edits are abandoned and no longer shown.
    func revision() async throws(ServerProblem) -> String {
        let outcome = await withTaskCancellationHandler {
            await result.value
        } onCancel: {
            result.cancel()
            drop()
        }
        return try outcome.get()
    }
}
