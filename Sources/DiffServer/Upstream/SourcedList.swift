import DiffService
import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import Synchronization

/// One list that fetches itself: asks its source while somebody reads the session or waits for it, and replaces the
/// session by what comes.
///
/// Any thread may ask what is known, or for a fetch; everything else is confined to the loop of its `Upstream`.
final class SourcedList: @unchecked Sendable {
    let name: String
    private let upstream: Upstream
    /// What is known of the source. Read by any thread, written on the loop.
    private let known: Locked<SourceRecord>
    /// When somebody last asked for the list.
    private let used = Locked(Instant.now)
    private var phase = Phase.idle { didSet { isBusy.store(phase != .idle, ordering: .relaxed) } }
    private let isBusy = Atomic<Bool>(false)
    /// Readers that wait for the fetch that is under way or about to begin.
    private var waiting: [Waiter] = []
    /// Readers that arrived during a fetch and need a newer one.
    private var nextWaiting: [Waiter] = []
    /// Until the source is asked again, or this node tries again to take its lease.
    private var timer: Timer? { didSet { oldValue?.cancel() } }
    private var staleTimer: Timer? { didSet { oldValue?.cancel() } }
    /// Keeps the lease while the source is slow.
    private var renewal: Timer? { didSet { oldValue?.cancel() } }
    /// Whether it was announced to readers that the source is silent.
    private var isAnnouncedStale = false
    /// Why the last fetch failed, for those who may know.
    let failureDetail = Locked("")
    /// How many fetches in a row were overtaken by edits.
    private var overtakings = 0

    private enum Phase { case idle, acquiring, fetching }

    /// A fetch that is under way.
    private struct Attempt {
        /// The list's name in the file.
        let list: String
        let every: Duration
        let time = Instant.now
    }

    private struct Waiter {
        /// Whether there is no session yet, so that a failed fetch is a failure for whoever waits.
        var needsSession: Bool
        /// Whether it takes a fetch of its own, and not one that another node has made.
        var isForced = false
        var promise: Promise<Void, SourceFailure>
    }

    /// Until the lease is asked for again after the store has failed.
    private static let patience = Duration.seconds(1)
    /// Until a node tries again to take the lease from another one: if somebody waits, and if nobody does.
    private static let retry = (soon: Duration.milliseconds(50), late: Duration.seconds(1))
    /// How long a lease lasts without word from its holder, who may have died: an interval, within these bounds.
    private static let hold = (least: Duration.seconds(1), most: Duration.seconds(3))
    private static let maxOvertakings = 3

    init(_ name: String, _ upstream: Upstream, every interval: Duration) {
        (self.name, self.upstream) = (name, upstream)
        known = Locked(SourceRecord(every: interval, at: .now))
    }

    private var loop: EventLoop { upstream.loop }
    private var store: any SessionStore { upstream.service.store }
    private var slot: SessionSlot? { store.table.anySlot(name) }
    private var hasReaders: Bool { (slot?.readerCount ?? 0) > 0 }

    // MARK: From any thread

    /// The seconds since the source was last heard of, if that is too long ago.
    var staleness: Int? { known.withLock { $0 }.staleness(at: .now) }

    /// The last success.
    var fetched: Instant? { known.withLock { $0.fetched } }

    /// Whether somebody waits for the session, or asked for it just now.
    var isInUse: Bool {
        isBusy.load(ordering: .relaxed) || hasReaders || Instant.now - used.withLock { $0 } < .seconds(1)
    }

    /// Whether nobody has asked for the session in a while.
    func isIdle(at now: Instant) -> Bool {
        let (due, since) = (known.withLock { $0.due }, used.withLock { $0 })
        return now > due && now - since > .seconds(60) && !isBusy.load(ordering: .relaxed) && !hasReaders
    }

    /// What a reader has to wait for before it is answered; nil for nothing.
    ///
    /// - Parameters:
    ///   - isThere: whether there is a session.
    ///   - patience: the longest that the reader waits if there is.
    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>? {
        let (now, known) = (Instant.now, known.withLock { $0 })
        used.withLock { $0 = now }
        if sessionExists {
            // While the source fails, readers get what there is.
            if known.isFresh(at: now) || known.outcome == .failed && known.nextTry(isSole: store.isSole) > now {
                return nil
            }
        } else if known.due > now, let failure = failure(known, at: now) {
            return .done(.failure(failure))
        }
        let promise = Promise<Void, SourceFailure>()
        let waiter = Waiter(needsSession: !sessionExists, promise: promise)
        loop.execute { [self] in
            waiting.append(waiter)
            if sessionExists { loop.schedule(after: patience) { self.stopWaiting(promise) } }
            ask(isForced: false)
        }
        return .pending(promise)
    }

    /// Asks the source now, however recently it was asked.
    func fetch() -> Progress<Void, SourceFailure> {
        used.withLock { $0 = .now }
        let promise = Promise<Void, SourceFailure>()
        let waiter = Waiter(needsSession: true, isForced: true, promise: promise)
        loop.execute { [self] in
            if phase == .idle {
                waiting.append(waiter)
                ask(isForced: true)
            } else {
                nextWaiting.append(waiter)
            }
        }
        return .pending(promise)
    }

    /// From now on, somebody waits for the session.
    func readersArrived() {
        used.withLock { $0 = .now }
        loop.execute { [self] in
            if staleTimer == nil { watchStaleness() }
            if phase == .idle, timer == nil { schedule() }
        }
    }

    /// The file was read again, and says something else of the list.
    func settingsChanged() {
        loop.execute { [self] in
            let every = upstream.match(name)?.definition.source?.every
            known.withLock { $0.invalidate(every: every ?? $0.interval, at: .now) }
            if phase == .idle, hasReaders { ask(isForced: true) }
        }
    }

    // MARK: Time

    private func schedule() {
        timer = nil
        guard hasReaders else { return }
        let next = known.withLock { $0 }.nextTry(isSole: store.isSole)
        timer = loop.schedule(after: max(next - .now, .zero)) { [weak self] in
            guard let self else { return }
            timer = nil
            // Without readers the source is left alone.
            if phase == .idle, hasReaders { ask(isForced: false) }
        }
    }

    /// Tells readers once that the source is silent, and once that it is heard again.
    private func watchStaleness() {
        staleTimer = nil
        let record = known.withLock { $0 }
        let isStale = record.staleness(at: .now) != nil
        if isStale != isAnnouncedStale, let slot {
            isAnnouncedStale = isStale
            slot.sourceChanged()
        }
        guard !isStale, hasReaders else { return }
        staleTimer = loop.schedule(after: record.staleAt - .now) { [weak self] in self?.watchStaleness() }
    }

    // MARK: The lease

    private func ask(isForced: Bool) {
        guard phase == .idle else { return }
        timer = nil
        guard let match = upstream.match(name), let source = match.definition.source, let url = match.sourceURL else {
            return end(.failure(.missing))
        }
        phase = .acquiring
        known.withLock { $0.begin(from: match.origin(by: store.hash), every: source.every, at: .now) }
        store.acquireLease(.source, of: name, for: hold, isForced: isForced, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                switch result {
                case .success(.acquired(let note)):
                    adopt(note)
                    if !isForced, known.withLock({ $0.isTooEarly(at: .now) }) { return releaseFailed() }
                    request(source, at: url, as: match.definition)
                case .success(let other): wait(for: other)
                case .failure(let failure):
                    known.withLock { $0.wait(until: .now + Self.patience) }
                    end(.failure(.store(failure)))
                }
            }
        }
    }

    private func adopt(_ note: SourceNote?) {
        guard let note else { return }
        update { $0.adopt(note, at: .now) }
        if note.failures == 0 { upstream.outages.forget(name) }
        watchStaleness()
    }

    /// Updates what is known. Readers who came while the source was silent learnt that from their first answer, so that
    /// all have to be told when it is over.
    private func update(_ step: (inout SourceRecord) -> Void) {
        let wasStale = known.withLock { record in
            defer { step(&record) }
            return record.staleness(at: .now) != nil
        }
        if wasStale, staleness == nil { isAnnouncedStale = true }
    }

    /// The lease is another node's, or not due.
    private func wait(for lease: SourceLease) {
        phase = .idle
        adopt(lease.note)
        switch lease {
        case .acquired: preconditionFailure("the lease is this node's")
        case .busy:
            // Soon, if somebody waits for the answer; otherwise when it should be there.
            known.withLock {
                $0.wait(until: .now + (waiting.isEmpty ? min($0.interval / 4, Self.retry.late) : Self.retry.soon))
            }
            if waiting.isEmpty { return schedule() }
            let isForced = waiting.contains(where: \.isForced)
            timer = loop.schedule(after: Self.retry.soon) { [weak self] in
                self?.timer = nil
                self?.ask(isForced: isForced)
            }
        case .notDue(_, let time):
            known.withLock { $0.wait(until: .now + time) }
            let known = known.withLock { $0 }
            if let note = lease.note, known.isForeign(note), hasReaders || !waiting.isEmpty {
                return ask(isForced: true)
            }
            guard waiting.contains(where: \.needsSession) else { return end(.success(())) }
            if let failure = failure(known, at: .now) { return end(.failure(failure)) }
            fetchIfMissing()
        }
    }

    /// Another node's fetch succeeded: there is a session, unless it has been deleted since.
    private func fetchIfMissing() {
        phase = .acquiring
        store.load(name, again: false, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                phase = .idle
                if case .success(nil) = result { ask(isForced: true) } else { end(.success(())) }
            }
        }
    }

    private var hold: Duration { min(max(known.withLock { $0.interval }, Self.hold.least), Self.hold.most) }

    private func renew() {
        guard !store.isSole else { return }
        renewal = loop.schedule(after: hold / 3) { [weak self] in
            guard let self, phase == .fetching else { return }
            store.acquireLease(.source, of: name, for: hold, isForced: false, on: loop).whenDone { _ in }
            renew()
        }
    }

    // MARK: The fetch

    private func request(_ source: ListDefinition.Source, at url: String, as definition: ListDefinition) {
        phase = .fetching
        renew()
        used.withLock { $0 = .now }
        let (base, record) = (slot?.revision, known.withLock { $0 })
        let attempt = Attempt(list: definition.name.text, every: source.every)
        let isConditional = base != nil && record.revision == base?.text && record.validators != SourceValidators()
        let fetch = SourceFetch(
            session: name, definition: definition, base: base, validators: isConditional ? record.validators : nil,
            upstream: upstream)
        fetch.start(source, at: url) { [self] in
            update { $0.noteAnswer(at: .now) }
        } done: { [self] outcome in
            switch outcome {
            case .succeeded(let answer, let revision): succeed(answer, at: revision, attempt)
            case .missing: noteMissing(attempt)
            case .failed(let reason, let retryAfter): fail(reason, retryAfter: retryAfter, attempt)
            case .unusable(let problem):
                // Readers that were answered meanwhile took the source to be back.
                isAnnouncedStale = false
                fail(
                    "its answer is unusable: \(problem.outline)",
                    detail: "its answer is unusable: \(problem.summary)", attempt)
            case .overtaken: overtaken(attempt)
            case .outdated: startOver()
            }
        }
    }

    // MARK: What came of it

    private func succeed(_ answer: Transfer.Answer, at revision: Revision?, _ attempt: Attempt) {
        overtakings = 0
        let wasFailing = known.withLock { $0.failures > 0 }
        update { $0.succeed(answer, every: attempt.every, revision: revision?.text, asked: attempt.time, at: .now) }
        upstream.tallies.count(.fetched, attempt.list)
        if wasFailing { upstream.outages.end(name, of: attempt.list) }
        releaseLease(.success(()))
    }

    /// - Parameters:
    ///   - reason: for the log.
    ///   - detail: for those who may read the source's answers, if there is more to say.
    private func fail(_ reason: String, detail: String? = nil, retryAfter: Int? = nil, _ attempt: Attempt) {
        let isFirst = known.withLock { record in
            record.fail(every: attempt.every, retryAfter: retryAfter, jitter: .random(in: 0...1), at: .now)
            return record.failures == 1
        }
        upstream.tallies.count(.failed, attempt.list)
        failureDetail.withLock { $0 = detail ?? reason }
        // Once per outage, not per try.
        if isFirst { upstream.outages.begin(name, of: attempt.list, because: reason) }
        releaseFailed()
    }

    private func releaseFailed() {
        releaseLease(.failure(failure(known.withLock { $0 }, at: .now) ?? .missing))
    }

    private func noteMissing(_ attempt: Attempt) {
        known.withLock { $0.noteMissing(at: .now) }
        upstream.tallies.count(.missing, attempt.list)
        releaseLease(.failure(.missing))
    }

    /// The list was edited while its source was asked, and the answer may not know the edits.
    private func overtaken(_ attempt: Attempt) {
        overtakings += 1
        guard overtakings < Self.maxOvertakings else {
            overtakings = 0
            return fail("it answers more slowly than the session is edited", attempt)
        }
        known.withLock { $0.forgetState(at: .now) }
        startOver()
    }

    /// Asks again, since the answer cannot be used.
    private func startOver() {
        // A session that was deleted meanwhile is made again when it is read next.
        guard hasReaders || !waiting.isEmpty || !nextWaiting.isEmpty else { return releaseLease(.success(())) }
        renewal = nil
        phase = .idle
        ask(isForced: true)
    }

    /// Ends the lease, and then tells those who wait.
    private func releaseLease(_ result: Result<Void, SourceFailure>) {
        renewal = nil
        let (now, record) = (Instant.now, known.withLock { $0 })
        let next = max(record.due - now, .zero)
        store.releaseLease(.source, of: name, record.note(at: now), next: next, on: loop).whenDone { [self] _ in
            // Not sooner: until now the lease is this node's, and cannot be taken.
            loop.perform { [self] in end(result) }
        }
    }

    private func end(_ result: Result<Void, SourceFailure>) {
        phase = .idle
        let finished = exchange(&waiting, with: exchange(&nextWaiting, with: []))
        for waiter in finished { waiter.promise.keep(waiter.needsSession ? result : .success(())) }
        watchStaleness()
        if waiting.isEmpty { schedule() } else { ask(isForced: true) }
    }

    /// Releases a reader whose patience is at its end.
    private func stopWaiting(_ promise: Promise<Void, SourceFailure>) {
        guard let index = waiting.firstIndex(where: { $0.promise === promise }) else { return }
        waiting.remove(at: index).promise.keep(.success(()))
    }

    /// What a reader is told if there is no session.
    private func failure(_ record: SourceRecord, at now: Instant) -> SourceFailure? {
        switch record.outcome {
        case nil, .fetched: return nil
        case .missing: return .missing
        case .failed:
            let seconds = Int(((record.due - now) / .seconds(1)).rounded(.up))
            return .unavailable(retryAfter: max(1, seconds))
        }
    }
}
