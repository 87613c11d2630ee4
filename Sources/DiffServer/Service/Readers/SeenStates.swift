// What readers' views show of a session's head is kept while there are such readers, and advanced by each commit at the
// cost of its changes. What the views showed of the previous revision is kept for a moment, for all readers whose next
// answer starts there. Where there is no memory for that, they are made anew (`ViewMemory`).
//
// It refers to the text of the states that it shows. So a view of a state that is no longer the head counts as much as
// that state, once for all views; readers that do not continue from there lose it.
//
// Of several views, such as a token's and the request's on top, the earlier ones are a view of their own, whose result
// is a state that all views on top of it share.

import DiffSessions
import HTTPCore
import SnapshotKit
import SnapshotViews
import Synchronization

/// What views show of one session.
final class SeenStates: Sendable {
    private let content = Locked(Content())
    private let memory: ViewMemory

    private struct Content {
        /// The newest known revision, and its state's generation.
        var head: Revision?
        weak var generation: Generation?
        /// After the next release, only readers keep them.
        var views: [[StateView]: Releasable<SeenView>] = [:]
        /// Keeps the changes of the last commit until the first view has advanced: `Head.change` is weak.
        var arrived: Changeset?
        /// Those to the head: the session's, and those of what several views are on top of.
        var steps: [StateStep] = []

        var all: [SeenView] { views.values.compactMap(\.object) }

        mutating func view(_ views: [StateView], in memory: ViewMemory) -> SeenView {
            let known = self.views[views]?.object
            let base = known == nil && views.count > 1 ? view(Array(views.dropLast()), in: memory) : nil
            let view = known ?? SeenView(over: base, in: memory)
            self.views[views] = Releasable(view)
            return view
        }
    }

    /// A state that views show. It is charged from when it is no longer the head until no view shows it.
    fileprivate final class Generation: Sendable {
        let bytes: Int
        private let share: MemoryShare

        init(_ source: Snapshot, in budget: MemoryBudget) {
            // An upper bound: a state made by edits shares most of its text with the previous one.
            (bytes, share) = (source.footprint, MemoryShare(of: budget))
        }

        /// - Returns: false if there is no memory for it.
        func count() -> Bool { share.resize(to: bytes) }
    }

    init(in memory: ViewMemory) { self.memory = memory }

    /// Whether there are no readers with views.
    var isEmpty: Bool { content.withLock { $0.views.isEmpty } }

    /// What some views show, kept up to date while the result is held.
    ///
    /// - Parameter client: who follows it; nil for a single look.
    func view(_ views: [StateView], for client: String? = nil) -> SeenView {
        let view = content.withLock { $0.view(views, in: memory) }
        if let client { view.isFollowed(by: client) }
        return view
    }

    /// Whether what some views show is kept, so that looking at it costs little.
    func keeps(_ views: [StateView]) -> Bool { content.withLock { $0.views[views]?.object }?.now != nil }

    /// Moves on to a new head.
    ///
    /// - Parameter change: from the previous head, if known.
    func move(to head: Revision, over change: Changeset? = nil) {
        let (left, old) = content.withLock { content -> (Generation?, (Changeset?, [StateStep])) in
            guard content.head != head else { return (nil, (nil, [])) }
            let left = content.generation
            let change = left == nil ? nil : change
            let old = (content.arrived, content.steps)
            (content.head, content.generation, content.arrived, content.steps) = (head, nil, change, [])
            return (left, old)
        }
        withExtendedLifetime(old) {}
        // Some views make room for the state that the others are about to leave.
        guard let left, !memory.reserve(left.bytes, for: "a state", left.count) else { return }
        let (views, change) = content.withLock { ($0.all, $0.head == head ? exchange(&$0.arrived, with: nil) : nil) }
        withExtendedLifetime(change) {}
        for view in views { view.forget(left) }
    }

    /// If more than this many steps lead to one head, some are computed more than once.
    private static let maxSteps = 16

    /// The step from a state that views look at to the one of the head, computed once for all views.
    ///
    /// - Parameter change: used if it leads from one to the other.
    func step(from old: Snapshot, to new: Snapshot, at head: Revision, over change: Changeset?) -> StateStep {
        let known = content.withLock { content in
            content.steps.first { $0.old.isIdentical(to: old) && $0.new.isIdentical(to: new) }
        }
        if let known { return known }
        let change =
            change.flatMap { $0.leads(from: old, to: new) ? $0 : nil } ?? Changeset(from: old, to: new)
        let step = StateStep(change)
        content.withLock { content in
            if content.head == head, content.steps.count < Self.maxSteps { content.steps.append(step) }
        }
        return step
    }

    /// Replaces what a view shows by what it shows of the head, or lets it go if there is no memory for that.
    func advance(_ view: SeenView, to next: SeenState) {
        if content.withLock({ $0.head.map { $0.sequence < next.revision.sequence } ?? true }) {
            move(to: next.revision)
        }
        let generation = content.withLock { content -> Generation? in
            guard content.head == next.revision else { return nil }
            let generation = content.generation ?? Generation(next.source, in: memory.budget)
            content.generation = generation
            return generation
        }
        guard let generation else { return }
        if memory.reserve(next.footprint, for: view.client, next.reserveMemory) {
            view.move(to: next, generation)
        } else if view.now != nil, next.base?.reserveMemory() != false {
            // It takes the memory of what it replaces, which is released once the reader that advances it is done. What
            // it is on top of may be another state than other views have, if theirs was let go.
            next.holdMemory()
            view.move(to: next, generation, keepsBefore: false)
        } else {
            view.letGo()
        }
    }

    /// Releases views without readers, and states from which no reader has continued since the last release.
    ///
    /// - Returns: whether anything is left for the next release.
    func release() -> Bool {
        let (views, old) = content.withLock { content -> ([SeenView], (Changeset?, [StateStep])) in
            let (views, old) = (content.all, (content.arrived, content.steps))
            (content.arrived, content.steps) = (nil, [])
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
    /// All views but the last one, if there are several.
    private let base: SeenView?
    private let memory: ViewMemory

    private struct Content {
        var now: Kept?
        var before: Kept?
        /// What `now` was at the last release, if that was behind the head.
        var stale: SeenState?
        /// The last one that followed it; empty if nobody did.
        var client = ""
        var isLetGo = false

        var footprint: Int { (now?.state.wholeFootprint ?? 0) + (before?.state.footprint ?? 0) }

        mutating func drop() { (now, before, stale) = (nil, nil, nil) }
    }

    fileprivate struct Kept {
        let state: SeenState
        let generation: SeenStates.Generation
    }

    fileprivate init(over base: SeenView?, in memory: ViewMemory) { (self.base, self.memory) = (base, memory) }

    deinit { memory.remove(ObjectIdentifier(self)) }

    /// Of the newest revision that a reader has asked for; nil if it is not kept.
    var now: SeenState? { content.withLock { $0.now?.state } }

    /// Whether it was let go because there was no memory for it.
    var isLetGo: Bool { content.withLock { $0.isLetGo } }

    var client: String { content.withLock { $0.client } }

    /// What was shown of a revision, if that is still known.
    func state(at revision: Revision) -> SeenState? {
        content.withLock { content in
            [content.now, content.before].lazy.compactMap { $0?.state }.first { $0.isSame(since: revision) }
        }
    }

    fileprivate func isFollowed(by client: String) {
        base?.isFollowed(by: client)
        if self.client != client { change { $0.client = client } }
    }

    fileprivate func move(
        to next: SeenState, _ generation: SeenStates.Generation, keepsBefore: Bool = true
    ) {
        change { content in
            if let now = content.now, now.state.revision.sequence >= next.revision.sequence,
                now.generation === generation
            {
                return
            }
            content.before = keepsBefore ? content.now : nil
            (content.now, content.stale, content.isLetGo) = (Kept(state: next, generation: generation), nil, false)
        }
        // The one that it is on top of may have come to share a state.
        base?.change { _ in }
    }

    /// Drops what it shows, for lack of memory.
    func letGo() {
        change { content in
            if !content.isLetGo { memory.countLetGo() }
            content.drop()
            content.isLetGo = true
        }
    }

    /// - Returns: whether `now` is behind the head.
    fileprivate func release(at head: Revision?) -> Bool {
        change { content in
            content.before = nil
            let stale = content.now.flatMap { $0.state.revision == head ? nil : $0.state }
            if let stale, stale === content.stale { content.drop() } else { content.stale = stale }
        }
        now?.release()
        return content.withLock { $0.stale != nil }
    }

    fileprivate func forget(_ generation: SeenStates.Generation) {
        if content.withLock({ $0.now?.generation === generation }) { letGo() }
        change { if $0.before?.generation === generation { $0.before = nil } }
    }

    fileprivate func forget() { change { $0.drop() } }

    /// Frees what is dropped outside the lock.
    private func change(_ work: (inout Content) -> Void) {
        let old = content.withLock { content in
            let old = content
            work(&content)
            memory.note(self, content.footprint, for: content.client)
            return old
        }
        withExtendedLifetime(old) {}
    }
}

/// What views show, as a state that other views are on top of. They hold it.
final class SharedState: Sendable {
    let snapshot: Snapshot
    private let share: MemoryShare
    private let isCounted = Atomic<Bool>(false)

    fileprivate init(_ snapshot: Snapshot, in budget: MemoryBudget) {
        (self.snapshot, share) = (snapshot, MemoryShare(of: budget))
    }

    /// With its text, which is that of the session only until the next commit.
    var footprint: Int { snapshot.footprint }

    /// - Returns: false if no memory is left.
    fileprivate func reserveMemory() -> Bool {
        if isCounted.exchange(true, ordering: .relaxed) || share.resize(to: footprint) { return true }
        isCounted.store(false, ordering: .relaxed)
        return false
    }

    fileprivate func holdMemory() { if !isCounted.exchange(true, ordering: .relaxed) { share.hold(footprint) } }
}

/// What views show of a session at one revision.
final class SeenState: Sendable {
    let revision: Revision
    /// Revisions of which the views show the same, this one last. Sequences would not do: they start again when a
    /// session is deleted and created.
    private let same: [Revision]
    let views: [StateView]
    /// The session's state.
    let source: Snapshot
    /// What all views but the last one show; nil if there is only one.
    let base: SharedState?
    /// What the last view shows: what the reader sees.
    let seen: ViewedState
    /// The result as a separate state, while other readers will probably want it.
    private let whole = Locked<Snapshot?>(nil)
    /// The same, while views are on top of it.
    private let shared = Locked(Shared())
    private let share: MemoryShare

    private struct Shared {
        weak var state: SharedState?
    }

    /// - Parameters:
    ///   - same: other revisions of which the views show the same.
    ///   - shared: what the views show, if views are on top of it.
    private init(
        _ revision: Revision, same: [Revision] = [], _ views: [StateView], of source: Snapshot, over base: SharedState?,
        _ seen: ViewedState, as shared: SharedState? = nil, in budget: MemoryBudget
    ) {
        (self.revision, self.views, self.source, self.base, self.seen) = (revision, views, source, base, seen)
        self.same = same.suffix(Self.maxSame - 1) + [revision]
        share = MemoryShare(of: budget)
        if let shared { self.shared.withLock { $0.state = shared } }
    }

    /// Applies views to a whole state. O(n), or O(n log n) if the last one has orders.
    ///
    /// - Parameter base: what all but the last one show, if there are several.
    convenience init(
        _ views: [StateView], of source: Snapshot, over base: SharedState?, at revision: Revision,
        in budget: MemoryBudget
    ) {
        let seen = ViewedState(views.last ?? .all, of: base?.snapshot ?? source)
        self.init(revision, views, of: source, over: base, seen, in: budget)
    }

    /// Its memory in bytes, without that of what is shared.
    var footprint: Int { 512 + same.capacity * MemoryLayout<Revision>.stride + seen.footprint }

    /// With what views on top share.
    fileprivate var wholeFootprint: Int { footprint + (shared.withLock { $0.state }?.footprint ?? 0) }

    /// Reserves memory until this is freed.
    ///
    /// - Returns: false if none is left.
    func reserveMemory() -> Bool { base?.reserveMemory() != false && share.resize(to: footprint) }

    /// The same, whatever is left.
    func holdMemory() {
        base?.holdMemory()
        share.hold(footprint)
    }

    /// Whether the views showed the same of another revision.
    func isSame(since revision: Revision) -> Bool { same.contains(revision) }

    /// For readers with older bases the views are applied again.
    private static let maxSame = 32

    /// What the reader sees, as a separate state. O(rows seen), or O(1) if it was requested just now.
    ///
    /// - Parameter caches: decides whether it is kept for the next reader.
    func shown(keptIn caches: AnswerCaches) -> Snapshot {
        if let known = shared.withLock({ $0.state })?.snapshot ?? whole.withLock({ $0 }) { return known }
        let made = seen.snapshot
        let isCut = views.contains(where: \.cutsContents)
        if made.isIdentical(to: source) || caches.keeps(isCut ? made.footprint : made.footprintBesidesText) {
            whole.withLock { $0 = made }
        }
        return made
    }

    /// What the reader sees, as a state for views on top.
    func shared(in budget: MemoryBudget) -> SharedState {
        if let known = shared.withLock({ $0.state }) { return known }
        let made = SharedState(whole.withLock { $0 } ?? seen.snapshot, in: budget)
        return shared.withLock { shared in
            let state = shared.state ?? made
            shared.state = state
            return state
        }
    }

    /// Releases what can be made again.
    func release() { _ = whole.withLock { exchange(&$0, with: nil) } }

    /// What is seen of a later revision in which the last view sees the same state.
    ///
    /// - Parameter source: the session's state.
    func relabeled(_ revision: Revision, of source: Snapshot, marks: Marks, in budget: MemoryBudget) -> SeenState {
        SeenState(
            revision, same: isMarked(marks) ? [] : same, views, of: source, over: base, seen,
            as: shared.withLock { $0.state }, in: budget)
    }

    /// What is seen of a later revision, see `ViewedState.advanced(over:)`.
    ///
    /// - Parameters:
    ///   - source: the session's state.
    ///   - base: what all views but the last one then show.
    ///   - step: leads from the state that the last view sees to the one that it then sees.
    ///   - marks: those of the revisions in between.
    func advanced(
        to revision: Revision, of source: Snapshot, over base: SharedState? = nil, _ step: StateStep, marks: Marks,
        in budget: MemoryBudget
    ) -> SeenState {
        let (seen, isSame) = seen.advanced(over: step)
        let shared = isSame ? shared.withLock { $0.state } : nil
        let next = SeenState(
            revision, same: isSame ? same : [], views, of: source, over: base, seen, as: shared, in: budget)
        guard isSame, next.isMarked(marks) else { return next }
        return SeenState(revision, views, of: source, over: base, seen, as: shared, in: budget)
    }

    /// Whether a visible row must be redrawn.
    private func isMarked(_ marks: Marks) -> Bool {
        marks.isReload || !marks.isEmpty && !seen.shown(of: marks).isEmpty
    }
}
