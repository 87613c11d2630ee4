/// Where the time of a request goes: it is in one part at a time. Any thread may say which.
public final class RequestTimes: Sendable {
    /// What a request does.
    public enum Part: String, CaseIterable, Sendable {
        /// Its body arrives.
        case receive
        /// It waits for a worker, or for its session's turn.
        case queue
        /// It waits for the store, for the source of its list, or for the owner who decides about an edit.
        case store, source, hook
        case compute
        /// It waits on purpose, until there is news.
        case held
    }

    private struct Content {
        var times: [Part: Duration] = [:]
        var part: Part
        var since: Instant

        mutating func enter(_ next: Part, at now: Instant) {
            times[part, default: .zero] += max(.zero, now - since)
            (part, since) = (next, max(now, since))
        }
    }

    private let content: Locked<Content>

    /// Begins in a part.
    public init(in part: Part, at now: Instant = .now) { content = Locked(Content(part: part, since: now)) }

    /// Enters a part, unless the request is held: what is read for it meanwhile is not its own time.
    public func enter(_ part: Part, at now: Instant = .now) {
        content.withLock { if $0.part != .held { $0.enter(part, at: now) } }
    }

    /// Ends the time that the request is held: now, or when the news came.
    public func release(at now: Instant = .now) {
        content.withLock { if $0.part == .held { $0.enter(.compute, at: now) } }
    }

    /// The time spent in each part until now.
    public func values(at now: Instant = .now) -> [Part: Duration] {
        content.withLock { content in
            content.enter(content.part, at: now)
            return content.times
        }
    }
}
