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
    /// Its revision; nil before the first answer, and after one that did not fit.
    public private(set) var revision: String?
    /// Its position among all rows; nil if it has all of them.
    public private(set) var window: WindowBounds?
    /// When the latest read began: every write answered before that is in the list.
    var readTime: TimeInterval?

    /// A list without a revision.
    public init() {}

    /// A list that continues from an earlier one.
    public init(_ list: RowList, revision: String) {
        self.list = list
        self.revision = revision
    }

    /// What an answer did.
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
        do throws(ApplyError) {
            return try take(Answer(JSONSlice(checking: answer)))
        } catch {
            revision = nil
            throw error
        }
    }

    /// Advances to a revision with the same list.
    mutating func advance(to revision: String) { self.revision = revision }

    private mutating func take(_ answer: Answer) throws(ApplyError) -> Outcome {
        if let reset = answer.reset {
            list = try RowList(state: answer.body)
            (revision, window) = (answer.to, answer.window)
            return .replaced(reason: reset)
        }
        guard let base = revision, answer.from == base else {
            return revision != nil && answer.to == revision ? .current : .elsewhere
        }
        var list = list
        if let change = answer.list { list = try list.applying(list: change) }
        let outcome = try apply(answer, to: &list)
        (self.list, revision, window) = (list, answer.to, answer.window)
        return answer.to == base ? .current : outcome
    }

    private func apply(_ answer: Answer, to list: inout RowList) throws(ApplyError) -> Outcome {
        var stages: [ListStage] = []
        switch answer.dialect {
        case .keyed: list = try list.applying(keyed: answer.body)
        case .indexed: list = try list.applying(indexed: answer.body)
        case .staged:
            stages = try list.stages(answer.body)
            list = stages.last?.list ?? list
        case .diffable:
            let arrangement = try list.arrangement(answer.body)
            list = arrangement.list
            return .arranged(arrangement)
        // These change a flat list or a document, or nothing at all, but not rows in sections.
        case .sequential, .counts, .jsonPatch, nil:
            throw answer.body.wrong("changes in an unsupported dialect")
        }
        return .changed(stages)
    }
}

/// The members of an answer that a client needs; others are ignored.
private struct Answer {
    let from, to, reset: String?
    let dialect: Dialect?
    /// The changes, or the state of a reset.
    let body: JSONSlice
    /// The change of the list's own content, if any.
    let list: JSONSlice?
    let window: WindowBounds?

    init(_ answer: JSONSlice) throws(ApplyError) {
        guard let members = answer.members else { throw answer.wrong("an object is expected") }
        reset = try members["reset"]?.asString()
        from = members["from"]?.string
        to = members["to"]?.string
        list = members["list"]
        window = if let bounds = members["window"] { try WindowBounds(bounds) } else { nil }
        dialect = members["dialect"]?.string.flatMap(Dialect.init(rawValue:))
        guard let body = members[reset == nil ? "changes" : "state"], to != nil else {
            throw answer.wrong("an answer must have changes, or reset and state")
        }
        self.body = body
    }
}
