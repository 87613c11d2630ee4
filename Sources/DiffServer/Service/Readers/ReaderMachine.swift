import DiffSessions
import HTTPCore

/// Decides what a reader that waits for a session does next. A pure value that reads no session and no clock.
///
/// A held request, a stream, and each list of a stream of several do the same: they compare the head with what the
/// reader has, and answer if the reader sees a difference. `Subscription` carries out the actions.
///
///               changed        ready            same, different, missing
///     upToDate ─────────→ due ──────→ working ────────────────────────────→ upToDate
///                         ↑ ↓ too early  ↓ failed      (due if the session has changed meanwhile)
///                        paused ←────────┘
///
/// There is no queue: whatever has happened, the next answer leads from what the reader has to the head, so a slow
/// reader gets fewer and larger answers. Commits during work only mark the work to be repeated.
struct ReaderMachine: Hashable, Sendable {
    enum Purpose: Hashable, Sendable {
        /// One answer: a long poll.
        case answer
        /// One answer after another, with at least `pace` between them. Each change is held back for `hold`, so that
        /// those that follow it closely come along.
        case stream(pace: Duration, hold: Duration = .zero)
    }

    enum Phase: Hashable, Sendable {
        /// The reader has been compared with the newest known head.
        case upToDate
        /// The session must be read once the reader is ready.
        case due
        /// Due once a pause is over.
        case paused
        /// The session is being read or compared.
        case working(Work)
        case over
    }

    enum Work: Hashable, Sendable {
        case valid
        /// Valid, but the session has changed since the work began.
        case overtaken
        /// Useless: the session has ended since the work began.
        case abandoned
    }

    enum Event: Hashable, Sendable {
        /// The session has changed, or its source or the store is silent or answers again.
        case changed
        /// The time of a held request is up.
        case deadline
        case ready(at: Instant)
        case pauseEnded
        case worked(Outcome)
        /// The reader already has what it should see, found by work or by catching up. `name`: a new name for it, since
        /// the reader's revision will soon be forgotten.
        case same(ReaderState, name: Revision?)
        case beat
        /// The session has ended, and the reader waits for it to be created again. Any pause is over.
        case restarted
        case ended
    }

    /// The result of reading or comparing.
    enum Outcome: Hashable, Sendable {
        /// The session was read. `isStale`: its source or the store is silent.
        case found(Revision, isStale: Bool)
        case missing
        /// There is an answer. It leads to a state that the reader knows as `name`.
        case different(ReaderState, name: Revision?, isStale: Bool, at: Instant)
        /// The session left memory before it was compared.
        case vanished
        /// The store cannot be reached, or there is no memory for an answer.
        case failed
    }

    enum Action: Hashable, Sendable {
        case wait
        /// Report `ready` as soon as the reader can take an answer.
        case reportReady
        /// Report `pauseEnded` after this time.
        case pause(Duration)
        /// Read the session, and report `found`, `missing` or `failed`.
        case read
        /// Compare the head with what the reader has, and report `same`, `different`, `vanished` or `failed`.
        case compare(Comparison)
        /// Compare if that is quick and the reader's revision will soon be forgotten; report only `same`.
        case catchUp(Comparison)
        // With what was just reported:
        case answer
        case rename(Revision)
        case refuse
    }

    let purpose: Purpose
    /// Whether the reader shows the whole session: each commit matters to it.
    let showsAll: Bool
    /// Whether answers move the reader on. Otherwise each answer starts from the request's revision.
    let isAdopted: Bool

    private(set) var phase = Phase.due
    /// What the reader has: the last answer's revision, or the request's if answers are not adopted.
    private(set) var since: Since
    /// Whether `since` differs from the request's.
    private(set) var hasMoved: Bool
    /// The newest state known to show the same as `since`.
    private(set) var base: ReaderState?
    /// The head that the reader was last compared with.
    private var head: Revision?
    /// Whether the next answer is sent even if the reader sees nothing new.
    private var owesAnswer = false
    /// Whether the last answer said that the session's source or the store is silent.
    private var isAnnouncedStale = false
    private var lastAnswer: Instant?

    /// - Parameter compared: a state that shows the same as what the reader has, if they have been compared.
    init(_ purpose: Purpose, _ resume: ResumeRequest, compared: ReaderState? = nil, showsAll: Bool, isAdopted: Bool) {
        (self.purpose, self.showsAll, self.isAdopted) = (purpose, showsAll, isAdopted)
        (since, hasMoved) = (resume.since, resume.isOfCursor)
        (base, head) = (compared, compared?.revision)
    }

    mutating func handle(_ event: Event) -> Action {
        switch event {
        case .changed: return change()
        case .deadline:
            owesAnswer = true
            return change()
        case .ready(let now): return proceed(at: now)
        case .pauseEnded: return phase == .paused ? again() : .wait
        case .beat: return catchUp()
        case .restarted: return restart()
        case .ended:
            phase = .over
            return .wait
        case .same(let state, let name): return stay(at: state, name)
        case .worked(let outcome):
            guard case .working(let work) = phase else { return .wait }
            return work == .abandoned ? again() : finish(work, outcome)
        }
    }

    private mutating func again() -> Action {
        phase = .due
        return .reportReady
    }

    private mutating func change() -> Action {
        switch phase {
        case .upToDate:
            guard case .stream(_, let hold) = purpose, hold > .zero else { return again() }
            phase = .paused
            return .pause(hold)
        case .due: return again()
        case .paused: return .reportReady
        case .working(.valid): phase = .working(.overtaken)
        case .working, .over: break
        }
        return .wait
    }

    private mutating func proceed(at now: Instant) -> Action {
        switch phase {
        case .due:
            if case .stream(let pace, _) = purpose, let lastAnswer, now - lastAnswer < pace {
                phase = .paused
                return .pause(pace - (now - lastAnswer))
            }
            phase = .working(.valid)
            return .read
        case .paused: return catchUp()
        case .upToDate, .working, .over: return .wait
        }
    }

    // MARK: Work

    private mutating func finish(_ work: Work, _ outcome: Outcome) -> Action {
        switch outcome {
        case .found(let head, let isStale):
            let isOwed = owesAnswer || differsFromAnnounced(isStale)
            guard head != self.head || isOwed else { return settle(work) }
            // After its first answer, a reader of the whole session is told of every commit.
            return .compare(comparison(always: isOwed || showsAll && self.head != nil))
        case .missing: return owesAnswer && purpose == .answer ? refuse() : settle(work)
        case .different(let state, let name, let isStale, let now):
            // There is nothing to say if the source answered again before the comparison was done.
            if state.revision == head, !owesAnswer, !differsFromAnnounced(isStale) { return settle(work) }
            if isAdopted {
                (base, hasMoved) = (state, true)
                if let name { since = .revision(name) }
            }
            (head, isAnnouncedStale, owesAnswer, lastAnswer) = (state.revision, isStale, false, now)
            if purpose == .answer { phase = .over } else { _ = settle(work) }
            return .answer
        case .failed:
            if purpose == .answer { return refuse() }
            phase = .paused
            return .pause(Self.retry)
        case .vanished: return again()
        }
    }

    /// The pause before a stream tries again.
    static let retry = Duration.seconds(1)

    private mutating func settle(_ work: Work) -> Action {
        if work != .valid { return again() }
        phase = .upToDate
        return .wait
    }

    private mutating func refuse() -> Action {
        phase = .over
        return .refuse
    }

    private func differsFromAnnounced(_ isStale: Bool) -> Bool { purpose != .answer && isStale != isAnnouncedStale }

    private func comparison(always: Bool) -> Comparison {
        Comparison(since: since, base: base, lastSeen: isAdopted ? nil : head, always: always)
    }

    /// Moves the base to a newer state that shows the same, after work or catching up.
    private mutating func stay(at state: ReaderState, _ name: Revision?) -> Action {
        var next = Action.wait
        switch phase {
        case .over: return .wait
        case .working(.abandoned): return again()
        case .working(let work): next = settle(work)
        case .upToDate, .due, .paused: break
        }
        head = state.revision
        // Without adopted answers the reader still has the request's revision.
        guard isAdopted else { return next }
        base = state
        guard let name else { return next }
        if purpose == .answer {
            // The answer will carry the new name.
            owesAnswer = true
            return again()
        }
        (since, hasMoved) = (.revision(name), true)
        return .rename(name)
    }

    private func catchUp() -> Action {
        if case .working = phase { return .wait }
        guard phase != .over, purpose != .answer, !showsAll, base != nil else { return .wait }
        return .catchUp(comparison(always: false))
    }

    private mutating func restart() -> Action {
        (base, head, owesAnswer) = (nil, nil, true)
        switch phase {
        case .upToDate, .due, .paused: return again()
        case .working: phase = .working(.abandoned)
        case .over: break
        }
        return .wait
    }
}

/// What to compare with the head.
struct Comparison: Hashable, Sendable {
    let since: Since
    /// A state known to show the same.
    let base: ReaderState?
    /// The head that the reader last saw, if changes do not start there.
    let lastSeen: Revision?
    /// Whether the reader is answered even if it sees nothing new.
    let always: Bool
}

/// A session to follow, and what the reader has of it.
struct ResumeRequest: Sendable {
    let session: String
    var since: Since
    /// Whether `since` comes from a cursor rather than the query.
    var isOfCursor = false
    /// Whether the store has been asked for the session since the request came. If not, the first read asks it.
    var isRead = false
}
