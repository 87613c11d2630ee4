import HTTPCore
import SnapshotKit

/// What a reader has, as far as a session can still tell: where changes for it can start.
enum ResumePoint: Sendable {
    /// The head itself, by digest; marks may have come since.
    case head(marks: Marks)
    /// A past state.
    case past(Skeleton, marks: Marks)
    /// A past state whose skeleton only the store has.
    case stored(sequence: UInt64)
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
        if revision.digest == head.revision.digest {
            return .head(marks: marks(after: revision.sequence))
        }
        if let entry = history.entry(revision, at: now, bounds: bounds) {
            guard let skeleton = entry.skeleton else { return .stored(sequence: entry.revision.sequence) }
            return .past(skeleton, marks: marks(after: revision.sequence))
        }
        if revision.sequence == 0 { return .none(.unknown) }
        if revision.sequence < startedOverAt { return .none(.replaced) }
        let oldest = history.oldest(at: now, bounds: bounds) ?? head.revision.sequence
        return .none(revision.sequence < oldest ? .expired : .unknown)
    }

    /// The sequence of a reader's revision if that has to be brought from the store before changes can start from it.
    func missing(_ since: Since, at now: Instant, bounds: History.Bounds) -> UInt64? {
        guard case .revision(let revision) = since,
            case .stored(let sequence) = resumePoint(revision, at: now, bounds: bounds)
        else { return nil }
        return sequence
    }

    private func marks(after sequence: UInt64) -> Marks {
        guard sequence < head.revision.sequence else { return .none }
        var marks = history.marks(after: sequence)
        marks.formUnion(head.marks)
        return marks
    }
}
