// The list shown is the head with the pending edits applied, and every update leads there in one step from the list
// shown before. So a row moved by an edit does not move again when the edit is confirmed, and moves back once if the
// edit is refused.
//
// An edit is pending for a list until the list is known to contain it. The answer to the edit is not enough, since the
// list may lag behind it: the proof is the list's revision, or a read that began after the answer, which each list
// requests if nothing arrives in time. There may be many lists (one for each loop over `updates`), so answered edits
// are kept for those that lag.

import Foundation
import SnapshotKit

/// Edits of a client and its copies that lists may not contain yet.
final class PendingEdits: Sendable {
    /// One call of `edit`.
    struct Batch {
        let id: UUID
        /// Nil for malformed edits: the server says why.
        let edits: EditBatch?
        /// The rows and sections that they name.
        let ids: [ElementID]
        /// When the batch was answered, and with which revision.
        var answer: (time: TimeInterval, revision: String)?

        fileprivate func isIn(_ followed: FollowedList) -> Bool {
            guard let answer, let revision = followed.revision else { return false }
            return sequence(of: answer.revision) <= sequence(of: revision)
                || followed.readTime.map { answer.time < $0 } ?? false
        }

        /// Within a history, a later revision has a larger number.
        private func sequence(of revision: String) -> Int { Int(revision.prefix { $0 != "-" }) ?? 0 }
    }

    /// How many answered edits are kept for lists that nobody is updating.
    private static let maxAnswered = 64

    /// The batches, in order, and the task that sends the last one.
    let edits = Watched((batches: [Batch](), last: nil as Task<Result<String, ServerProblem>, Never>?))

    /// A list's rows with the pending edits applied. A batch that does not fit is skipped, as the server would refuse
    /// it. O(n) per batch.
    func applied(to followed: FollowedList) -> RowList {
        guard followed.revision != nil else { return followed.list }
        return pending(for: followed).reduce(followed.list) { list, batch in
            batch.edits.flatMap { try? list.applying($0) } ?? list
        }
    }

    /// Whether some answered edits are not known to be in a list.
    func isAnswered(beyond followed: FollowedList) -> Bool { pending(for: followed).contains { $0.answer != nil } }

    var waiting: ListClient.Pending {
        let batches = edits.value.batches.filter { $0.answer == nil }
        return ListClient.Pending(count: batches.count, ids: Set(batches.flatMap(\.ids)))
    }

    private func pending(for followed: FollowedList) -> [Batch] { edits.value.batches.filter { !$0.isIn(followed) } }

    /// Shows edits, and posts them once earlier ones have been answered. Returns a function that waits for the answer's
    /// revision; if its task is cancelled, the edits are abandoned and no longer shown.
    func begin(
        _ json: JSONText, by post: @escaping @Sendable () async throws(ServerProblem) -> String
    ) -> () async throws(ServerProblem) -> String {
        let (id, named) = (UUID(), json.slice.elements?.flatMap(\.named) ?? [])
        let sending = edits.change { edits in
            edits.batches.append(Batch(id: id, edits: try? EditBatch(json: json.bytes), ids: named))
            let sending = Task { [last = edits.last] in
                _ = await last?.value
                let result: Result<String, ServerProblem>
                do throws(ServerProblem) {
                    if Task.isCancelled { throw ServerProblem(title: "Cancelled") }
                    result = .success(try await post())
                } catch { result = .failure(error) }
                self.settle(id, try? result.get())
                return result
            }
            edits.last = sending
            return sending
        }
        return { () throws(ServerProblem) in
            let result = await withTaskCancellationHandler {
                await sending.value
            } onCancel: {
                sending.cancel()
                self.settle(id, nil)
            }
            return try result.get()
        }
    }

    /// Records the revision that edits were answered with; drops edits without one.
    private func settle(_ id: UUID, _ revision: String?) {
        edits.change { edits in
            guard let index = edits.batches.firstIndex(where: { $0.id == id }) else { return }
            edits.batches[index].answer = revision.map { (.uptime, $0) }
            if revision == nil { edits.batches.remove(at: index) }
            let answered = edits.batches.prefix { $0.answer != nil }.count
            edits.batches.removeFirst(max(0, answered - Self.maxAnswered))
        }
    }
}

extension JSONSlice {
    /// The ids of rows and sections in an edit, and of those inside them.
    fileprivate var named: [ElementID] {
        let members = members ?? [:]
        let values = [members["items"], members["sections"]].flatMap { $0?.elements ?? [] }
        return values.flatMap { value in
            [try? (value.members?["id"] ?? value).asID()].compactMap(\.self) + value.named
        }
    }
}
