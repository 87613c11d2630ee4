import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The end of a fetch: what was left out of the answer, or why there is no session.
typealias FetchResult = Result<[StateWarning], SourceFailure>

/// The life of a list, or of one section, that is fetched from a source, as a value: events go in, and actions come
/// out. At most one thing is under way at a time: the lease is being acquired, the session looked up, the source asked,
/// or the lease released.
struct SourceLife: Sendable {
    /// What is under way.
    enum Phase: Sendable {
        case idle
        case acquiring(isForced: Bool)
        /// Another node has fetched it: the session is being looked up.
        case looking
        case fetching(Attempt)
        /// Then the waiters are told.
        case releasing(FetchResult)

        var isIdle: Bool { if case .idle = self { true } else { false } }
    }

    /// A request to the source.
    struct Attempt: Sendable {
        /// The list's name in the file.
        let list: String
        let every: Duration
        let time: Instant
    }

    struct Waiter: Sendable {
        let id: Int
        /// Whether there is no session yet, so that a failed fetch is a failure for the waiter.
        let needsSession: Bool
        /// Whether it needs a fetch of its own rather than another node's.
        var isForced = false
        /// When it stops waiting, and continues with the existing state; nil for never.
        var deadline: Instant?

        fileprivate func isImpatient(at now: Instant) -> Bool { deadline.map { $0 <= now } ?? false }
    }

    /// The circumstances of an event.
    struct Surroundings: Sendable {
        var now: Instant
        /// The entry in the file; nil if it no longer has a source for the session.
        var list: (name: String, every: Duration, sourceHash: UInt64)?
        /// The session on this node.
        var base: SourceBase?
        var hasReaders: Bool
        /// Whether anything reads or writes the session on this node.
        var hasSlot: Bool
        /// Whether no other node shares the store.
        var isSole: Bool
        /// From 0 to 1. Keeps lists that fail together from being asked again together.
        var jitter = 0.0
    }

    enum Event: Sendable {
        case arrived(Waiter)
        case readersArrived
        /// The file was read again, and the list's entry has changed.
        case settingsChanged
        /// The time of `wake` has come.
        case woke
        case leased(Result<SourceLease, StoreFailure>)
        case looked(isMissing: Bool)
        /// The source's answer is about to be committed.
        case heard
        case fetched(SourceFetch.Outcome)
        case released
    }

    enum Action: Sendable {
        /// The lease lasts for `hold` without a sign of life.
        case acquire(isForced: Bool, hold: Duration)
        case renew(hold: Duration)
        case look
        /// - Parameter after: what the result must follow. After anything else, a 304 would mean nothing.
        case fetch(after: SourceBase?, SourceValidators?)
        /// - Parameter next: the time until the source may be asked again.
        case release(SourceNote?, next: Duration)
        case finish(Int, FetchResult)
        /// Tells readers that the source is silent, or answers again.
        case announce
        case count(SourceNote.Outcome, list: String)
        case beginOutage(String, list: String)
        case endOutage(list: String)
        /// Another node has heard from the source.
        case forgetOutage
        /// Removes the session, which the file no longer fetches, if it is still as the source sent it.
        case remove(at: Revision)
    }

    private(set) var phase = Phase.idle
    private(set) var record: SourceRecord
    /// Why the last fetch failed, for callers that are allowed to know.
    private(set) var failureDetail = ""
    /// When the list was last asked for.
    private(set) var used: Instant
    private var waiting: [Waiter] = []
    /// Waiters that arrived during a fetch and need a newer one.
    private var nextWaiting: [Waiter] = []
    /// When to ask the source, or for the lease, again.
    private var dueAt: Instant?
    /// When the source will have been silent for too long.
    private var staleAt: Instant?
    private var renewAt: Instant?
    /// Whether readers were told that the source is silent.
    private var isAnnouncedStale = false
    /// Fetches in a row that were overtaken by edits.
    private var overtakings = 0

    private var actions: [Action] = []

    /// The pause before asking for the lease again after the store has failed.
    private static let patience = Duration.seconds(1)
    /// The pause before asking again for a lease that another node has: soon with waiters, late without.
    private static let retry = (soon: Duration.milliseconds(50), late: Duration.seconds(1))
    /// How long a lease lasts without a sign of life from its holder: the list's interval, within these bounds.
    private static let hold = (least: Duration.seconds(1), most: Duration.seconds(3))
    private static let maxOvertakings = 3

    init(every interval: Duration, at now: Instant) { (record, used) = (SourceRecord(every: interval, at: now), now) }

    // MARK: What is known

    /// When `woke` is due; nil for never.
    var wake: Instant? { ([dueAt, staleAt, renewAt] + waiting.map(\.deadline)).compactMap(\.self).min() }

    /// The answer for a reader that need not wait; nil if it must wait.
    mutating func answer(sessionExists: Bool, isSole: Bool, at now: Instant) -> Result<Void, SourceFailure>? {
        used = now
        if sessionExists {
            // While the source fails, or has nothing for its section, readers get the existing state.
            let mayWait = record.outcome.map { $0 != .fetched } ?? false && record.nextTry(isSole: isSole) > now
            return record.isFresh(at: now) || mayWait ? .success(()) : nil
        }
        return record.due > now ? failure(at: now).map { .failure($0) } : nil
    }

    mutating func use(at now: Instant) { used = now }

    var isBusy: Bool { !phase.isIdle || !waiting.isEmpty }

    /// The failure to report if there is no session.
    private func failure(at now: Instant) -> SourceFailure? {
        switch record.outcome {
        case nil, .fetched: return nil
        case .missing: return .missing
        case .failed:
            let seconds = Int(((record.due - now) / .seconds(1)).rounded(.up))
            return .unavailable(retryAfter: max(1, seconds))
        }
    }

    // MARK: Events

    /// - Returns: the actions, in order. A question comes last, since its answer may come at once.
    mutating func happen(_ event: Event, _ now: Surroundings) -> [Action] {
        switch (event, phase) {
        case (.arrived(let waiter), .idle):
            waiting.append(waiter)
            ask(now)
        case (.arrived(let waiter), _):
            if waiter.isForced { nextWaiting.append(waiter) } else { waiting.append(waiter) }
        case (.readersArrived, _):
            if staleAt == nil { watchStaleness(now) }
            if phase.isIdle, dueAt == nil { schedule(now) }
        case (.settingsChanged, _):
            record.invalidate(every: now.list?.every ?? record.interval, at: now.now)
            if phase.isIdle, now.hasReaders || !waiting.isEmpty { ask(now, isForced: true) }
        case (.woke, _): wake(now)
        case (.leased(let result), .acquiring(let isForced)): leased(result, isForced: isForced, now)
        case (.looked(let isMissing), .looking):
            phase = .idle
            if isMissing { ask(now, isForced: true) } else { end(.success([]), now) }
        case (.heard, .fetching): update(now) { $0.noteAnswer(at: now.now) }
        case (.fetched(let outcome), .fetching(let attempt)): fetched(outcome, attempt, now)
        case (.released, .releasing(let result)): end(result, now)
        case (.leased, _), (.looked, _), (.heard, _), (.fetched, _), (.released, _):
            preconditionFailure("an answer without its question")
        }
        return exchange(&actions, with: [])
    }

    // MARK: Time

    private mutating func wake(_ now: Surroundings) {
        for waiter in waiting where waiter.isImpatient(at: now.now) { actions.append(.finish(waiter.id, .success([]))) }
        waiting.removeAll { $0.isImpatient(at: now.now) }
        if let time = renewAt, time <= now.now {
            actions.append(.renew(hold: hold))
            scheduleRenewal(now)
        }
        if let time = staleAt, time <= now.now { watchStaleness(now) }
        if let time = dueAt, time <= now.now {
            dueAt = nil
            // Without readers or waiters the source is left alone.
            if phase.isIdle, now.hasReaders || !waiting.isEmpty { ask(now) }
        }
    }

    private mutating func schedule(_ now: Surroundings) {
        dueAt = now.hasReaders && now.list != nil ? max(record.nextTry(isSole: now.isSole), now.now) : nil
    }

    /// Announces once that the source is silent, and once that it answers again.
    private mutating func watchStaleness(_ now: Surroundings) {
        let isStale = record.staleness(at: now.now) != nil
        if isStale != isAnnouncedStale, now.hasSlot {
            isAnnouncedStale = isStale
            actions.append(.announce)
        }
        staleAt = !isStale && now.hasReaders ? record.staleAt : nil
    }

    /// Readers who came while the source was silent learnt it from their first answer, so all are told when it is over.
    private mutating func update(_ now: Surroundings, _ step: (inout SourceRecord) -> Void) {
        let wasStale = record.staleness(at: now.now) != nil
        step(&record)
        if wasStale, record.staleness(at: now.now) == nil { isAnnouncedStale = true }
    }

    // MARK: The lease

    private mutating func ask(_ now: Surroundings, isForced: Bool = false) {
        dueAt = nil
        guard let list = now.list else { return end(.failure(.missing), now) }
        let isForced = isForced || waiting.contains(where: \.isForced)
        phase = .acquiring(isForced: isForced)
        record.begin(from: list.sourceHash, every: list.every, at: now.now)
        actions.append(.acquire(isForced: isForced, hold: hold))
    }

    private mutating func leased(_ result: Result<SourceLease, StoreFailure>, isForced: Bool, _ now: Surroundings) {
        phase = .idle
        switch result {
        case .success(.acquired(let note)):
            adopt(note, now)
            if !isForced, record.isTooEarly(at: now.now) {
                release(.failure(failure(at: now.now) ?? .missing), now)
            } else {
                fetch(now)
            }
        case .success(.busy(let note)):
            adopt(note, now)
            // Soon if there are waiters, else when the other node's answer is due.
            let pause = waiting.isEmpty ? min(record.interval / 4, Self.retry.late) : Self.retry.soon
            record.wait(until: now.now + pause)
            if waiting.isEmpty { schedule(now) } else { dueAt = now.now + pause }
        case .success(.notDue(let note, let time)):
            adopt(note, now)
            record.wait(until: now.now + time)
            if let note, record.isForeign(note), now.hasReaders || !waiting.isEmpty { return ask(now, isForced: true) }
            guard waiting.contains(where: \.needsSession) else { return end(.success([]), now) }
            if let failure = failure(at: now.now) { return end(.failure(failure), now) }
            // The session exists, unless it has been deleted since.
            phase = .looking
            actions.append(.look)
        case .failure(let failure):
            record.wait(until: now.now + Self.patience)
            end(.failure(.store(failure)), now)
        }
    }

    private mutating func adopt(_ note: SourceNote?, _ now: Surroundings) {
        guard let note else { return }
        update(now) { $0.adopt(note, at: now.now) }
        if note.failures == 0 { actions.append(.forgetOutage) }
        watchStaleness(now)
    }

    private var hold: Duration { min(max(record.interval, Self.hold.least), Self.hold.most) }

    private mutating func scheduleRenewal(_ now: Surroundings) { renewAt = now.isSole ? nil : now.now + hold / 3 }

    // MARK: The fetch

    private mutating func fetch(_ now: Surroundings) {
        guard let list = now.list else { return release(.failure(.missing), now) }
        record.begin(from: list.sourceHash, every: list.every, at: now.now)
        phase = .fetching(Attempt(list: list.name, every: list.every, time: now.now))
        used = now.now
        scheduleRenewal(now)
        let isConditional =
            now.base.map { record.revision == $0.text } ?? false && record.validators != SourceValidators()
        actions.append(.fetch(after: now.base, isConditional ? record.validators : nil))
    }

    private mutating func fetched(_ outcome: SourceFetch.Outcome, _ attempt: Attempt, _ now: Surroundings) {
        switch outcome {
        case .succeeded(let answer, let base, let warnings):
            overtakings = 0
            if record.failures > 0 { actions.append(.endOutage(list: attempt.list)) }
            update(now) {
                $0.succeed(answer, every: attempt.every, revision: base?.text, asked: attempt.time, at: now.now)
            }
            actions.append(.count(.fetched, list: attempt.list))
            // The list may have left the file between the answer and its commit.
            if now.list == nil, let base { actions.append(.remove(at: base.revision)) }
            release(.success(warnings), now)
        case .missing:
            record.noteMissing(at: now.now)
            actions.append(.count(.missing, list: attempt.list))
            release(.failure(.missing), now)
        case .failed(let reason, let retryAfter): fail(reason, retryAfter: retryAfter, attempt, now)
        case .unusable(let problem):
            // Readers that were answered meanwhile were told that the source is back.
            isAnnouncedStale = false
            fail("its answer is unusable: \(problem.locatedSummary)", attempt, now)
        case .overtaken:
            // The list was edited during the fetch, and the answer may not include the edits.
            overtakings += 1
            guard overtakings < Self.maxOvertakings else {
                overtakings = 0
                return fail("it answers more slowly than the session is edited", attempt, now)
            }
            record.forgetState(at: now.now)
            startOver(now)
        case .outdated: startOver(now)
        }
    }

    private mutating func fail(_ reason: String, retryAfter: Int? = nil, _ attempt: Attempt, _ now: Surroundings) {
        record.fail(every: attempt.every, retryAfter: retryAfter, jitter: now.jitter, at: now.now)
        failureDetail = reason
        actions.append(.count(.failed, list: attempt.list))
        // Once per outage, not per try.
        if record.failures == 1 { actions.append(.beginOutage(reason, list: attempt.list)) }
        release(.failure(failure(at: now.now) ?? .missing), now)
    }

    private mutating func startOver(_ now: Surroundings) {
        // A session that was deleted meanwhile is made again when it is next read.
        guard now.hasReaders || !waiting.isEmpty || !nextWaiting.isEmpty else { return release(.success([]), now) }
        fetch(now)
    }

    // MARK: The end

    private mutating func release(_ result: FetchResult, _ now: Surroundings) {
        renewAt = nil
        phase = .releasing(result)
        actions.append(.release(record.note(at: now.now), next: max(record.due - now.now, .zero)))
    }

    /// Tells the waiters. The lease must be released first: until then it cannot be acquired again.
    private mutating func end(_ result: FetchResult, _ now: Surroundings) {
        phase = .idle
        for waiter in exchange(&waiting, with: exchange(&nextWaiting, with: [])) {
            actions.append(.finish(waiter.id, waiter.needsSession ? result : .success([])))
        }
        watchStaleness(now)
        if waiting.isEmpty { schedule(now) } else { ask(now, isForced: true) }
    }
}
