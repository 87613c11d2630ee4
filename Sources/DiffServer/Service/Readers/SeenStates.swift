// What readers' views show of a session's head is kept while there are such readers, and advanced by each commit at the
// cost of its changes. What the views showed of the previous revision is kept for a moment, for all readers whose next
// answer starts there.
//
// It refers to the text of the states that it shows. So a view of a state that is no longer the head counts as much as
// that state, once for all views; readers that do not continue from there lose it.

import DiffSessions
import HTTPCore
import SnapshotKit
import SnapshotViews

/// What views show of one session.
final class SeenStates: Sendable {
    private let content = Locked(Content())
    private let budget: MemoryBudget

    private struct Content {
        /// The newest known revision, and its state's generation.
        var head: Revision?
        weak var generation: Generation?
        /// After the next release, only readers keep them.
        var views: [[StateView]: Releasable<SeenView>] = [:]
        /// Keeps the changes of the last commit until the first view has advanced: `Head.change` is weak.
        var arrived: Changeset?
        var step: (from: Revision, to: Revision, StateStep)?

        var all: [SeenView] { views.values.compactMap(\.object) }
    }

    /// A state that views show. It is charged from when it is no longer the head until no view shows it.
    fileprivate final class Generation: Sendable {
        private let bytes: Int
        private let share: MemoryShare

        init(_ source: Snapshot, in budget: MemoryBudget) {
            // An upper bound: a state made by edits shares most of its text with the previous one.
            (bytes, share) = (source.footprint, MemoryShare(of: budget))
        }

        /// - Returns: false if there is no memory for it.
        func count() -> Bool { share.resize(to: bytes) }
    }

    init(in budget: MemoryBudget) { self.budget = budget }

    /// Whether there are no readers with views.
    var isEmpty: Bool { content.withLock { $0.views.isEmpty } }

    /// What some views show, kept up to date while the result is held.
    func view(_ views: [StateView]) -> SeenView {
        content.withLock { content in
            let view = content.views[views]?.object ?? SeenView()
            content.views[views] = Releasable(view)
            return view
        }
    }

    /// Moves on to a new head.
    ///
    /// - Parameter change: from the previous head, if known.
    func move(to head: Revision, over change: Changeset? = nil) {
        let (left, old) = content.withLock { content -> (Generation?, (Changeset?, StateStep?)) in
            guard content.head != head else { return (nil, (nil, nil)) }
            let left = content.generation
            let change = left == nil ? nil : change
            let old = (content.arrived, content.step?.2)
            (content.head, content.generation, content.arrived, content.step) = (head, nil, change, nil)
            return (left, old)
        }
        withExtendedLifetime(old) {}
        guard let left, !left.count() else { return }
        let (views, change) = content.withLock { ($0.all, $0.head == head ? exchange(&$0.arrived, with: nil) : nil) }
        withExtendedLifetime(change) {}
        for view in views { view.forget(left) }
    }

    /// The step from a state that views show to the head, computed once for all views.
    ///
    /// - Parameter change: used if it leads from one to the other.
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

    /// Replaces what a view shows by what it shows of the head.
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
        if next.reserveMemory() { view.move(to: next, generation) } else { view.refuse() }
    }

    /// Releases views without readers, and states from which no reader has continued since the last release.
    ///
    /// - Returns: whether anything is left for the next release.
    func release() -> Bool {
        let (views, old) = content.withLock { content -> ([SeenView], (Changeset?, StateStep?)) in
            let (views, old) = (content.all, (content.arrived, content.step?.2))
            (content.arrived, content.step) = (nil, nil)
            content.views = content.views.compactMapValues { $0.object.map { Releasable($0, isKept: false) } }
            return (views, old)
        }
        withExtendedLifetime(old) {}
        let head = content.withLock { $0.head }
        return views.reduce(false) { $1.release(at: head) || $0 }
    }

    /// Releases everything, as the session leaves memory.
    func forget() {
        let (views, old) = content.withLock { content in
            let old = exchange(&content, with: Content())
            return (old.all, old)
        }
        for view in views { view.forget() }
        _ = consume old
    }
}

/// What some views show of a session now, and what they showed just before.
final class SeenView: Sendable {
    private let content = Locked(Content())

    private struct Content {
        var now: Kept?
        var before: Kept?
        /// What `now` was at the last release, if that was behind the head.
        var stale: SeenState?
        var isRefused = false
    }

    fileprivate struct Kept {
        let state: SeenState
        let generation: SeenStates.Generation
    }

    /// Of the newest revision that a reader has asked for.
    var now: SeenState? { content.withLock { $0.now?.state } }

    /// Whether there was no memory for the last state. Reading on would cost O(n) for each commit.
    var isRefused: Bool { content.withLock { $0.isRefused } }

    /// What was shown of a revision, if that is still known.
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

    /// - Returns: whether `now` is behind the head.
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

    /// Frees what is dropped outside the lock.
    private func change(_ work: (inout Content) -> Void) {
        let old = content.withLock { content in
            let old = content
            work(&content)
            return old
        }
        withExtendedLifetime(old) {}
    }
}

/// What views show of a session at one revision.
final class SeenState: Sendable {
    let revision: Revision
    /// Revisions of which the views show the same, this one last. Sequences would not do: they start again when a
    /// session is deleted and created.
    private let same: [Revision]
    /// What each view shows of the previous view's result; at least one.
    private let steps: [ViewedState]
    /// The result as a separate state, while other readers will probably want it.
    private let whole = Locked<Snapshot?>(nil)
    private let share: MemoryShare
    /// Whether a view after the first was applied to an older state, whose text it keeps.
    private let isPinned: Bool

    /// - Parameter same: other revisions of which the views show the same.
    private init(
        _ revision: Revision, same: [Revision] = [], _ steps: [ViewedState], in budget: MemoryBudget,
        isPinned: Bool = false
    ) {
        (self.revision, self.steps, self.isPinned) = (revision, steps, isPinned)
        self.same = same.suffix(Self.maxSame - 1) + [revision]
        share = MemoryShare(of: budget)
    }

    /// Applies views to a whole state. O(n), or O(n log n) if a view has orders.
    convenience init(_ views: [StateView], of snapshot: Snapshot, at revision: Revision, in budget: MemoryBudget) {
        var steps: [ViewedState] = []
        for view in views.isEmpty ? [.all] : views {
            steps.append(ViewedState(view, of: steps.last?.snapshot ?? snapshot))
        }
        self.init(revision, steps, in: budget)
    }

    /// What the reader sees.
    var seen: ViewedState { steps[steps.count - 1] }

    var views: [StateView] { steps.map(\.view) }

    /// The state that the first view sees.
    var source: Snapshot { steps[0].source }

    /// Reserves memory until this is freed.
    ///
    /// - Returns: false if none is left.
    func reserveMemory() -> Bool {
        // Each view after the first is applied to a separate state.
        let between = zip(steps, steps.dropFirst()).reduce(0) { sum, pair in
            let source = pair.1.source
            return sum + (isPinned || pair.0.view.cutsContents ? source.footprint : source.footprintBesidesText)
        }
        let known = same.capacity * MemoryLayout<Revision>.stride
        return share.resize(to: 512 + known + between + steps.reduce(0) { $0 + $1.footprint })
    }

    /// Whether the views showed the same of another revision.
    func isSame(since revision: Revision) -> Bool { same.contains(revision) }

    /// For readers with older bases the views are applied again.
    private static let maxSame = 32

    /// What the reader sees, as a separate state. O(rows seen), or O(1) if it was requested just now.
    ///
    /// - Parameter caches: decides whether it is kept for the next reader.
    func shown(keptIn caches: AnswerCaches) -> Snapshot {
        if let known = whole.withLock({ $0 }) { return known }
        let made = seen.snapshot
        let isCut = steps.contains { $0.view.cutsContents }
        if made.isIdentical(to: source) || caches.keeps(isCut ? made.footprint : made.footprintBesidesText) {
            whole.withLock { $0 = made }
        }
        return made
    }

    /// Releases what can be made again.
    func release() { _ = whole.withLock { exchange(&$0, with: nil) } }

    /// What is seen of a later revision of the same state.
    func relabeled(_ revision: Revision, marks: Marks, in budget: MemoryBudget) -> SeenState {
        SeenState(revision, same: isMarked(marks) ? [] : same, steps, in: budget, isPinned: isPinned)
    }

    /// What is seen of a later revision, see `ViewedState.advanced(over:)`.
    ///
    /// - Parameters:
    ///   - step: leads there from `source`.
    ///   - marks: those of the revisions in between.
    func advanced(
        to revision: Revision, over step: StateStep, marks: Marks, in budget: MemoryBudget
    ) -> SeenState {
        var next: [ViewedState] = []
        var step = step
        for (index, old) in steps.enumerated() {
            let (seen, isSame) = old.advanced(over: step)
            next.append(seen)
            if isSame {
                // The later views see the same state as before.
                next += steps[(index + 1)...]
                let isPinned = index + 1 < steps.count
                let state = SeenState(revision, same: same, next, in: budget, isPinned: isPinned)
                return state.isMarked(marks) ? SeenState(revision, next, in: budget, isPinned: isPinned) : state
            }
            guard index + 1 < steps.count else { break }
            step = StateStep(Changeset(from: steps[index + 1].source, to: seen.snapshot))
        }
        return SeenState(revision, next, in: budget)
    }

    /// Whether a visible row must be redrawn.
    private func isMarked(_ marks: Marks) -> Bool {
        marks.isReload || !marks.isEmpty && !seen.shown(of: marks).isEmpty
    }
}
