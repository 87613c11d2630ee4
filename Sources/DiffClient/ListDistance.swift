import Foundation
import SnapshotKit

/// How far a session is ahead of a client's list, for "12 new posts".
public struct ListDistance: Sendable, Equatable {
    /// What the changes amount to.
    public enum Change: Sendable, Equatable {
        /// Numbers of operations on sections and on items.
        case operations(sections: OperationCounts, items: OperationCounts)
        /// A reset, for the given reason, to a list with this many rows.
        case reset(reason: String, rows: Int)
    }

    /// The session's head.
    public let revision: String
    /// What the changes to the head amount to.
    public let change: Change
}

extension ListClient {
    /// Asks how much has changed since a revision, without applying it: the list and its revision stay, and
    /// `updates(from:)` continues from there when the changes are to be shown. With a window, rows outside of it count,
    /// too.
    ///
    /// - Parameter revision: of the list shown; nil for none.
    public func distance(since revision: String?) async throws(ServerProblem) -> ListDistance {
        // A window's rows follow `~`; without that, the revision is that of all rows.
        let all = revision?.prefix { $0 != "~" }
        let query = [("dialect", Dialect.counts.rawValue), ("since", all.map(String.init))] + viewQuery
        let answer = try await answer(to: request(query, timeout: 60))
        do throws(ApplyError) {
            return try ListDistance(JSONSlice(checking: answer))
        } catch { throw ServerProblem(title: "The counts cannot be read", detail: "\(error)") }
    }
}

extension ListDistance {
    init(_ answer: JSONSlice) throws(ApplyError) {
        guard let members = answer.members, let revision = members["to"]?.string else {
            throw answer.wrong("an object with a revision is expected")
        }
        self.revision = revision
        if let groups = try members["changes"]?.object(["sections", "items"]) {
            change = .operations(
                sections: try OperationCounts(groups["sections"]), items: try OperationCounts(groups["items"]))
        } else if let reason = members["reset"]?.string, let rows = members["rows"]?.integer {
            change = .reset(reason: reason, rows: rows)
        } else {
            throw answer.wrong("changes, or a reset with rows, are expected")
        }
    }
}

extension OperationCounts {
    /// Reads counts. The server leaves out zeros, and an object without other numbers.
    fileprivate init(_ counts: JSONSlice?) throws(ApplyError) {
        let names = ["deleted", "inserted", "moved", "updated"]
        let members = try counts?.object(names)
        let numbers = try names.map { (name) throws(ApplyError) in try members?[name]?.asInteger() ?? 0 }
        self.init(deletions: numbers[0], insertions: numbers[1], moves: numbers[2], updates: numbers[3])
    }
}
