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
    }

    /// Answers of one session at once, and their bytes: a head with more readers' bases than this computes some of them again.
    private static let maxAnswers = 64
    private static let maxBytes = 1 << 20

    private let content = Locked(Content())

    /// The answer for a key at a head, if it was computed already.
    func answer(_ key: Key, at head: Revision) -> ChangesAnswer? {
        content.withLock { $0.head == head ? $0.answers[key] : nil }
    }

    /// Remembers an answer; those to an older head go.
    func remember(_ answer: ChangesAnswer, _ key: Key, at head: Revision) {
        content.withLock { content in
            if content.head != head { content = Content(head: head) }
            guard content.answers.count < Self.maxAnswers, content.bytes + answer.body.count <= Self.maxBytes else { return }
            content.bytes += answer.body.count
            content.answers[key] = answer
        }
    }
}
