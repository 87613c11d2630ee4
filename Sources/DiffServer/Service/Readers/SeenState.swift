import DiffSessions
import HTTPCore
import SnapshotKit
import SnapshotViews

/// What views show of a session at one revision.
final class SeenState: Sendable {
    let revision: Revision
    /// Revisions of which the views show the same, this one last. Sequences would not do: they begin again when a
    /// session is deleted and created.
    private let same: [Revision]
    /// What each view shows of what the one before it shows; at least one.
    private let steps: [ViewedState]
    /// The result as a state of its own, while other readers are likely to want it.
    private let whole = Locked<Snapshot?>(nil)
    private let share: MemoryShare
    /// Whether a view after the first was applied to an older state, and keeps the text of that.
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

    /// The state that the first view sees.
    var source: Snapshot { steps[0].source }

    /// Reserves memory until this is freed.
    ///
    /// - Returns: false if none is left.
    func reserveMemory() -> Bool {
        // Each view after the first is applied to a state of its own.
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

    /// What the reader sees, as a state of its own. O(rows seen), or O(1) if it was asked for just now.
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

    /// Whether a visible row has to be drawn again.
    private func isMarked(_ marks: Marks) -> Bool {
        marks.isReload || !marks.isEmpty && !seen.shown(of: marks).isEmpty
    }
}
