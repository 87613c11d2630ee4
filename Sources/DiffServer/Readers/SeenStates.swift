// What readers' views show of a session's head is kept for as long as somebody reads through them, and carried along: a
// commit costs a view what it changed. What they showed of the revision before is kept for a moment, for all whose next
// answer leads on from there.
//
// All of it refers to the states that are seen. So what is seen of a state that is no longer the head takes as much of
// the budget as that state does, once for all views; and readers who do not go on from there lose it.

import HTTPCore
import SnapshotKit

/// What views show of one session.
final class SeenStates: Sendable {
    private let content = Locked(Content())
    private let budget: MemoryBudget

    private struct Content {
        /// The newest revision that is known here, and what holds its state.
        var head: Revision?
        weak var generation: Generation?
        var views: [[StateView]: Entry] = [:]
        /// Holds what the last commit changed, for the first who goes on from there: `Head.change` is weak.
        var arrived: Changeset?
        var step: (from: Revision, to: Revision, StateStep)?

        struct Entry {
            /// Until the next release; behind that only readers hold it.
            var kept: SeenView?
            weak var watched: SeenView?

            var view: SeenView? { kept ?? watched }
        }

        var all: [SeenView] { views.values.compactMap(\.view) }
    }

    /// A state that is seen: counted from when it is no longer the head until nobody holds it.
    fileprivate final class Generation: Sendable {
        private let bytes: Int
        private let share: MemoryShare

        init(_ source: Snapshot, in budget: MemoryBudget) {
            // States that were posted whole have texts of their own, those that edits made share most of it.
            (bytes, share) = (source.footprint, MemoryShare(of: budget))
        }

        /// - Returns: false if there is no room for it.
        func count() -> Bool { share.resize(to: bytes) }
    }

    init(in budget: MemoryBudget) { self.budget = budget }

    /// Whether nobody reads through views.
    var isEmpty: Bool { content.withLock { $0.views.isEmpty } }

    /// What some views show, for as long as the result is held.
    func view(_ views: [StateView]) -> SeenView {
        content.withLock { content in
            let entry = content.views[views]
            let view = entry?.kept ?? entry?.watched ?? SeenView()
            content.views[views] = Content.Entry(kept: view, watched: view)
            return view
        }
    }

    /// Another state has become the head.
    ///
    /// - Parameter change: leads there from the one before, if that is known.
    func move(to head: Revision, over change: Changeset? = nil) {
        let (left, old) = content.withLock { content -> (Generation?, (Changeset?, StateStep?)) in
            guard content.head != head else { return (nil, (nil, nil)) }
            let change = content.views.isEmpty ? nil : change
            let left = content.generation
            let old = (content.arrived, content.step?.2)
            (content.head, content.generation, content.arrived, content.step) = (head, nil, change, nil)
            return (left, old)
        }
        withExtendedLifetime(old) {}
        guard let left, !left.count() else { return }
        for view in content.withLock({ $0.all }) { view.forget(left) }
    }

    /// What leads from a state that was seen to the head, found out once for all views.
    ///
    /// - Parameter change: one that may lead there.
    func step(
        from source: Snapshot, at revision: Revision, to head: Session.Head, over change: Changeset?
    ) -> StateStep {
        let known = content.withLock { content in
            content.step.flatMap { $0.from == revision && $0.to == head.revision ? $0.2 : nil }
        }
        if let known, known.old.isIdentical(to: source), known.new.isIdentical(to: head.snapshot) { return known }
        let change =
            change.flatMap { $0.leads(from: source, to: head.snapshot) ? $0 : nil }
            ?? Changeset(from: source, to: head.snapshot)
        let step = StateStep(change)
        content.withLock { content in
            if content.head == head.revision { content.step = (revision, head.revision, step) }
        }
        return step
    }

    /// Puts what is seen of the head in place of what was seen before.
    func advance(_ view: SeenView, to next: SeenState) {
        if content.withLock({ $0.head.map { $0.sequence < next.revision.sequence } ?? true }) {
            move(to: next.revision)
        }
        let generation = content.withLock { content -> Generation? in
            guard content.head == next.revision else { return nil }
            let generation = content.generation ?? Generation(next.source, in: budget)
            content.generation = generation
            return generation
        }
        guard let generation else { return }
        if next.takesMemory() { view.move(to: next, generation) } else { view.refuse() }
    }

    /// Lets go of what nobody reads through, and of what its readers have not gone on from since the last release.
    ///
    /// - Returns: whether something is left that may have to go with the next one.
    func release() -> Bool {
        let (views, old) = content.withLock { content -> ([SeenView], (Changeset?, StateStep?)) in
            let (views, old) = (content.all, (content.arrived, content.step?.2))
            (content.arrived, content.step) = (nil, nil)
            content.views = content.views.compactMapValues { entry in
                entry.watched.map { Content.Entry(kept: nil, watched: $0) }
            }
            return (views, old)
        }
        withExtendedLifetime(old) {}
        let head = content.withLock { $0.head }
        return views.reduce(false) { $1.release(at: head) || $0 }
    }

    /// Lets go of everything, as the session leaves memory.
    func forget() {
        let (views, old) = content.withLock { content in
            let old = exchange(&content, with: Content())
            return (old.all, old)
        }
        for view in views { view.forget() }
        _ = consume old
    }
}

/// What some views show of a session now, and showed just before.
final class SeenView: Sendable {
    private let content = Locked(Content())

    private struct Content {
        var now: Kept?
        var before: Kept?
        /// What there was at the last release, though it was not of the head.
        var stale: SeenState?
        var isRefused = false
    }

    fileprivate struct Kept {
        let state: SeenState
        let generation: SeenStates.Generation
    }

    /// Of the newest revision that somebody asked for.
    var now: SeenState? { content.withLock { $0.now?.state } }

    /// Whether there was no room for what was seen last: whoever goes on reading has all of a list looked at for each
    /// commit.
    var isRefused: Bool { content.withLock { $0.isRefused } }

    /// What was shown at a revision, if that is known.
    func state(at revision: Revision) -> SeenState? {
        content.withLock { content in
            [content.now, content.before].lazy.compactMap { $0?.state }.first { $0.isSame(since: revision) }
        }
    }

    fileprivate func move(to next: SeenState, _ generation: SeenStates.Generation) {
        change { content in
            if let now = content.now, now.state.revision.sequence >= next.revision.sequence,
                now.generation === generation
            {
                return
            }
            content = Content(now: Kept(state: next, generation: generation), before: content.now)
        }
    }

    fileprivate func refuse() {
        change { content in
            content = Content()
            content.isRefused = true
        }
    }

    /// - Returns: whether what is left is not of the head.
    fileprivate func release(at head: Revision?) -> Bool {
        change { content in
            content.before = nil
            let stale = content.now.flatMap { $0.state.revision == head ? nil : $0.state }
            if let stale, stale === content.stale {
                content = Content()
            } else {
                content.stale = stale
            }
        }
        now?.release()
        return content.withLock { $0.stale != nil }
    }

    fileprivate func forget(_ generation: SeenStates.Generation) {
        change { content in
            if content.now?.generation === generation { content.now = nil }
            if content.before?.generation === generation { content.before = nil }
        }
    }

    fileprivate func forget() { change { $0 = Content() } }

    /// What goes, goes outside the lock.
    private func change(_ work: (inout Content) -> Void) {
        let old = content.withLock { content in
            let old = content
            work(&content)
            return old
        }
        withExtendedLifetime(old) {}
    }
}
