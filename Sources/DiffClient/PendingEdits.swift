// The list shown is the head with the pending edits applied, and every update leads there in one step from the list
// shown before. So a row that an edit has moved does not move again when that is confirmed, and returns once if it is
// refused.
//
// An edit is pending for a list until the list is known to contain it. The answer to the edit is not enough, since the
// list may be behind it: its revision tells, or a read that began after the answer, which each list requests if nothing
// arrives in time. There may be many lists (each loop over `updates` has one), so answered edits are kept for those
// that are behind.

import Foundation
import SnapshotKit

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
    private static let mostAnswered = 64

    /// The lists' requests, abandoned when edits change what is shown.
    let held = HeldRequests()
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
        held.interrupt()
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
            batches.removeFirst(max(0, answered - Self.mostAnswered))
        }
        held.interrupt()
    }

    private func drop(_ id: UUID) {
        lock.withLock { batches.removeAll { $0.id == id } }
        held.interrupt()
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
