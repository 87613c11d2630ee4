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

    /// Which rows it shows, if not all.
    var place: WindowPlace? { if case .revision(let revision) = self { revision.place } else { nil } }

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
        return .none(reset(from: revision.sequence, at: now, bounds: bounds))
    }

    /// The same of a reader who sees states through views, for whom equal states of different revisions have different
    /// names.
    func resumePoint(
        _ revision: Revision, through views: [StateView], at now: Instant, bounds: History.Bounds
    ) -> ResumePoint {
        if views.isEmpty { return resumePoint(revision, at: now, bounds: bounds) }
        let meant = revision.sequence == head.revision.sequence ? head.revision : history.revision(revision.sequence)
        guard let meant, name(of: meant, through: views).digest == revision.digest else {
            return .none(reset(from: revision.sequence, at: now, bounds: bounds))
        }
        return resumePoint(of: meant, at: now, bounds: bounds)
    }

    /// The same of a revision of this session, whatever it is called. Of two with one digest a view may show different
    /// things, where it looks at what is ignored.
    func resumePoint(of revision: Revision, at now: Instant, bounds: History.Bounds) -> ResumePoint {
        if revision != head.revision, !settings.ignored.isEmpty,
            let place = history.place(of: revision, at: now, bounds: bounds), history.revision(at: place) == revision
        {
            let marks = marks(after: revision.sequence)
            return marks.isReload ? .none(.reloaded) : .past(place, marks: marks)
        }
        return resumePoint(revision, at: now, bounds: bounds)
    }

    /// What a revision is called for a reader who sees its state through views.
    func name(of revision: Revision, through views: [StateView]) -> Revision {
        if views.isEmpty { return revision }
        var text = Array("\(revision.text)".utf8)
        for view in views {
            text.append(UInt8(ascii: "\n"))
            text += view.json
        }
        let digest = text.withUnsafeBytes { head.fingerprints.hash.digest(of: $0) }
        return Revision(sequence: revision.sequence, digest: digest)
    }

    /// Why a revision is none that changes could start from.
    private func reset(from sequence: UInt64, at now: Instant, bounds: History.Bounds) -> ResetReason {
        if sequence == 0 { return .unknown }
        if sequence < startedOverAt { return .replaced }
        let oldest = history.oldest(at: now, bounds: bounds) ?? head.revision.sequence
        return sequence < oldest ? .expired : .unknown
    }

    /// The state of a past revision, made again, and what it has in common with the head. O(what changed since), and
    /// O(n) once as memory.
    ///
    /// - Parameter isIndexed: whether its ids are to be found in O(1).
    /// - Returns: nil where what leads back does not fit, whoever wrote it: then it is as good as forgotten.
    func state(at place: Int, isIndexed: Bool = false) -> (snapshot: Snapshot, reused: ReusedRuns)? {
        head.snapshot.applying(history.way(to: place), isIndexed: isIndexed).map { ($0.snapshot, $0.reused.reversed) }
    }

    /// Whether a revision is the head or a remembered one.
    func knows(_ revision: Revision) -> Bool {
        revision == head.revision || revision == history.revision(revision.sequence)
    }

    private func marks(after sequence: UInt64) -> Marks {
        guard sequence < head.revision.sequence else { return .none }
        var marks = history.marks(after: sequence)
        marks.formUnion(head.marks)
        return marks
    }
}
