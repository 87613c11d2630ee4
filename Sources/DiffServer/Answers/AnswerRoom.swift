import HTTPCore

/// Room for the encoded answers of all sessions, which no budget counts otherwise: a client that asks each of its sessions for its changes
/// once would have them kept for as long as the sessions live.
///
/// An answer is worth keeping for the moment in which all who were woken by a commit ask for the same. So all of them go each second, and
/// one that finds no room until then is just not kept.
final class AnswerRoom: Sendable {
    private struct Content {
        var bytes = 0
        var caches: [AnswerCache] = []
    }

    private let limit: Int
    private let content = Locked(Content())

    /// - Parameter memory: the budget of all sessions, of which answers may take a thirty-second part besides.
    init(memory: Int) { limit = memory / 32 }

    /// Takes room for an answer; false if there is none.
    ///
    /// - Parameter newcomer: the cache that is to hold it, if it has held none since the room was emptied.
    func take(_ bytes: Int, newcomer: AnswerCache?) -> Bool {
        content.withLock { content in
            guard content.bytes + bytes <= limit else { return false }
            content.bytes += bytes
            if let newcomer { content.caches.append(newcomer) }
            return true
        }
    }

    /// Has all answers forgotten.
    func empty() {
        let caches = content.withLock { content in
            defer { content = Content() }
            return content.caches
        }
        for cache in caches { cache.empty() }
    }
}
