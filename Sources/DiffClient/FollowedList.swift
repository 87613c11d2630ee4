import Foundation
import SnapshotKit

/// A list that follows a session: what a client shows, and the revision that it is.
///
/// It keeps the client's whole rule: a reset replaces everything; changes from the list's own revision are applied;
/// changes that lead to that revision were seen before; all others are for another list, and the client asks again with
/// `since` set to `revision`.
public struct FollowedList: Sendable {
    /// What is shown.
    public private(set) var list = RowList()
    /// What is shown, by name; nil before the first answer, and after one that did not fit.
    public private(set) var revision: String?
    /// Where what is shown stands among all rows; nil where it is all of them.
    public private(set) var window: WindowBounds?
    /// When it was last read: it holds every write that was answered before that.
    var readTime: TimeInterval?

    /// A list that has seen nothing.
    public init() {}

    /// A list that goes on from what was shown earlier.
    public init(_ list: RowList, revision: String) {
        self.list = list
        self.revision = revision
    }

    /// What became of an answer.
    public enum Outcome: Sendable {
        /// The list is another one, for the given reason, such as `expired`.
        case replaced(reason: String)
        /// The list was changed. In the dialect `staged`, by these stages, of which the last one's list is shown now.
        case changed([ListStage])
        /// The list was changed, in the dialect `diffable`: what it is now, and what is to be drawn again.
        case arranged(ListArrangement)
        /// The list is as new as the answer.
        case current
        /// The answer is for another list: ask again.
        case elsewhere
    }

    /// Takes an answer, be it of a POST, a GET, a poll or an event, in `keyed`, `indexed`,
    /// `staged` or `diffable`. O(n).
    ///
    /// - Throws: `ApplyError` if the answer does not fit. The list is as it was, and `revision` nil, so that the next
    ///   answer asked for with it is a reset.
    public mutating func take(_ answer: consuming [UInt8]) throws(ApplyError) -> Outcome {
        do throws(ApplyError) {
            return try take(Answer(JSONSlice(checking: answer)))
        } catch {
            revision = nil
            throw error
        }
    }

    /// Goes on to a revision that shows nothing else.
    mutating func advance(to revision: String) { self.revision = revision }

    private mutating func take(_ answer: Answer) throws(ApplyError) -> Outcome {
        if let reset = answer.reset {
            list = try RowList(state: answer.body)
            (revision, window) = (answer.to, answer.window)
            return .replaced(reason: reset)
        }
        guard let mine = revision, answer.from == mine else {
            return revision != nil && answer.to == revision ? .current : .elsewhere
        }
        var list = list
        if let change = answer.list { list = try list.applying(list: change) }
        let outcome = try apply(answer, to: &list)
        (self.list, revision, window) = (list, answer.to, answer.window)
        return answer.to == mine ? .current : outcome
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
        // They lead one flat list, or a document, to the next state, or nothing, and not rows in sections.
        case .sequential, .counts, .jsonPatch, nil:
            throw answer.body.wrong("changes in a dialect that is not applied here")
        }
        return .changed(stages)
    }
}

/// The members of an answer that a client needs; others are left alone.
private struct Answer {
    let from, to, reset: String?
    let dialect: Dialect?
    /// The changes, or with `reset` the state.
    let body: JSONSlice
    /// What became of the list's own content, if that changed.
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
            throw answer.wrong("an answer has changes, or reset and a state")
        }
        self.body = body
    }
}
