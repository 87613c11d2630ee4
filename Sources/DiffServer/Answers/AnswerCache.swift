import HTTPCore

/// Encoded answers that lead to one head, so that many readers with the same base cost one diff.
final class AnswerCache: Sendable {
    /// All that shapes an answer besides the head.
    struct Key: Hashable, Sendable {
        var from: Revision
        var wish: ChangesWish
    }

    private struct Content {
        var head: Revision?
        var answers: [Key: ChangesAnswer] = [:]
        var bytes = 0
        /// Whether the room knows that there is something to forget here.
        var isListed = false
    }

    /// Answers of one session at once, and their bytes: a head with more readers' bases than this computes some of them again.
    private static let maxAnswers = 64
    private static let maxBytes = 1 << 20
    /// Of an answer, besides its body.
    private static let overhead = 512

    private let content = Locked(Content())
    private let room: AnswerRoom

    init(in room: AnswerRoom) { self.room = room }

    /// The answer for a key at a head, if it was computed already.
    func answer(_ key: Key, at head: Revision) -> ChangesAnswer? {
        content.withLock { $0.head == head ? $0.answers[key] : nil }
    }

    /// Remembers an answer; those to an older head go.
    func remember(_ answer: ChangesAnswer, _ key: Key, at head: Revision) {
        content.withLock { content in
            if content.head != head { content = Content(head: head, isListed: content.isListed) }
            let bytes = answer.body.capacity + Self.overhead
            guard content.answers.count < Self.maxAnswers, content.bytes + bytes <= Self.maxBytes,
                room.take(bytes, newcomer: content.isListed ? nil : self)
            else { return }
            content.isListed = true
            content.bytes += bytes
            content.answers[key] = answer
        }
    }

    /// Forgets all answers.
    func empty() { content.withLock { $0 = Content() } }
}
