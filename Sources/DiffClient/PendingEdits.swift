// What is shown is the head with the edits that are pending done to it anew, and every update leads there in one step
// from what was shown: so a row that an edit has moved does not move again when that is confirmed, and goes back once
// when it is refused.
//
// An edit is pending for a list until the list is known to hold it, which is not when the edit is answered: the list
// may be behind that. Its revision tells, or a read that began after the answer, for which each list asks where nothing
// comes in time. Lists are many (each loop over `updates` has its own), so answered edits stay here for those that are
// behind.

import Foundation
import SnapshotKit

/// Edits of a client and its copies that lists may not hold yet.
final class PendingEdits: @unchecked Sendable {
    /// One call of `edit`.
    private struct Batch {
        let id: UUID
        /// Nil if only the server can say what is wrong with it.
        let edits: EditBatch?
        /// When it was answered, and with which revision.
        var answer: (time: TimeInterval, revision: String)?

        func isIn(_ followed: FollowedList) -> Bool {
            guard let answer, let revision = followed.revision else { return false }
            return sequence(of: answer.revision) <= sequence(of: revision)
                || followed.readTime.map { answer.time < $0 } ?? false
        }

        /// Between resets a larger one is later.
        private func sequence(of revision: String) -> Int { Int(revision.prefix { $0 != "-" }) ?? 0 }
    }

    /// Answered edits that are kept for lists which nobody waits for at the moment.
    private static let mostAnswered = 64

    /// The requests of lists: given up when other rows are to be shown.
    let held = HeldRequests()
    private let lock = NSLock()
    // Both are the lock's.
    private var batches: [Batch] = []
    private var last: Task<Void, Never>?

    /// What is shown of a list: its rows with what is pending. A batch that does not fit (any more) is left out, as the
    /// server would. O(n) a batch.
    func applied(to followed: FollowedList) -> RowList {
        guard followed.revision != nil else { return followed.list }
        return pending(for: followed).reduce(followed.list) { list, batch in
            batch.edits.flatMap { try? list.applying($0) } ?? list
        }
    }

    /// Whether a list has to be read at once, to tell whether it holds an edit that was answered.
    func isAnswered(beyond followed: FollowedList) -> Bool {
        pending(for: followed).contains { $0.answer != nil }
    }

    private func pending(for followed: FollowedList) -> [Batch] {
        lock.withLock { batches.filter { !$0.isIn(followed) } }
    }

    /// Shows edits, and begins to send them when those before are answered.
    ///
    /// - Parameter post: sends them, and returns the revision that the answer names.
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

/// Edits that are shown, and on their way.
struct SentEdits {
    fileprivate let result: Task<Result<String, ServerProblem>, Never>
    fileprivate let drop: @Sendable () -> Void

    /// The revision that the answer names. Given up, and not shown any more, when the task is cancelled.
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
