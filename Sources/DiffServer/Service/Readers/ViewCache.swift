// What readers' views show of a session's head is kept while there are such readers. Each commit advances it, at the
// cost of the commit's changes. The views of the previous revision are kept for a moment, for all readers whose next
// answer starts there. Views that do not fit into memory are recomputed when needed (`ViewMemory`). They refer to the
// text of the state that they show, so one that is no longer the head is charged, once for all its views.
//
// Views are stacked, such as a request's on a token's. The lower ones form a view of their own, whose result is a state
// that all views on top share.

import DiffSessions
import HTTPCore
import SnapshotKit
import SnapshotViews
import Synchronization

/// The views of one session.
final class ViewCache: Sendable {
    private let content = Locked(Content())
    private let memory: ViewMemory

    private struct Content {
        /// The newest known revision, and its state if views show it.
        var head: Revision?
        weak var state: SharedState?
        /// Kept until the next release; after that, only their readers keep them.
        var views: [[StateView]: ExpiringReference<MaterializedView>] = [:]
        /// The changes of the last commit, until the next release.
        var arrived: Changeset?
        /// The steps to the head: of the session, and of the states that views are stacked on.
        var steps: [StateStep] = []

        var all: [MaterializedView] { views.values.compactMap(\.object) }

        mutating func view(_ views: [StateView], in memory: ViewMemory) -> MaterializedView {
            let known = self.views[views]?.object
            let base = known == nil && views.count > 1 ? view(Array(views.dropLast()), in: memory) : nil
            let view = known ?? MaterializedView(over: base, in: memory)
            self.views[views] = ExpiringReference(view)
            return view
        }
    }

    init(in memory: ViewMemory) { self.memory = memory }

    var isEmpty: Bool { content.withLock { $0.views.isEmpty } }

    /// Kept up to date while the result is held. A client follows it, unless it is for a single look.
    func view(_ views: [StateView], for client: String? = nil) -> MaterializedView {
        let view = content.withLock { $0.view(views, in: memory) }
        if let client { view.isFollowed(by: client) }
        return view
    }

    /// Whether a view is kept, so that looking at it costs little.
    func keeps(_ views: [StateView]) -> Bool { content.withLock { $0.views[views]?.object }?.now != nil }

    /// - Parameter change: leads from the previous head, if known.
    func move(to head: Revision, over change: Changeset? = nil) {
        let (left, old) = content.withLock { content -> (SharedState?, (Changeset?, [StateStep])) in
            guard content.head != head else { return (nil, (nil, [])) }
            let left = content.state
            let change = left == nil ? nil : change
            let old = (content.arrived, content.steps)
            (content.head, content.state, content.arrived, content.steps) = (head, nil, change, [])
            return (left, old)
        }
        withExtendedLifetime(old) {}
        // Lets go of some views to make room for the state that the other views still show.
        guard let left, !memory.reserve(left.footprint, for: "a state", left.reserveMemory) else { return }
        let (views, change) = content.withLock { ($0.all, $0.head == head ? exchange(&$0.arrived, with: nil) : nil) }
        withExtendedLifetime(change) {}
        for view in views { view.forget(left) }
    }

    /// The changes of the commit that made a head, for views that advance soon.
    func change(to head: Revision) -> Changeset? { content.withLock { $0.head == head ? $0.arrived : nil } }

    /// Beyond it, some are computed more than once.
    private static let maxSteps = 16

    /// The step from a state that views show to the head's state, computed once for all views; from the change if that
    /// leads there.
    func step(from old: Snapshot, to new: Snapshot, at head: Revision, over change: Changeset?) -> StateStep {
        let known = content.withLock { content in
            content.steps.first { $0.old.isIdentical(to: old) && $0.new.isIdentical(to: new) }
        }
        if let known { return known }
        let found = change.flatMap { $0.leads(from: old, to: new) ? $0 : nil }
        let step = StateStep(found ?? Changeset(from: old, to: new))
        content.withLock { content in
            if content.head == head, content.steps.count < Self.maxSteps { content.steps.append(step) }
        }
        return step
    }

    /// Lets the view go if there is no memory.
    func advance(_ view: MaterializedView, to next: ViewVersion) {
        if content.withLock({ $0.head.map { $0.sequence < next.revision.sequence } ?? true }) {
            move(to: next.revision)
        }
        let state = content.withLock { content -> SharedState? in
            guard content.head == next.revision else { return nil }
            let state = content.state ?? SharedState(next.source, in: memory.budget)
            content.state = state
            return state
        }
        guard let state else { return }
        if memory.reserve(next.footprint, for: view.client, next.reserveMemory) {
            view.move(to: next, of: state)
        } else if view.now != nil, next.base?.reserveMemory() != false {
            // The next state takes over the memory of the one it replaces, which is freed once the advancing reader is
            // done. Its base is charged separately: other views may have another one, if theirs was let go.
            next.holdMemory()
            view.move(to: next, of: state, keepsBefore: false)
        } else {
            view.letGo()
        }
    }

    /// Releases views without readers, and states that no reader has continued from since the last release. Returns
    /// whether anything is left for the next one.
    func release() -> Bool {
        content.change { content in
            (content.arrived, content.steps) = (nil, [])
            content.views = content.views.compactMapValues { $0.object.map { ExpiringReference($0, isKept: false) } }
        }
        let (views, head) = content.withLock { ($0.all, $0.head) }
        return views.reduce(false) { $1.release(at: head) || $0 }
    }

    /// The session leaves memory.
    func forget() {
        let old = content.withLock { exchange(&$0, with: Content()) }
        for view in old.all { view.forget() }
    }
}

/// One view of a session: what it shows now, and what it showed just before.
final class MaterializedView: Sendable {
    private let content = Locked(Content())
    /// Of all views but the last one, if there are several.
    private let base: MaterializedView?
    private let memory: ViewMemory

    private struct Content {
        var now: Kept?
        var before: Kept?
        /// The state of `now` at the last release, if it was behind the head then.
        var stale: ViewVersion?
        /// The last client that followed the view; empty if none did.
        var client = ""
        /// Dropped for lack of memory.
        var isLetGo = false

        var footprint: Int { (now?.state.wholeFootprint ?? 0) + (before?.state.footprint ?? 0) }

        mutating func drop() { (now, before, stale) = (nil, nil, nil) }
    }

    private struct Kept {
        let state: ViewVersion
        /// The session's state that it shows.
        let source: SharedState
    }

    fileprivate init(over base: MaterializedView?, in memory: ViewMemory) { (self.base, self.memory) = (base, memory) }

    deinit { memory.remove(ObjectIdentifier(self)) }

    /// What the view shows of the newest revision that a reader asked for; nil if it is not kept.
    var now: ViewVersion? { content.withLock { $0.now?.state } }

    var isLetGo: Bool { content.withLock { $0.isLetGo } }

    var client: String { content.withLock { $0.client } }

    /// What the view showed of a revision, if that is still known.
    func state(at revision: Revision) -> ViewVersion? {
        content.withLock { content in
            [content.now, content.before].lazy.compactMap { $0?.state }.first { $0.isSame(since: revision) }
        }
    }

    fileprivate func isFollowed(by client: String) {
        base?.isFollowed(by: client)
        if self.client != client { change { $0.client = client } }
    }

    fileprivate func move(to next: ViewVersion, of source: SharedState, keepsBefore: Bool = true) {
        change { content in
            if let now = content.now, now.state.revision.sequence >= next.revision.sequence, now.source === source {
                return
            }
            content.before = keepsBefore ? content.now : nil
            (content.now, content.stale, content.isLetGo) = (Kept(state: next, source: source), nil, false)
        }
        // The base's memory may have grown: it may share a state by now.
        base?.change { _ in }
    }

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

    fileprivate func forget(_ source: SharedState) {
        if content.withLock({ $0.now?.source === source }) { letGo() }
        change { if $0.before?.source === source { $0.before = nil } }
    }

    fileprivate func forget() { change { $0.drop() } }

    private func change(_ work: (inout Content) -> Void) {
        content.change { content in
            work(&content)
            memory.note(self, content.footprint, for: content.client)
        }
    }
}

/// A state that views show and retain: the session's, which is charged once it is no longer the head, or what other
/// views show, which they are stacked on.
final class SharedState: Sendable {
    let snapshot: Snapshot
    private let share: MemoryShare
    private let isCounted = Atomic<Bool>(false)

    fileprivate init(_ snapshot: Snapshot, in budget: MemoryBudget) {
        (self.snapshot, share) = (snapshot, MemoryShare(of: budget))
    }

    /// An upper bound, with its text: a state made by edits shares most of that with the previous one.
    var footprint: Int { snapshot.footprint }

    /// Charges it, once. False if there is no memory left.
    fileprivate func reserveMemory() -> Bool {
        if isCounted.exchange(true, ordering: .relaxed) || share.resize(to: footprint) { return true }
        isCounted.store(false, ordering: .relaxed)
        return false
    }

    fileprivate func holdMemory() { if !isCounted.exchange(true, ordering: .relaxed) { share.hold(footprint) } }
}

/// What views show of a session at one revision.
final class ViewVersion: Sendable {
    let revision: Revision
    /// Revisions at which the views show the same, this one last. Sequences would not do: they restart when a session
    /// is deleted and created again.
    private let same: [Revision]
    let views: [StateView]
    /// The session's state.
    let source: Snapshot
    /// What all views but the last one show; nil if there is only one view.
    let base: SharedState?
    /// What the last view shows, and the reader sees.
    let seen: ViewedState
    private let separate: Locked<Separate>
    private let budget: MemoryBudget
    private let share: MemoryShare

    /// What the reader sees, as a separate state.
    private struct Separate {
        /// Kept while other readers will probably want it.
        var kept: Snapshot?
        /// While other views are stacked on it.
        weak var shared: SharedState?

        var known: Snapshot? { shared?.snapshot ?? kept }
    }

    /// - Parameter same: other revisions at which the views show the same.
    private init(
        _ revision: Revision, same: [Revision] = [], _ views: [StateView], of source: Snapshot, over base: SharedState?,
        _ seen: ViewedState, as shared: SharedState? = nil, in budget: MemoryBudget
    ) {
        (self.revision, self.views, self.source, self.base, self.seen) = (revision, views, source, base, seen)
        let others = same.suffix(Self.maxSame - 1)
        var revisions: [Revision] = []
        revisions.reserveCapacity(others.count + 1)
        revisions += others
        revisions.append(revision)
        self.same = revisions
        (self.budget, share) = (budget, MemoryShare(of: budget))
        separate = Locked(Separate(shared: shared))
    }

    /// Applies views to a whole state. O(n), or O(n log n) if the last view sorts.
    convenience init(
        _ views: [StateView], of source: Snapshot, over base: SharedState?, at revision: Revision,
        in budget: MemoryBudget
    ) {
        let seen = ViewedState(views.last ?? .all, of: base?.snapshot ?? source)
        self.init(revision, views, of: source, over: base, seen, in: budget)
    }

    /// Without what is shared. The same for views that show equally much: a capacity would also depend on the
    /// allocator's state, and so would what fits.
    var footprint: Int { 512 + same.count * MemoryLayout<Revision>.stride + seen.footprint }

    /// With what views stacked on it share.
    fileprivate var wholeFootprint: Int { footprint + (shared?.footprint ?? 0) }

    private var shared: SharedState? { separate.withLock { $0.shared } }

    /// Reserves memory until this is freed. False if none is left.
    fileprivate func reserveMemory() -> Bool { base?.reserveMemory() != false && share.resize(to: footprint) }

    /// Charges the memory regardless of what is left.
    fileprivate func holdMemory() {
        base?.holdMemory()
        share.hold(footprint)
    }

    func isSame(since revision: Revision) -> Bool { same.contains(revision) }

    /// Readers with older bases have their views applied again.
    private static let maxSame = 32

    /// What the reader sees, as a separate state. O(rows seen), or O(1) if it was requested just now.
    func shown(keptIn caches: AnswerCaches) -> Snapshot {
        if let known = separate.withLock({ $0.known }) { return known }
        let made = seen.snapshot
        let isCut = views.contains(where: \.cutsContents)
        if made.isIdentical(to: source) || caches.keeps(isCut ? made.footprint : made.footprintBesidesText) {
            separate.withLock { $0.kept = made }
        }
        return made
    }

    /// What the reader sees, as a state for other views to be stacked on.
    func asShared() -> SharedState {
        if let shared { return shared }
        let made = SharedState(separate.withLock { $0.kept } ?? seen.snapshot, in: budget)
        return separate.withLock { separate in
            let state = separate.shared ?? made
            separate.shared = state
            return state
        }
    }

    /// Releases what can be recomputed.
    func release() { _ = separate.withLock { exchange(&$0.kept, with: nil) } }

    /// The views of a later revision, see `ViewedState.advanced(over:)`.
    ///
    /// - Parameters:
    ///   - step: leads from the state that the last view sees now to the one that it sees then; nil if there is none.
    ///   - marks: those of the revisions in between.
    func advanced(
        to revision: Revision, of source: Snapshot, over base: SharedState?, _ step: StateStep?, marks: Marks
    ) -> ViewVersion {
        let (seen, isSame) = step.map { self.seen.advanced(over: $0) } ?? (self.seen, true)
        let isPlain = isSame && !marks.isReload && (marks.isEmpty || seen.shown(of: marks).isEmpty)
        return ViewVersion(
            revision, same: isPlain ? same : [], views, of: source, over: base, seen, as: isSame ? shared : nil,
            in: budget)
    }
}
