// A reader of a part of a session gets the changes between two states: what it shows, and what it should show. Both are
// made from the base and the head by the same pure function.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews

/// What a reader shows, identified by the session's own revision.
package struct ReaderState: Hashable, Sendable {
    let revision: Revision
    /// The reader's window; nil if it shows everything that it sees.
    var position: WindowPosition?
}

/// The news for a reader.
package enum Update: Sendable {
    /// The reader is up to date: it already shows the same as this.
    case nothing(ReaderState)
    case changes(ChangesAnswer)
}

extension SessionView {
    /// Whether an update to the head takes long to compute.
    ///
    /// - Parameters:
    ///   - base: the session's own revision that the reader shows; nil if unknown.
    ///   - named: the revision that the reader named.
    func isLong(_ projection: Projection, from base: Revision? = nil, since named: Revision? = nil) -> Bool {
        guard cost(times: projection.scanCount).isLong else { return false }
        // A single view that is kept up to date and shows little is quick.
        guard let seen = seen(of: projection), let known = seen.now, projection.views.count < 2,
            projection.window != nil || !WorkCost.rows(known.seen.itemCount).isLong, let base,
            seen.state(at: base) != nil
        else { return true }
        let head = session.head
        if known.revision != head.revision,
            known.revision != head.parent
                || states.change(to: head.revision).map({ WorkCost.rows($0.counts.total).isLong }) ?? true
        {
            return true
        }
        // A lost anchor's neighbours are looked up in the state that was named, which must be recomputed.
        guard case .around(let anchor) = projection.window?.anchor, let named,
            case .past(let index, _) = resumePoint(named, projection),
            seen.state(at: session.history.revision(at: index)) == nil
        else { return false }
        return !self.seen(through: projection.views).head.seen.hasRow(forAnchor: anchor)
    }

    func resumePoint(_ revision: Revision, _ projection: Projection) -> ResumePoint {
        session.resumePoint(revision, through: projection.names, at: .now, bounds: table.bounds.history)
    }

    /// Of one of the session's own revisions, which differ in ignored values too.
    func resumePoint(of revision: Revision) -> ResumePoint {
        session.resumePoint(of: revision, at: .now, bounds: table.bounds.history)
    }

    /// Whether changes can start from what a reader has.
    func isUsable(_ since: Since, _ projection: Projection) -> Bool {
        guard case .revision(let revision) = since else { return false }
        if case .none = resumePoint(revision, projection) { return false }
        return true
    }

    /// Whether a reader's base is forgotten or will be soon.
    func isFading(_ revision: Revision) -> Bool {
        revision.sequence < session.startedOverAt
            || session.history.isFading(revision.sequence, at: .now, bounds: table.bounds.history)
    }

    func name(of base: ReaderState, _ projection: Projection) -> Revision {
        session.name(of: base.revision, through: projection.names).showing(base.position)
    }

    /// What a reader without a usable base, whose last window this was, should show of the head.
    func destination(_ projection: Projection, from position: WindowPosition? = nil) -> Destination {
        if projection.showsAll { return destination }
        let seen = seen(through: projection.views).head
        return destination(
            projection, seen, projection.window.map { seen.seen.window($0, since: WindowBase(nil, at: position)) })
    }

    fileprivate func destination(_ projection: Projection, _ seen: ViewVersion, _ window: WindowedState?) -> Destination
    {
        let base = ReaderState(revision: session.head.revision, position: window?.position)
        return Destination(
            session: slot.name, revision: name(of: base, projection),
            snapshot: window?.state ?? seen.shown(keptIn: table.answers), window: window, isPart: true)
    }

    /// A reader that resumes a stream keeps its window's anchor.
    func resuming(_ options: ChangesOptions, since: Since) -> ChangesOptions {
        guard case .around = options.projection.window?.anchor, case .revision(let revision) = since,
            let position = revision.position, let base = seen(at: revision, options.projection),
            let anchor = base.seen.window(at: position)?.anchor
        else { return options }
        var options = options
        options.projection.window?.anchor = .around(anchor)
        return options
    }
}

// MARK: Views

extension SessionView {
    fileprivate var answers: AnswerCache { slot.answers(in: table.answers) }
    private var states: ViewCache { answers.viewCache }

    /// A reader's view, kept up to date while the result is held; nil for a reader of the whole session.
    func seen(of projection: Projection, for client: String? = nil) -> MaterializedView? {
        projection.showsAll ? nil : states.view(projection.views, for: client)
    }

    /// What views show of the head, and what they showed before, if that was at another revision.
    func seen(through views: [StateView]) -> (head: ViewVersion, before: ViewVersion?) {
        let states = states
        let view = states.view(views)
        let known = view.now
        if let known, known.revision == session.head.revision { return (known, nil) }
        let next = known.flatMap { advanced($0, states) } ?? anew(view, views)
        states.advance(view, to: next)
        return (next, known)
    }

    private func anew(_ view: MaterializedView, _ views: [StateView]) -> ViewVersion {
        if view.isLetGo { table.answers.views.countMadeAnew() }
        return ViewVersion(
            views, of: session.head.snapshot, over: base(of: views), at: session.head.revision,
            in: table.account.views)
    }

    private func base(of views: [StateView]) -> SharedState? {
        views.count > 1 ? seen(through: Array(views.dropLast())).head.asShared() : nil
    }

    /// What views show of a revision that a reader names; nil if it is no longer remembered.
    func seen(at revision: Revision, _ projection: Projection) -> ViewVersion? {
        switch resumePoint(revision, projection) {
        case .none: nil
        case .head: seen(through: projection.views).head
        case .past(let index, _): seen(through: projection.views, at: index)
        }
    }

    fileprivate func seen(through views: [StateView], at index: Int, before: ViewVersion? = nil) -> ViewVersion? {
        seen(through: views, at: session.history.revision(at: index), before) { session.state(at: index)?.snapshot }
    }

    /// What views show of a past state. O(n) unless it was the head until just now.
    fileprivate func seen(
        through views: [StateView], at revision: Revision, _ before: ViewVersion? = nil, _ state: () -> Snapshot?
    ) -> ViewVersion? {
        let known =
            before.flatMap { $0.isSame(since: revision) ? $0 : nil } ?? states.view(views).state(at: revision)
        if let known, session.knows(known.revision) { return known }
        guard let source = state() else { return nil }
        let lower = Array(views.dropLast())
        let base = lower.isEmpty ? nil : seen(through: lower, at: revision) { source }?.asShared()
        return ViewVersion(views, of: source, over: base, at: revision, in: table.account.views)
    }

    /// Advances what views show from an earlier revision to the head; nil if no changes lead there.
    private func advanced(_ known: ViewVersion, _ states: ViewCache) -> ViewVersion? {
        let head = session.head
        guard known.revision.sequence < head.revision.sequence else { return nil }
        let marks: Marks
        switch resumePoint(of: known.revision) {
        case .none: return nil
        case .head(let all), .past(_, let all): marks = all.seen(through: known.views)
        }
        var (base, step): (SharedState?, StateStep?) = (known.base, nil)
        let isSame = known.source.isIdentical(to: head.snapshot)
        if !isSame, let old = known.base, let new = self.base(of: known.views) {
            base = new
            if old !== new { step = states.step(from: old.snapshot, to: new.snapshot, at: head.revision, over: nil) }
        } else if !isSame {
            // A view may depend on values that the session's changes ignore.
            let change = session.settings.ignored.isEmpty ? states.change(to: head.revision) : nil
            step = states.step(from: known.source, to: head.snapshot, at: head.revision, over: change)
        }
        return known.advanced(to: head.revision, of: head.snapshot, over: base, step, marks: marks)
    }
}

// MARK: One reader

/// The update of one reader of a part of the session: from what it shows to what it should show.
private struct ProjectedReader {
    let view: SessionView
    let options: ChangesOptions
    let since: Since
    /// A state known to show the same.
    let base: ReaderState?
    let write: WriteStep?

    private var projection: Projection { options.projection }
    private var head: Revision { view.session.head.revision }

    /// - Parameter always: whether to answer with changes even if there are none.
    func update(always: Bool) -> Update {
        guard case .revision(let named) = since else {
            return .changes(view.reset(since == .unreadable ? .unknown : .initial, from: nil, options))
        }
        let position = base.map(\.position) ?? named.position
        // A JSON patch changes documents, and a window is not one.
        if position != nil, options.form.dialect == .jsonPatch { return reset(.unknown, named) }
        let point = base.map { view.resumePoint(of: $0.revision) } ?? view.resumePoint(named, projection)
        let marks: Marks
        switch point {
        case .none(let reason):
            guard leadsFromWrite(named) else { return reset(reason, named) }
            marks = view.session.head.marks.seen(through: projection.views)
            if marks.isReload { return reset(.reloaded, named) }
        case .head(let all), .past(_, let all): marks = all.seen(through: projection.views)
        }
        let (seen, before) = view.seen(through: projection.views)
        if !always, isSame(seen, point, marks, since: base?.revision ?? named),
            window(of: seen, since: seen, position)?.position == position
        {
            return .nothing(ReaderState(revision: head, position: position))
        }
        let key = AnswerCache.Key.changes(from: named, options)
        let answers = view.answers
        if let known = answers.answer(key, at: head), always || !known.isOfNothing { return .changes(known) }
        let past: ViewVersion? =
            switch point {
            case .past(let index, _): view.seen(through: projection.views, at: index, before: before)
            case .head: seen
            case .none:
                write.flatMap { write in
                    view.seen(through: projection.views, at: write.base) { write.changeset.oldState }
                }
            }
        guard let past else { return reset(.expired, named) }
        let shown = position.map { past.seen.window(at: $0)?.state } ?? past.shown(keptIn: view.table.answers)
        guard let shown else { return reset(.unknown, named) }
        let window = window(of: seen, since: past, position)
        let destination = view.destination(projection, seen, window)
        let changeset = Changeset(
            from: shown, to: destination.snapshot, marks: marks, ignoring: ignored,
            patchesItems: !view.session.settings.ignoredOthers)
        // A reader that asks for another window is told its position, even if the rows are the same.
        let isAsked = base == nil && self.window(of: past, since: past, position)?.position != position
        let isOfNothing = isEmpty(changeset)
        if !always, isOfNothing, !isAsked {
            return .nothing(ReaderState(revision: head, position: window?.position))
        }
        var answer = ChangesAnswer(changeset, from: named, to: destination, options)
        answer.isOfNothing = isOfNothing
        return .changes(answers.remember(answer, key, at: head))
    }

    private var ignored: [JSONPointer] { projection.views.reduce(view.session.settings.ignored) { $1.shown(of: $0) } }

    /// Whether a revision names the head before the write.
    private func leadsFromWrite(_ named: Revision) -> Bool {
        guard let write else { return false }
        return view.name(of: ReaderState(revision: write.base), projection) == named.showing(nil)
    }

    /// Whether the reader sees the same as at its revision.
    private func isSame(_ seen: ViewVersion, _ point: ResumePoint, _ marks: Marks, since known: Revision) -> Bool {
        switch point {
        case .head: return marks.isEmpty
        case .past(let index, _):
            // A later revision may have the same state as a forgotten one, but rows may have been marked in between.
            let found = view.session.history.revision(at: index)
            return seen.isSame(since: found) && (marks.isEmpty || found.sequence <= known.sequence)
        case .none: return false
        }
    }

    /// Whether the reader has the target already. For a document the rows are not enough: it also has hidden items.
    private func isEmpty(_ changeset: Changeset) -> Bool {
        changeset.isEmpty && (options.form.dialect != .jsonPatch || changeset.json(.jsonPatch).count == 2)
    }

    private func window(of seen: ViewVersion, since past: ViewVersion, _ position: WindowPosition?) -> WindowedState? {
        projection.window.map { seen.seen.window($0, since: windowBase(past, position)) }
    }

    /// Where to look for a lost anchor's neighbours: in the revision that the reader named, if it is still remembered.
    /// A later state may look the same in the window and have other rows around it.
    private func windowBase(_ past: ViewVersion, _ position: WindowPosition?) -> WindowBase {
        guard base != nil, case .revision(let named) = since, let seen = view.seen(at: named, projection) else {
            return WindowBase(past.seen, at: position)
        }
        return WindowBase(seen.seen, at: named.position)
    }

    private func reset(_ reason: ResetReason, _ named: Revision) -> Update {
        .changes(view.reset(reason, from: named, options))
    }
}

// MARK: Answers

extension SessionView {
    var destination: Destination {
        Destination(session: slot.name, revision: session.head.revision, snapshot: session.head.snapshot)
    }

    /// Whether a reader of the whole session is up to date.
    func hasNothing(since: Since) -> Bool {
        guard case .revision(let revision) = since, case .head(let marks) = resumePoint(revision) else { return false }
        return marks.isEmpty
    }

    /// - Parameter base: a state known to show the same.
    func update(since: Since, from base: ReaderState? = nil, _ options: ChangesOptions) -> Update {
        if options.projection.showsAll, since.position == nil, base?.position == nil {
            if hasNothing(since: since) { return .nothing(ReaderState(revision: session.head.revision)) }
            return .changes(answer(since: since, options))
        }
        return ProjectedReader(view: self, options: options, since: since, base: base, write: nil).update(always: false)
    }

    /// Readers with the same base and options share the diff and its encoding. The base of the write that made the head
    /// is usable even if it is no longer remembered.
    func answer(
        since: Since, from base: ReaderState? = nil, _ options: ChangesOptions, after write: WriteStep? = nil
    ) -> ChangesAnswer {
        guard options.projection.showsAll, since.position == nil, base?.position == nil else {
            let reader = ProjectedReader(view: self, options: options, since: since, base: base, write: write)
            switch reader.update(always: true) {
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
            guard let write, write.base == revision else { return reset(reason, from: revision, options) }
            if session.head.marks.isReload { return reset(.reloaded, from: revision, options) }
            return ChangesAnswer(write.changeset, from: revision, to: destination, options)
        case .head(let marks):
            return shared(from: revision, options) { changes(from: session.head.snapshot, marks) }
                ?? reset(.expired, from: revision, options)
        case .past(let index, let marks):
            return shared(from: revision, options) {
                session.state(at: index).map { changes(from: $0.snapshot, marks, $0.shared) }
            } ?? reset(.expired, from: revision, options)
        }
    }

    private func shared(
        from revision: Revision, _ options: ChangesOptions, _ changes: () -> Changeset?
    ) -> ChangesAnswer? {
        let (key, answers) = (AnswerCache.Key.changes(from: revision, options), answers)
        if let known = answers.answer(key, at: session.head.revision) { return known }
        guard let changeset = answers.changes(from: revision, at: session.head.revision, changes) else { return nil }
        let answer = ChangesAnswer(changeset, from: revision, to: destination, options)
        return answers.remember(answer, key, at: session.head.revision)
    }

    private func changes(from base: Snapshot, _ marks: Marks, _ shared: SharedRuns? = nil) -> Changeset {
        Changeset(
            from: base, to: session.head.snapshot, marks: marks, ignoring: session.settings.ignored,
            patchesItems: !session.settings.ignoredOthers, shared: shared)
    }

    /// The only write since an earlier value of the session; nil if there were several, or it was started over.
    func step(from before: Session) -> WriteStep? {
        let head = session.head
        guard head.parent == before.head.revision, session.startedOverAt != head.revision.sequence else { return nil }
        return WriteStep(base: before.head.revision, changeset: changes(from: before.head.snapshot, head.marks))
    }

    /// The whole state, for a reader without a usable base. A large one is written once for all readers.
    func reset(_ reason: ResetReason, from revision: Revision?, _ options: ChangesOptions) -> ChangesAnswer {
        let form = options.form
        let destination = destination(options.projection, from: revision?.position)
        guard options.projection.window == nil, destination.size >= Self.worthSharing else {
            return ChangesAnswer(reset: reason, from: revision, to: destination, options)
        }
        let end = shared(.state(form, options.projection.views), destination) {
            let bytes = ChangesAnswer.end(ofReset: destination, form)
            let budget = table.account.outgoing
            return form.isEvent ? SharedBody(partOfStream: bytes, in: budget) : SharedBody(bytes, in: budget)
        }
        return ChangesAnswer(reset: reason, from: revision, to: destination, options, sharing: end)
    }

    private func shared(_ key: AnswerCache.Key, _ destination: Destination, _ body: () -> SharedBody) -> SharedBody {
        let answers = answers
        if let known = answers.find(key, at: session.head.revision)?.body { return known }
        // Charged while it is written: otherwise each worker would find memory for one more.
        let body = table.account.outgoing.charging(destination.size, body)
        answers.remember(body, key, at: session.head.revision)
        return body
    }

    // MARK: Large answers

    /// The size in bytes from which a state is written once for all readers.
    private static let worthSharing = 32 * 1024

    /// Whether there is memory for another answer. Large answers must wait for slow readers to leave.
    var hasRoom: Bool { !cost().isLong || !table.account.outgoing.isExceeded }

    /// - Throws: 503 if there is no memory.
    func checkRoom() throws(Problem) { if !hasRoom { throw .crowded } }

    /// Checks for room, except that an empty answer needs no memory.
    func checkRoom(since: Since, _ options: ChangesOptions) throws(Problem) {
        if !options.projection.showsAll || !hasNothing(since: since) { try checkRoom() }
    }

    /// The state, as the answer to GET.
    func document(_ projection: Projection) -> Body {
        let destination = destination(projection)
        guard destination.size >= Self.worthSharing else { return .bytes(written(destination)) }
        return .shared(
            shared(.document(projection.views), destination) {
                SharedBody(written(destination), in: table.account.outgoing)
            })
    }

    /// The length of `document` in bytes; for a large one an estimate in O(1), unless a view shows a part.
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
        return object.body()
    }
}

/// A write just committed.
struct WriteStep {
    /// The head before the write.
    let base: Revision
    /// Leads from `base` to the head.
    let changeset: Changeset
}
