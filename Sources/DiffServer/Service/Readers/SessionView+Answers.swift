import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// Answers to readers.
extension SessionView {
    var destination: Destination {
        Destination(session: slot.name, revision: session.head.revision, snapshot: session.head.snapshot)
    }

    /// Whether a reader of the whole session is up to date.
    func hasNothing(since: Since) -> Bool {
        guard case .revision(let revision) = since, case .head(let marks) = resumePoint(revision) else { return false }
        return marks.isEmpty
    }

    /// - Parameters:
    ///   - since: what the reader says that it has.
    ///   - base: shows the same as that, if it is known.
    func update(since: Since, from base: ReaderState? = nil, _ options: ChangesOptions) -> Update {
        if options.projection.showsAll, since.place == nil, base?.place == nil {
            if hasNothing(since: since) { return .nothing(ReaderState(revision: session.head.revision)) }
            return .changes(answer(since: since, options))
        }
        return projectedUpdate(since: since, from: base, options, always: false)
    }

    /// The answer from a reader's base to the head. Readers with the same base and options share the diff and its
    /// encoding.
    ///
    /// - Parameter write: made the head; its base is usable even if it is not remembered.
    func answer(
        since: Since, from base: ReaderState? = nil, _ options: ChangesOptions, after write: WriteStep? = nil
    ) -> ChangesAnswer {
        guard options.projection.showsAll, since.place == nil, base?.place == nil else {
            switch projectedUpdate(since: since, from: base, options, always: true, after: write) {
            case .changes(let answer): return answer
            case .nothing: preconditionFailure("a reader that always gets changes got none")
            }
        }
        guard case .revision(let revision) = since else {
            let reason: ResetReason = since == .unreadable ? .unknown : .initial
            return reset(reason, from: nil, options)
        }
        switch resumePoint(revision) {
        case .none(let reason):
            let isReload = write?.base == revision && session.head.marks.isReload
            return reset(isReload ? .reloaded : reason, from: revision, options)
        case .head(let marks):
            let head = (snapshot: session.head.snapshot, reused: nil as ReusedRuns?)
            return shared(from: revision, options) {
                changes(from: head, at: session.head.revision, for: revision, marks)
            }
                ?? reset(.expired, from: revision, options)
        case .past(let place, let marks):
            return shared(from: revision, options) {
                session.state(at: place).map {
                    changes(
                        from: ($0.snapshot, $0.reused), at: session.history.revision(at: place), for: revision, marks)
                }
            } ?? reset(.expired, from: revision, options)
        }
    }

    /// The answer that another reader with the same base and options got, or a new one.
    private func shared(
        from revision: Revision, _ options: ChangesOptions, _ changes: () -> Changeset?
    ) -> ChangesAnswer? {
        let key = AnswerCache.Key.changes(from: revision, options)
        let answers = slot.answers(in: table.answers)
        if let known = answers.answer(key, at: session.head.revision) { return known }
        guard let changeset = answers.changes(from: revision, at: session.head.revision, changes) else { return nil }
        let answer = ChangesAnswer(changeset, from: revision, to: destination, options)
        return answers.remember(answer, key, at: session.head.revision)
    }

    private func changes(
        from base: (snapshot: Snapshot, reused: ReusedRuns?), at known: Revision, for reader: Revision, _ marks: Marks
    ) -> Changeset {
        Changeset(
            from: base.snapshot, to: session.head.snapshot, marks: marks, ignoring: session.settings.ignored,
            readersMayDiffer: session.head.mayDiffer(for: reader, knownAs: known), reused: base.reused)
    }

    /// All that a reader without a usable base is to show. A large state is written once for all readers.
    func reset(_ reason: ResetReason, from revision: Revision?, _ options: ChangesOptions) -> ChangesAnswer {
        let form = options.form
        let destination =
            options.projection.showsAll ? destination : destination(options.projection, from: revision?.place)
        guard options.projection.window == nil, destination.size >= Self.worthSharing else {
            return ChangesAnswer(reset: reason, from: revision, to: destination, form)
        }
        let end = shared(.state(form, options.projection.views), destination) {
            let bytes = ChangesAnswer.end(ofReset: destination, form)
            let budget = table.answers.budget
            return form.isEvent ? SharedBody(partOfStream: bytes, in: budget) : SharedBody(bytes, in: budget)
        }
        return ChangesAnswer(reset: reason, from: revision, to: destination, form, sharing: end)
    }

    /// The body that another reader of this head got, or a new one.
    private func shared(_ key: AnswerCache.Key, _ destination: Destination, _ body: () -> SharedBody) -> SharedBody {
        let answers = slot.answers(in: table.answers)
        if let known = answers.body(key, at: session.head.revision) { return known }
        // Counted while it is written, or each worker would find memory for one more.
        let body = table.answers.budget.charging(destination.size, body)
        answers.remember(body, key, at: session.head.revision)
        return body
    }

    // MARK: Large answers

    /// From this size on, in bytes, a state is written once for all readers.
    private static let worthSharing = 32 * 1024

    /// Whether there is memory for another answer. Large ones have to wait until slow readers are gone.
    var hasRoom: Bool { !isLong || !table.answers.budget.isExceeded }

    /// - Throws: 503 if there is no memory.
    func checkRoom() throws(Problem) { if !hasRoom { throw .crowded } }

    /// The same, except that an empty answer needs no memory.
    func checkRoom(since: Since, _ options: ChangesOptions) throws(Problem) {
        if !options.projection.showsAll || !hasNothing(since: since) { try checkRoom() }
    }

    /// The state as GET answers it. A large one is written once for all readers.
    func document(_ projection: Projection) -> Body {
        let destination = projection.showsAll ? destination : destination(projection)
        guard destination.size >= Self.worthSharing else { return .bytes(written(destination)) }
        return .shared(
            shared(.document(projection.views), destination) {
                SharedBody(written(destination), in: table.answers.budget)
            })
    }

    /// The length of that in bytes, or an estimate where it is large. O(1) then, unless a view shows a part.
    func documentSize(_ projection: Projection) -> Int {
        let size = destination.size
        return size >= Self.worthSharing && (projection.showsAll || !hasRoom) ? size : document(projection).count
    }

    private func written(_ destination: Destination) -> [UInt8] {
        var object = JSONObject(capacity: destination.size)
        object.text("session", slot.name)
        object.revision("revision", destination.revision)
        object.name("state")
        destination.snapshot.writeDocument(into: &object.writer)
        return object.bytes()
    }
}

/// A write that was just committed.
struct WriteStep {
    /// The head before.
    let base: Revision
    /// Leads from there to the head.
    let changeset: Changeset

    init(from base: Revision, _ changeset: Changeset) { (self.base, self.changeset) = (base, changeset) }
}
