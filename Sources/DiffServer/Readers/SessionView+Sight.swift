// A reader that shows a part of a session gets changes from what it shows to what it is to show. Both are states, made
// from the base and the head by the same pure function.

import HTTPCore
import SnapshotKit

/// What a reader shows, by the session's own revision.
struct ReaderBase: Sendable {
    let revision: Revision
    /// Its window; nil for all that it sees.
    var place: WindowPlace?
}

/// What there is to tell a reader.
enum News: Sendable {
    /// The reader is up to date: what it has shows the same as this.
    case nothing(ReaderBase)
    case changes(ChangesAnswer)
}

extension SessionView {
    /// Whether news of the head takes long to compute.
    ///
    /// - Parameter base: the session's revision that the reader shows; nil if it is not known.
    func isLong(_ sight: Sight, from base: Revision? = nil) -> Bool {
        guard isLong(passes: sight.passes) else { return false }
        // A single view that is kept up to date and shows little is quick.
        guard let seen = seen(of: sight), let known = seen.now, sight.views.count < 2,
            sight.window != nil || known.seen.itemCount <= Self.few, let base, seen.state(at: base) != nil
        else { return true }
        let head = session.head
        return known.revision != head.revision
            && (known.revision != head.parent || (head.change?.counts.total ?? .max) > Self.few)
    }

    /// Items or changes that take some tens of microseconds.
    private static let few = 512

    /// Whether a reader sees the same of the head as of an earlier revision.
    func isSame(since revision: Revision, _ sight: Sight) -> Bool {
        seen(through: sight.views).head.isSame(since: revision)
    }

    func resumePoint(_ revision: Revision, _ sight: Sight) -> ResumePoint {
        session.resumePoint(revision, through: sight.views, at: .now, bounds: table.bounds.history)
    }

    /// The same for the session's own revision, which also differs by what is ignored.
    func resumePoint(of revision: Revision) -> ResumePoint {
        session.resumePoint(of: revision, at: .now, bounds: table.bounds.history)
    }

    /// Whether changes can start from what a reader has. Otherwise it gets the whole state.
    func isUsable(_ since: Since, _ sight: Sight) -> Bool {
        guard case .revision(let revision) = since else { return false }
        if case .none = resumePoint(revision, sight) { return false }
        return true
    }

    /// Whether a reader's base will be forgotten before long.
    func isFading(_ revision: Revision) -> Bool {
        session.history.isFading(revision.sequence, at: .now, bounds: table.bounds.history)
    }

    /// A base by the revision that its reader knows.
    func name(of base: ReaderBase, _ sight: Sight) -> Revision {
        session.name(of: base.revision, through: sight.views).showing(base.place)
    }

    /// News for a reader that shows a part.
    ///
    /// - Parameters:
    ///   - since: what the reader says that it has.
    ///   - base: shows the same as that, if it is known.
    ///   - always: whether the answer is changes even if there are none.
    func sightedNews(since: Since, from base: ReaderBase?, _ options: ChangesOptions, always: Bool) -> News {
        SightedReader(view: self, options: options, since: since, base: base).news(always: always)
    }

    /// What a reader without a usable base is to show of the head.
    ///
    /// - Parameter place: its last window.
    func destination(_ sight: Sight, from place: WindowPlace? = nil) -> Destination {
        let seen = seen(through: sight.views).head
        return destination(sight, seen, sight.window.map { seen.seen.window($0, since: WindowBase(nil, at: place)) })
    }

    fileprivate func destination(_ sight: Sight, _ seen: SeenState, _ window: WindowedState?) -> Destination {
        let base = ReaderBase(revision: session.head.revision, place: window?.place)
        return Destination(
            session: slot.name, revision: name(of: base, sight),
            snapshot: window?.state ?? seen.shown(keptIn: table.answers), window: window, isPart: true)
    }

    /// The options of a reader that resumes a stream: its window keeps the anchor that it had.
    func resuming(_ options: ChangesOptions, since: Since) -> ChangesOptions {
        guard case .around = options.sight.window?.anchor, case .revision(let revision) = since,
            let place = revision.place, let base = seen(at: revision, options.sight),
            let anchor = base.seen.window(at: place)?.anchor
        else { return options }
        var options = options
        options.sight.window?.anchor = .around(anchor)
        return options
    }
}

// MARK: Views

extension SessionView {
    /// What is kept up to date for a reader while the result is held; nil for a reader of the whole session.
    func seen(of sight: Sight) -> SeenView? {
        sight.showsAll ? nil : slot.answers(in: table.answers).seenStates.view(sight.views)
    }

    /// What views show of the head, and what they showed before if that was of another revision.
    func seen(through views: [StateView]) -> (head: SeenState, before: SeenState?) {
        let states = slot.answers(in: table.answers).seenStates
        let view = states.view(views)
        let known = view.now
        if let known, known.revision == session.head.revision { return (known, nil) }
        let next = known.flatMap { advanced($0, states) } ?? anew(views, session.head.snapshot, session.head.revision)
        states.advance(view, to: next)
        return (next, known)
    }

    /// What views show of a revision that a reader names; nil if that is not remembered.
    func seen(at revision: Revision, _ sight: Sight) -> SeenState? {
        switch resumePoint(revision, sight) {
        case .none: nil
        case .head: seen(through: sight.views).head
        case .past(let place, _): seen(through: sight.views, at: place)
        }
    }

    /// What views show of a past state. O(n) unless that was the head until just now.
    fileprivate func seen(through views: [StateView], at place: Int, before: SeenState? = nil) -> SeenState? {
        let revision = session.history.revision(at: place)
        let known =
            before.flatMap { $0.isSame(since: revision) ? $0 : nil }
            ?? slot.answers(in: table.answers).seenStates.view(views).state(at: revision)
        if let known, session.knows(known.revision) { return known }
        return session.state(at: place).map { anew(views, $0.snapshot, revision) }
    }

    private func anew(_ views: [StateView], _ snapshot: Snapshot, _ revision: Revision) -> SeenState {
        SeenState(views, of: snapshot, at: revision, in: table.answers.views)
    }

    /// Advances what was seen of an earlier revision to the head; nil if nothing leads from there.
    private func advanced(_ known: SeenState, _ states: SeenStates) -> SeenState? {
        let head = session.head
        guard known.revision.sequence < head.revision.sequence else { return nil }
        let marks: Marks
        switch resumePoint(of: known.revision) {
        case .none: return nil
        case .head(let all), .past(_, let all): marks = all
        }
        if known.source.isIdentical(to: head.snapshot) {
            return known.relabeled(head.revision, marks: marks, in: table.answers.views)
        }
        // A view may depend on what the session's changes ignore.
        let step = states.step(
            from: known.source, at: known.revision, to: head, over: session.settings.ignored.isEmpty ? head.change : nil
        )
        return known.advanced(to: head.revision, over: step, marks: marks, in: table.answers.views)
    }
}

// MARK: One reader

/// What one reader shows, and is to show.
private struct SightedReader {
    let view: SessionView
    let options: ChangesOptions
    let since: Since
    let base: ReaderBase?

    private var sight: Sight { options.sight }
    private var head: Revision { view.session.head.revision }

    func news(always: Bool) -> News {
        guard case .revision(let named) = since else {
            return .changes(view.reset(since == .unreadable ? .unknown : .initial, from: nil, options))
        }
        let place = base.map(\.place) ?? named.place
        // A window is no document that a JSON patch could change.
        if place != nil, options.form.dialect == .jsonPatch { return reset(.unknown, named) }
        let point = base.map { view.resumePoint(of: $0.revision) } ?? view.resumePoint(named, sight)
        let marks: Marks
        switch point {
        case .none(let reason): return reset(reason, named)
        case .head(let all), .past(_, let all): marks = all
        }
        let (seen, before) = view.seen(through: sight.views)
        if !always, isSame(seen, point, marks), window(of: seen, since: seen, place)?.place == place {
            return .nothing(ReaderBase(revision: head, place: place))
        }
        let key = AnswerCache.Key.changes(from: named, options)
        let answers = view.slot.answers(in: view.table.answers)
        if let known = answers.answer(key, at: head), always || !known.isOfNothing { return .changes(known) }
        let past: SeenState? =
            if case .past(let index, _) = point { view.seen(through: sight.views, at: index, before: before) } else {
                seen
            }
        guard let past else { return reset(.expired, named) }
        let shown = place.map { past.seen.window(at: $0)?.state } ?? past.shown(keptIn: view.table.answers)
        guard let shown else { return reset(.unknown, named) }
        let window = window(of: seen, since: past, place)
        let destination = view.destination(sight, seen, window)
        let changeset = Changeset(
            from: shown, to: destination.snapshot, marks: marks, ignoring: view.session.settings.ignored)
        // A reader that asks for another window than it shows is told the new place, even if the rows are the same.
        let isAsked = base == nil && self.window(of: past, since: past, place)?.place != place
        let isOfNothing = isEmpty(changeset)
        if !always, isOfNothing, !isAsked {
            return .nothing(ReaderBase(revision: head, place: window?.place))
        }
        var answer = ChangesAnswer(changeset, from: named, to: destination, options)
        answer.isOfNothing = isOfNothing
        return .changes(answers.remember(answer, key, at: head))
    }

    /// Whether the reader sees what it saw.
    private func isSame(_ seen: SeenState, _ point: ResumePoint, _ marks: Marks) -> Bool {
        switch point {
        case .head: marks.isEmpty
        case .past(let place, _): seen.isSame(since: view.session.history.revision(at: place))
        case .none: false
        }
    }

    /// Whether the reader has what a changeset leads to. For a document the rows do not tell, since it has hidden
    /// items.
    private func isEmpty(_ changeset: Changeset) -> Bool {
        changeset.isEmpty && (options.form.dialect != .jsonPatch || changeset.json(.jsonPatch).count == 2)
    }

    private func window(of seen: SeenState, since base: SeenState, _ place: WindowPlace?) -> WindowedState? {
        sight.window.map { seen.seen.window($0, since: WindowBase(base.seen, at: place)) }
    }

    private func reset(_ reason: ResetReason, _ named: Revision) -> News {
        .changes(view.reset(reason, from: named, options))
    }
}
