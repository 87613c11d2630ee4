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
        case arranged(Arrangement)
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
            return try take(try Answer(answer))
        } catch {
            revision = nil
            throw error
        }
    }

    private mutating func take(_ answer: Answer) throws(ApplyError) -> Outcome {
        if let reset = answer.reset {
            list = try RowList(state: answer.body)
            revision = answer.to
            return .replaced(reason: reset)
        }
        guard let mine = revision, answer.from == mine else {
            return revision != nil && answer.to == revision ? .current : .elsewhere
        }
        var stages: [ListStage] = []
        switch answer.dialect {
        case Dialect.keyed.rawValue: list = try list.applying(keyed: answer.body)
        case Dialect.indexed.rawValue: list = try list.applying(indexed: answer.body)
        case Dialect.staged.rawValue:
            stages = try list.stages(answer.body)
            list = stages.last?.list ?? list
        case Dialect.diffable.rawValue:
            let arrangement = try list.arrangement(answer.body)
            (list, revision) = (arrangement.list, answer.to)
            return answer.to == mine ? .current : .arranged(arrangement)
        default: throw ApplyError(.wrongShape, "changes in a dialect that is not applied here", at: 0)
        }
        revision = answer.to
        return answer.to == mine ? .current : .changed(stages)
    }
}

/// The members of an answer that a client needs; others are left alone.
private struct Answer {
    var from, to, dialect, reset: String?
    /// The changes, or with `reset` the state.
    var body: [UInt8] = []

    init(_ json: [UInt8]) throws(ApplyError) {
        var found: (from: String?, to: String?, dialect: String?, reset: String?)
        var (changes, state): ([UInt8]?, [UInt8]?)
        try ChangeText.read(json) { (text) throws(ApplyError) in
            try text.members(of: text.root) { (name, value) throws(ApplyError) in
                if name.isText("from") {
                    found.from = text.isNull(value) ? nil : try text.string(value)
                } else if name.isText("to") {
                    found.to = text.isNull(value) ? nil : try text.string(value)
                } else if name.isText("dialect") {
                    found.dialect = try text.string(value)
                } else if name.isText("reset") {
                    found.reset = try text.string(value)
                } else if name.isText("changes") {
                    changes = text.text(value).bytes
                } else if name.isText("state") {
                    state = text.text(value).bytes
                }
            }
        }
        (from, to, dialect, reset) = found
        guard let body = reset == nil ? changes : state, to != nil else {
            throw ApplyError(.wrongShape, "an answer has changes, or reset and a state", at: 0)
        }
        self.body = body
    }
}
