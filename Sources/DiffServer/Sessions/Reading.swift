import SnapshotKit

/// Answers what changed since a reader's base.
struct Reading: Sendable {
    let slot: SessionSlot
    let session: Session
    private let table: SessionTable
    /// Whether the session is the head, not just what was the head when this process last heard of it.
    let isCertain: Bool

    /// Nil if the session in the slot is gone.
    init?(_ slot: SessionSlot, of table: SessionTable, isCertain: Bool = true) {
        guard let session = table.session(in: slot) else { return nil }
        self.init(slot, session, of: table, isCertain: isCertain)
    }

    init(_ slot: SessionSlot, _ session: Session, of table: SessionTable, isCertain: Bool = true) {
        (self.slot, self.session, self.table, self.isCertain) = (slot, session, table, isCertain)
    }

    /// The session as it is in the slot now.
    var renewed: Reading? { Reading(slot, of: table, isCertain: isCertain) }

    /// The sequence of a base that has to be brought from the store before an answer can start from it.
    func missing(_ since: Since) -> UInt64? {
        guard case .revision(let revision) = since, case .stored(let sequence) = base(revision) else { return nil }
        return sequence
    }

    var destination: Destination {
        Destination(session: slot.name, revision: session.head.revision, snapshot: session.head.snapshot)
    }

    /// Whether changes can be computed from a base; otherwise the reader gets the whole state.
    func isUsable(_ since: Since) -> Bool {
        guard case .revision(let revision) = since else { return false }
        switch base(revision) {
        case .head, .past: return true
        case .stored, .none: return false
        }
    }

    func base(_ revision: Revision) -> Base { session.base(revision, at: .now, bounds: table.bounds.history) }

    /// The answer from a reader's base to the head. The diff and its encoding are shared with other readers who want the same.
    func answer(since: Since, _ wish: ChangesWish) -> ChangesAnswer {
        guard case .revision(let revision) = since else {
            let reason: ResetReason = since == .unreadable ? .unknown : .initial
            return ChangesAnswer(reset: reason, from: nil, to: destination, wish)
        }
        let snapshot = session.head.snapshot
        switch base(revision) {
        case .none(let reason): return ChangesAnswer(reset: reason, from: revision, to: destination, wish)
        // Nobody waited for it, so it is as good as forgotten.
        case .stored: return ChangesAnswer(reset: .expired, from: revision, to: destination, wish)
        case .head(let marks):
            return shared(from: revision, wish) { Changeset(from: snapshot, to: snapshot, marks: marks) }
        case .past(let skeleton, let marks):
            return shared(from: revision, wish) {
                Changeset(from: skeleton, to: snapshot, fingerprints: session.head.fingerprints, marks: marks)
            }
        }
    }

    /// The answer that another reader with the same base and wish got, or else a new one.
    private func shared(from revision: Revision, _ wish: ChangesWish, _ changeset: () -> Changeset) -> ChangesAnswer {
        let key = AnswerCache.Key(from: revision, wish: wish)
        let answers = slot.answers(in: table.answers)
        if let known = answers.answer(key, at: session.head.revision) { return known }
        let answer = ChangesAnswer(changeset(), from: revision, to: destination, wish)
        answers.remember(answer, key, at: session.head.revision)
        return answer
    }
}
