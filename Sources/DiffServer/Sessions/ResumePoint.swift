import HTTPCore
import SnapshotKit

/// What a reader has, as far as a session can still tell: where changes for it can start.
enum ResumePoint: Sendable {
    /// The head itself, by digest; marks may have come since.
    case head(marks: Marks)
    /// A past state, by its place in the history.
    case past(Int, marks: Marks)
    /// Nothing that a changeset could start from.
    case none(ResetReason)
}

/// Why an answer carries the whole state.
enum ResetReason: String, Sendable, CaseIterable {
    /// The reader has nothing yet.
    case initial
    /// The reader's revision is no longer remembered.
    case expired
    /// The reader's revision is of another history.
    case unknown
    /// The session was started over since.
    case replaced
    /// A writer wanted no change shown, but all drawn again at once.
    case reloaded
    /// More operations than the reader wants.
    case large
}

/// What a reader said that it has.
enum Since: Sendable, Equatable {
    case absent
    /// Named, but empty: nothing.
    case nothing
    /// Named, but of no revision's form: an event's id that was damaged on the way.
    case unreadable
    case revision(Revision)

    /// The same of a writer, for whom nothing stands for where the head was before the write; nil if there was none.
    func orElse(_ before: Revision?) -> Since { self == .absent ? before.map(Since.revision) ?? .nothing : self }
}

extension Session {
    /// Finds what a reader's revision stands for. O(history).
    func resumePoint(_ revision: Revision, at now: Instant, bounds: History.Bounds) -> ResumePoint {
        let isHead = revision.digest == head.revision.digest
        let place = isHead ? nil : history.place(of: revision, at: now, bounds: bounds)
        if isHead || place != nil {
            let marks = marks(after: revision.sequence)
            if marks.isReload { return .none(.reloaded) }
            return place.map { .past($0, marks: marks) } ?? .head(marks: marks)
        }
        if revision.sequence == 0 { return .none(.unknown) }
        if revision.sequence < startedOverAt { return .none(.replaced) }
        let oldest = history.oldest(at: now, bounds: bounds) ?? head.revision.sequence
        return .none(revision.sequence < oldest ? .expired : .unknown)
    }

    /// The state of a past revision, made again, and what it has in common with the head. O(what changed since), and
    /// O(n) once as memory.
    ///
    /// - Parameter isIndexed: whether its ids are to be found in O(1).
    /// - Returns: nil where what leads back does not fit, whoever wrote it: then it is as good as forgotten.
    func state(at place: Int, isIndexed: Bool = false) -> (snapshot: Snapshot, reused: ReusedRuns)? {
        head.snapshot.applying(history.way(to: place), isIndexed: isIndexed).map { ($0.snapshot, $0.reused.reversed) }
    }

    private func marks(after sequence: UInt64) -> Marks {
        guard sequence < head.revision.sequence else { return .none }
        var marks = history.marks(after: sequence)
        marks.formUnion(head.marks)
        return marks
    }
}
