import Foundation
import SnapshotKit

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// How far a session is from what a client shows: "12 new posts", for who is not shown them yet.
public struct ListDistance: Sendable, Equatable {
    /// What would become of what is shown.
    public enum Change: Sendable, Equatable {
        /// So many operations on sections and on items.
        case operations(sections: OperationCounts, items: OperationCounts)
        /// All of it would be new, for the given reason, and have so many rows.
        case reset(reason: String, rows: Int)
    }

    /// The session's newest revision.
    public let revision: String
    /// What leads there.
    public let change: Change
}

extension ListClient {
    /// Asks how much changed since a revision, and takes nothing of it over: what is shown stays, and so does its
    /// revision, with which `updates(from:)` goes on when the changes are to be shown. Of a window all rows are
    /// counted, also those outside of it.
    ///
    /// - Parameter revision: what is shown; nil for nothing yet.
    public func distance(since revision: String?) async throws(ServerProblem) -> ListDistance {
        var query = [URLQueryItem(name: "dialect", value: Dialect.counts.rawValue)] + viewQuery
        // Which rows a window shows stands behind `~`; without it the revision is that of all rows.
        if let all = revision?.prefix(while: { $0 != "~" }) {
            query.append(URLQueryItem(name: "since", value: String(all)))
        }
        let answer = try await answer(to: URLRequest(url: changesURL(of: query)))
        do throws(ApplyError) {
            return try ListDistance(JSONSlice(checking: answer))
        } catch { throw ServerProblem(title: "Counts that are none", detail: "\(error)") }
    }
}

extension ListDistance {
    init(_ answer: JSONSlice) throws(ApplyError) {
        guard let members = answer.members, let revision = members["to"]?.string else {
            throw answer.wrong("an object with a revision is expected")
        }
        self.revision = revision
        if let changes = members["changes"] {
            let groups = try changes.object(["sections", "items"])
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
    /// Zeros are left out, and so is an object of them.
    fileprivate init(_ counts: JSONSlice?) throws(ApplyError) {
        self.init()
        guard let members = try counts?.object(["deleted", "inserted", "moved", "updated"]) else { return }
        deletions = try members["deleted"]?.asInteger() ?? 0
        insertions = try members["inserted"]?.asInteger() ?? 0
        moves = try members["moved"]?.asInteger() ?? 0
        updates = try members["updated"]?.asInteger() ?? 0
    }
}
