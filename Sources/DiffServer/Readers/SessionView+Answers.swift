import HTTPCore
import SnapshotKit

/// What readers are answered.
extension SessionView {
    var destination: Destination {
        Destination(session: slot.name, revision: session.head.revision, snapshot: session.head.snapshot)
    }

    /// Whether changes can start from what a reader has; otherwise it gets the whole state.
    func isUsable(_ since: Since) -> Bool {
        guard case .revision(let revision) = since else { return false }
        if case .none = resumePoint(revision) { return false }
        return true
    }

    /// Whether there is nothing to tell to a reader yet.
    func hasNothing(since: Since) -> Bool {
        guard case .revision(let revision) = since, case .head(let marks) = resumePoint(revision) else { return false }
        return marks.isEmpty
    }

    /// The answer from a reader's base to the head. The diff and its encoding are shared with other readers who want
    /// the same.
    func answer(since: Since, _ options: ChangesOptions) -> ChangesAnswer {
        guard case .revision(let revision) = since else {
            let reason: ResetReason = since == .unreadable ? .unknown : .initial
            return reset(reason, from: nil, options)
        }
        switch resumePoint(revision) {
        case .none(let reason): return reset(reason, from: revision, options)
        case .head(let marks):
            let head = (snapshot: session.head.snapshot, reused: nil as ReusedRuns?)
            return shared(from: revision, options) { changes(from: head, marks) }
                ?? reset(.expired, from: revision, options)
        case .past(let place, let marks):
            return shared(from: revision, options) {
                session.state(at: place).map { changes(from: ($0.snapshot, $0.reused), marks) }
            } ?? reset(.expired, from: revision, options)
        }
    }

    /// The answer that another reader with the same base and options got, or else a new one.
    private func shared(
        from revision: Revision, _ options: ChangesOptions, _ changes: () -> Changeset?
    ) -> ChangesAnswer? {
        let key = AnswerCache.Key.changes(from: revision, options)
        let answers = slot.answers(in: table.answers)
        if let known = answers.answer(key, at: session.head.revision) { return known }
        guard let changeset = answers.changes(from: revision, at: session.head.revision, changes) else { return nil }
        let made = ChangesAnswer(changeset, from: revision, to: destination, options)
        let (answer, body) = made.shared(in: table.answers.budget)
        answers.remember(body, of: answer.withoutBody, key, at: session.head.revision)
        return answer
    }

    private func changes(from base: (snapshot: Snapshot, reused: ReusedRuns?), _ marks: Marks) -> Changeset {
        Changeset(
            from: base.snapshot, to: session.head.snapshot, marks: marks, ignoring: session.settings.ignored,
            reused: base.reused)
    }

    /// The whole state for a reader; a large one is written once for all readers, whatever they had.
    private func reset(_ reason: ResetReason, from revision: Revision?, _ options: ChangesOptions) -> ChangesAnswer {
        let form = options.form
        guard isShared else { return ChangesAnswer(reset: reason, from: revision, to: destination, form) }
        let end = shared(.state(form)) {
            let bytes = ChangesAnswer.end(ofReset: destination, form)
            let budget = table.answers.budget
            return form.isEvent ? SharedBody(partOfStream: bytes, in: budget) : SharedBody(bytes, in: budget)
        }
        return ChangesAnswer(reset: reason, from: revision, to: destination, form, sharing: end)
    }

    /// The body that another reader of this head got, or else a new one.
    private func shared(_ key: AnswerCache.Key, _ body: () -> SharedBody) -> SharedBody {
        let answers = slot.answers(in: table.answers)
        if let known = answers.body(key, at: session.head.revision) { return known }
        // Counted while it is written, or each worker would find room for one more.
        let body = table.answers.budget.charging(session.head.footprint, body)
        answers.remember(body, key, at: session.head.revision)
        return body
    }

    // MARK: What takes long

    /// From this footprint on a state is written once for all who get it.
    private static let worthSharing = 32 * 1024

    private var isShared: Bool { session.head.footprint >= Self.worthSharing }

    /// Whether another answer may be made: before a large one, those who do not read theirs have to go.
    var hasRoom: Bool { !isLong || !table.answers.budget.isExceeded }

    /// - Throws: 503 where there is no room.
    func checkRoom() throws(Problem) { if !hasRoom { throw .crowded } }

    /// The state as GET answers it, written once for all readers of this revision if it is worth that.
    func document() -> Body {
        guard isShared else { return .bytes(writtenDocument()) }
        return .shared(shared(.document) { SharedBody(writtenDocument(), in: table.answers.budget) })
    }

    private func writtenDocument() -> [UInt8] {
        var writer = JSONWriter(capacity: session.head.snapshot.footprint)
        writer.append("{\"session\":")
        writer.append(string: slot.name)
        writer.append(",\"revision\":")
        writer.append(string: session.head.revision.text)
        writer.append(",\"state\":")
        session.head.snapshot.writeDocument(into: &writer)
        writer.append(byte: UInt8(ascii: "}"))
        return writer.bytes()
    }
}
