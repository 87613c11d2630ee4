import HTTPCore
import SnapshotKit

/// Answers what changed since a reader's base.
struct Reading: Sendable {
    let slot: SessionSlot
    let session: Session
    private let table: SessionTable
    /// Whether the session is the head, not just what was the head when this process last heard of it.
    let isCertain: Bool

    /// Nil if the session in the slot is gone or away.
    init?(_ slot: SessionSlot, of table: SessionTable, isCertain: Bool = true) {
        guard let session = table.session(in: slot) else { return nil }
        self.init(slot, session, of: table, isCertain: isCertain)
    }

    init(_ slot: SessionSlot, _ session: Session, of table: SessionTable, isCertain: Bool = true) {
        (self.slot, self.session, self.table, self.isCertain) = (slot, session, table, isCertain)
    }

    /// The session as it is in the slot now.
    var renewed: Reading? { Reading(slot, of: table, isCertain: isCertain) }

    /// The same with a past revision's skeleton that a store brought, or without that revision if nobody has it any
    /// more. Whether the session is still in the table does not matter.
    func recalling(_ sequence: UInt64, _ skeleton: Skeleton?) -> Reading {
        Reading(slot, session.recalling(sequence, skeleton), of: table, isCertain: isCertain)
    }

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

    /// The answer from a reader's base to the head. The diff and its encoding are shared with other readers who want
    /// the same.
    func answer(since: Since, _ wish: ChangesWish) -> ChangesAnswer {
        guard case .revision(let revision) = since else {
            let reason: ResetReason = since == .unreadable ? .unknown : .initial
            return reset(reason, from: nil, wish)
        }
        let snapshot = session.head.snapshot
        switch base(revision) {
        case .none(let reason): return reset(reason, from: revision, wish)
        // Nobody waited for it, so it is as good as forgotten.
        case .stored: return reset(.expired, from: revision, wish)
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
        let key = AnswerCache.Key.changes(from: revision, wish)
        let answers = slot.answers(in: table.answers)
        if let known = answers.answer(key, at: session.head.revision) { return known }
        let made = ChangesAnswer(changeset(), from: revision, to: destination, wish)
        let (answer, body) = made.shared(in: table.answers.budget)
        answers.remember(body, of: answer.withoutBody, key, at: session.head.revision)
        return answer
    }

    /// The whole state for a reader; a large one is written once for all readers, whatever they had.
    private func reset(_ reason: ResetReason, from revision: Revision?, _ wish: ChangesWish) -> ChangesAnswer {
        let form = wish.form
        guard isShared else { return ChangesAnswer(reset: reason, from: revision, to: destination, form) }
        let end = shared(.state(form)) {
            let bytes = ChangesAnswer.end(ofReset: destination, form)
            let budget = table.answers.budget
            return form.isEvent ? SharedBody(partOfStream: bytes, in: budget) : SharedBody(bytes, in: budget)
        }
        return ChangesAnswer(reset: reason, from: revision, to: destination, form, sharing: end)
    }

    /// The body that another reader of this head got, or else a new one.
    private func shared(_ key: AnswerCache.Key, _ body: () -> SharedBody) -> SharedBody {
        let answers = slot.answers(in: table.answers)
        if let known = answers.body(key, at: session.head.revision) { return known }
        let body = body()
        answers.remember(body, key, at: session.head.revision)
        return body
    }

    // MARK: What takes long

    /// From this footprint on a session's state takes longer to read, compare or write than its loop should be held up:
    /// about a millisecond.
    static let long = 512 * 1024

    /// From this footprint on a state is written once for all who get it.
    private static let worthSharing = 32 * 1024

    private var isShared: Bool { session.head.footprint >= Self.worthSharing }

    /// Whether another answer may be made: before a large one, those who do not read theirs have to go.
    var hasRoom: Bool { !isLong || !table.answers.budget.isExceeded }

    /// - Throws: 503 where there is no room.
    func checkRoom() throws(Problem) { if !hasRoom { throw .crowded } }

    /// Whether what is done with the whole state takes long.
    var isLong: Bool { session.head.footprint >= Self.long }

    /// The state as GET answers it, written once for all readers of this revision if it is worth that.
    func document() -> Body {
        guard isShared else { return .bytes(writtenDocument()) }
        return .shared(shared(.document) { SharedBody(writtenDocument(), in: table.answers.budget) })
    }

    private func writtenDocument() -> [UInt8] {
        var writer = JSONWriter(capacity: session.head.snapshot.footprint)
        writer.append("{\"session\":")
        writer.append(string: slot.name)
        writer.append(",\"revision\":")
        writer.append(string: session.head.revision.text)
        writer.append(",\"state\":")
        session.head.snapshot.writeDocument(into: &writer)
        writer.append(byte: UInt8(ascii: "}"))
        return writer.bytes()
    }
}
