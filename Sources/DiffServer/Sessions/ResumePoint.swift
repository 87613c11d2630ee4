import DiffClock
import SnapshotKit

/// The state from which the changes for a reader start.
public enum ResumePoint: Sendable {
    /// The head, by its digest; marks may have been added since.
    case head(marks: Marks)
    /// A past state, by its index in the history.
    case past(Int, marks: Marks)
    /// No known state: the reader gets the whole head.
    case none(ResetReason)
}

/// Why an answer carries the whole state.
public enum ResetReason: String, Sendable, CaseIterable {
    /// The reader has nothing yet.
    case initial
    /// The reader's revision is no longer remembered.
    case expired
    /// The reader's revision is from another history.
    case unknown
    /// The session has been started over since.
    case replaced
    /// A writer wanted everything redrawn at once, without showing changes.
    case reloaded
    /// More operations than the reader wants.
    case large
}

/// The revision that a reader says it has.
public enum Since: Hashable, Sendable {
    case absent
    /// Present, but empty: the reader has nothing.
    case nothing
    /// Not a revision: an event's id that was damaged in transit.
    case unreadable
    case revision(Revision)

    public var revision: Revision? { if case .revision(let revision) = self { revision } else { nil } }

    /// The rows that the reader shows; nil for all.
    public var position: WindowPosition? { revision?.position }

    /// Replaces `absent` for a writer: by the head before the write, or by `nothing` if there was none.
    public func orElse(_ before: Revision?) -> Since { self == .absent ? before.map(Since.revision) ?? .nothing : self }
}

/// The canonical JSON of a view, by which revisions seen through it are named.
public typealias ViewName = [UInt8]

extension Session {
    /// Finds the state of a reader's revision. O(history).
    public func resumePoint(_ revision: Revision, at now: Instant, bounds: History.Bounds) -> ResumePoint {
        let isHead = revision.digest == head.revision.digest
        let index = isHead ? nil : history.index(of: revision, at: now, bounds: bounds)
        if isHead || index != nil {
            let marks = marks(after: revision.sequence)
            if marks.isReload { return .none(.reloaded) }
            return index.map { .past($0, marks: marks) } ?? .head(marks: marks)
        }
        return .none(reset(from: revision.sequence, at: now, bounds: bounds))
    }

    /// Finds the state for a reader with views, to whom equal states of different revisions have different names.
    public func resumePoint(
        _ revision: Revision, through views: [ViewName], at now: Instant, bounds: History.Bounds
    ) -> ResumePoint {
        if views.isEmpty { return resumePoint(revision, at: now, bounds: bounds) }
        let candidate =
            revision.sequence == head.revision.sequence ? head.revision : history.revision(revision.sequence)
        guard let candidate, name(of: candidate, through: views).digest == revision.digest else {
            return .none(reset(from: revision.sequence, at: now, bounds: bounds))
        }
        return resumePoint(of: candidate, at: now, bounds: bounds)
    }

    /// Not the state of an equal revision: a view of ignored places may show different things for the same digest.
    public func resumePoint(of revision: Revision, at now: Instant, bounds: History.Bounds) -> ResumePoint {
        if revision != head.revision, !settings.ignored.isEmpty,
            let index = history.index(of: revision, at: now, bounds: bounds), history.revision(at: index) == revision
        {
            let marks = marks(after: revision.sequence)
            return marks.isReload ? .none(.reloaded) : .past(index, marks: marks)
        }
        return resumePoint(revision, at: now, bounds: bounds)
    }

    public func name(of revision: Revision, through views: [ViewName]) -> Revision {
        if views.isEmpty { return revision }
        var text = Array(revision.text.utf8)
        for view in views {
            text.append(UInt8(ascii: "\n"))
            text += view
        }
        let digest = text.withUnsafeBytes { head.fingerprints.hash.digest(of: $0) }
        return Revision(sequence: revision.sequence, digest: digest)
    }

    /// Why changes cannot start from a revision.
    private func reset(from sequence: UInt64, at now: Instant, bounds: History.Bounds) -> ResetReason {
        if sequence == 0 { return .unknown }
        if sequence < startedOverAt { return .replaced }
        let oldest = history.oldest(at: now, bounds: bounds) ?? head.revision.sequence
        return sequence < oldest ? .expired : .unknown
    }

    /// A past state, with what it shares with the head. O(changes since), and one copy of O(n). Nil if a delta does not
    /// fit its state, whoever wrote it: the revision then counts as forgotten.
    ///
    /// - Parameter isIndexed: whether its ids can be found in O(1).
    public func state(at index: Int, isIndexed: Bool = false) -> (snapshot: Snapshot, shared: SharedRuns)? {
        head.snapshot.applying(history.way(to: index), isIndexed: isIndexed).map { ($0.snapshot, $0.shared.reversed) }
    }

    public func knows(_ revision: Revision) -> Bool {
        revision == head.revision || revision == history.revision(revision.sequence)
    }

    private func marks(after sequence: UInt64) -> Marks {
        guard sequence < head.revision.sequence else { return .none }
        var marks = history.marks(after: sequence)
        marks.formUnion(head.marks)
        return marks
    }
}
