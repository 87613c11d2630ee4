import HTTPCore
import SnapshotKit

/// What views show of a session at one revision.
final class SeenState: Sendable {
    let revision: Revision
    /// Revisions of which the same is shown, this one last. Not sequences: a session that is made again has them again.
    private let same: [Revision]
    /// What each view sees, of what the one before it shows; at least one.
    private let steps: [ViewedState]
    /// What is shown as a state of its own, for as long as others are likely to want it.
    private let whole = Locked<Snapshot?>(nil)
    private let share: MemoryShare
    /// Whether what a view behind the first sees was made of an older state, whose text it holds.
    private let isPinned: Bool

    /// - Parameter same: of which the same is shown besides.
    private init(
        _ revision: Revision, same: [Revision] = [], _ steps: [ViewedState], in budget: MemoryBudget,
        isPinned: Bool = false
    ) {
        (self.revision, self.steps, self.isPinned) = (revision, steps, isPinned)
        self.same = same.suffix(Self.maxSame - 1) + [revision]
        share = MemoryShare(of: budget)
    }

    /// Looks at a whole state. O(n), O(n log n) where a view has orders.
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

    /// Takes memory for as long as this is there.
    ///
    /// - Returns: false if there is none left.
    func takesMemory() -> Bool {
        // What each view behind the first sees is a state of its own.
        let between = zip(steps, steps.dropFirst()).reduce(0) { sum, pair in
            let source = pair.1.source
            return sum + (isPinned || pair.0.view.cutsContents ? source.footprint : source.footprintBesidesText)
        }
        let known = same.capacity * MemoryLayout<Revision>.stride
        return share.resize(to: 512 + known + between + steps.reduce(0) { $0 + $1.footprint })
    }

    /// Whether the same was shown at another revision.
    func isSame(since revision: Revision) -> Bool { same.contains(revision) }

    /// Revisions that are remembered to show the same. A reader whose base is older than these has it made again.
    private static let maxSame = 32

    /// What the reader sees as a state of its own. O(rows seen), or O(1) if it was asked for just now.
    ///
    /// - Parameter caches: say whether it may be kept for the next who asks.
    func shown(keptIn caches: AnswerCaches) -> Snapshot {
        if let known = whole.withLock({ $0 }) { return known }
        let made = seen.snapshot
        let isCut = steps.contains { $0.view.cutsContents }
        if made.isIdentical(to: source) || caches.keeps(isCut ? made.footprint : made.footprintBesidesText) {
            whole.withLock { $0 = made }
        }
        return made
    }

    /// Lets go of what can be made again.
    func release() {
        let old = whole.withLock { exchange(&$0, with: nil) }
        _ = consume old
    }

    /// What is seen of a later revision, of the same state.
    func relabeled(_ revision: Revision, marks: Marks, in budget: MemoryBudget) -> SeenState {
        SeenState(revision, same: isMarked(marks) ? [] : same, steps, in: budget, isPinned: isPinned)
    }

    /// What is seen of a later revision, see `ViewedState.advanced(over:)`.
    ///
    /// - Parameters:
    ///   - step: leads there from `source`.
    ///   - marks: of the revisions between.
    func advanced(
        to revision: Revision, over step: StateStep, marks: Marks, in budget: MemoryBudget
    ) -> SeenState {
        var next: [ViewedState] = []
        var step = step
        for (index, old) in steps.enumerated() {
            let (seen, isSame) = old.advanced(over: step)
            next.append(seen)
            if isSame {
                // What those behind it see is the same state.
                next += steps[(index + 1)...]
                let isPinned = index + 1 < steps.count
                let state = SeenState(revision, same: same, next, in: budget, isPinned: isPinned)
                return state.isMarked(marks)
                    ? SeenState(revision, next, in: budget, isPinned: isPinned) : state
            }
            guard index + 1 < steps.count else { break }
            step = StateStep(Changeset(from: steps[index + 1].source, to: seen.snapshot))
        }
        return SeenState(revision, next, in: budget)
    }

    /// Whether something that is seen has to be drawn again.
    private func isMarked(_ marks: Marks) -> Bool {
        marks.isReload || !marks.isEmpty && !seen.shown(of: marks).isEmpty
    }
}
