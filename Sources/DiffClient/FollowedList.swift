import Foundation
import SnapshotKit

/// A list that follows a session, with its revision.
///
/// It implements the client's rule: a reset replaces everything; changes from the list's revision are applied; changes
/// to the list's revision are old; all others are for another list, and the client asks again with `since` set to
/// `revision`.
public struct FollowedList: Sendable {
    /// The current list.
    public private(set) var list = RowList()
    /// The list's revision; nil before the first answer, and after one that did not fit.
    public internal(set) var revision: String?
    /// The list's position among all rows; nil if it has all of them.
    public private(set) var window: WindowBounds?
    /// For how many seconds the list's source, or the server's store, has been silent; nil if it is not.
    var stale: Int?
    /// When the latest read began, or a list of another history arrived: no edit answered before that is pending.
    var readTime: TimeInterval?

    /// A list without a revision.
    public init() {}

    /// A list that continues from an earlier one.
    public init(_ list: RowList, revision: String) {
        self.list = list
        self.revision = revision
    }

    /// The effect of an answer.
    public enum Outcome: Sendable {
        /// The list was replaced, for a reason such as `expired`.
        case replaced(reason: String)
        /// The list was changed; in the dialect `staged`, by these stages, the last of which has the current list.
        case changed([ListStage])
        /// The list was changed in the dialect `diffable`, to this arrangement.
        case arranged(ListArrangement)
        /// The list was as new as the answer.
        case current
        /// The answer is for another list: ask again.
        case elsewhere
    }

    /// Takes an answer to a POST, a GET or a poll, or an event, in `keyed`, `indexed`, `staged` or `diffable`. O(n).
    ///
    /// - Throws: `ApplyError` if the answer does not fit. The list is unchanged, and `revision` nil, so that asking
    ///   with it brings a reset.
    public mutating func take(_ answer: consuming [UInt8]) throws(ApplyError) -> Outcome {
        do throws(ApplyError) { return try take(JSONSlice(checking: answer)) } catch {
            revision = nil
            throw error
        }
    }

    /// Reads what a client needs, and no other members.
    private mutating func take(_ answer: JSONSlice) throws(ApplyError) -> Outcome {
        let members = answer.members ?? [:]
        let reset = try members["reset"]?.asString()
        guard let to = members["to"]?.string, let body = members[reset == nil ? "changes" : "state"] else {
            throw answer.wrong("an answer must have to, and changes, or reset and state")
        }
        stale = try members["stale"]?.asInteger()
        let bounds = if let bounds = members["window"] { try WindowBounds(bounds) } else { nil as WindowBounds? }
        if let reset {
            (list, revision, window) = (try RowList(state: body), to, bounds)
            return .replaced(reason: reset)
        }
        guard let base = revision, members["from"]?.string == base else {
            return revision == to ? .current : .elsewhere
        }
        var list = list
        if let change = members["list"] { list = try list.applying(list: change) }
        let outcome = try list.apply(body, in: members["dialect"]?.string.flatMap(Dialect.init))
        (self.list, revision, window) = (list, to, bounds)
        return to == base ? .current : outcome
    }
}

extension RowList {
    fileprivate mutating func apply(
        _ changes: JSONSlice, in dialect: Dialect?
    ) throws(ApplyError) -> FollowedList.Outcome {
        switch dialect {
        case .keyed: self = try applying(keyed: changes)
        case .indexed: self = try applying(indexed: changes)
        case .staged:
            let stages = try stages(changes)
            self = stages.last?.list ?? self
            return .changed(stages)
        case .diffable:
            let arrangement = try arrangement(changes)
            self = arrangement.list
            return .arranged(arrangement)
        // These change a flat list or a document, or nothing at all, but not rows in sections.
        case .sequential, .counts, .jsonPatch, nil: throw changes.wrong("changes in an unsupported dialect")
        }
        return .changed([])
    }
}
