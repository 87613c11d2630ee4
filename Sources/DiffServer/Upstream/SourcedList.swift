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
    /// Who waits for the fetch that is under way, or about to be.
    private var waiting: [Waiter] = []
    /// Who came during a fetch, and wants one that begins later.
    private var later: [Waiter] = []
    /// Until the source is asked again, or this node tries again to take its turn.
    private var timer: Timer? { didSet { oldValue?.cancel() } }
    private var staleTimer: Timer? { didSet { oldValue?.cancel() } }
    /// Keeps the turn while the source is slow.
    private var renewal: Timer? { didSet { oldValue?.cancel() } }
    /// Whether readers were told that the source is silent.
    private var isToldStale = false
    /// Why the last fetch failed, for those who may know.
    let obstacle = Locked("")
    /// How many fetches in a row were overtaken by edits.
    private var overtakings = 0

    private enum Phase { case idle, taking, asking }

    /// A fetch that is under way.
    private struct Asked {
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
        var promise: Promise<Void, Problem>
    }

    /// The longest that a reader waits for a fetch if there is something to answer without it.
    static let patience = Duration.seconds(1)
    /// Until a node tries again to take the turn from another one: if somebody waits, and if nobody does.
    private static let retry = (soon: Duration.milliseconds(50), late: Duration.seconds(1))
    /// How long a turn lasts without word from its holder, who may have died: an interval, within these bounds.
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
    func readiness(isThere: Bool, patience: Duration) -> Progress<Void, Problem>? {
        let (now, known) = (Instant.now, known.withLock { $0 })
        used.withLock { $0 = now }
        if isThere {
            // While the source fails, readers get what there is.
            if known.isFresh(at: now) || known.outcome == .failed && known.nextTry(isSole: store.isSole) > now {
                return nil
            }
        } else if known.due > now, let problem = problem(known, at: now) {
            return .done(.failure(problem))
        }
        let promise = Promise<Void, Problem>()
        let waiter = Waiter(needsSession: !isThere, promise: promise)
        loop.execute { [self] in
            waiting.append(waiter)
            if isThere { loop.schedule(after: patience) { self.release(promise) } }
            ask(isForced: false)
        }
        return .pending(promise)
    }

    /// Asks the source now, however recently it was asked.
    func fetch() -> Progress<Void, Problem> {
        used.withLock { $0 = .now }
        let promise = Promise<Void, Problem>()
        let waiter = Waiter(needsSession: true, isForced: true, promise: promise)
        loop.execute { [self] in
            if phase == .idle {
                waiting.append(waiter)
                ask(isForced: true)
            } else {
                later.append(waiter)
            }
        }
        return .pending(promise)
    }

    /// From now on, somebody waits for the session.
    func readersCame() {
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
            known.withLock { $0.outdate(every: every ?? $0.interval, at: .now) }
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
        if isStale != isToldStale, let slot {
            isToldStale = isStale
            slot.sourceChanged()
        }
        guard !isStale, hasReaders else { return }
        staleTimer = loop.schedule(after: record.staleAt - .now) { [weak self] in self?.watchStaleness() }
    }

    // MARK: The turn

    private func ask(isForced: Bool) {
        guard phase == .idle else { return }
        timer = nil
        guard let match = upstream.match(name), let source = match.definition.source, let url = match.sourceURL else {
            return end(.failure(.noSession(name)))
        }
        phase = .taking
        known.withLock { $0.begin(from: match.origin(by: store.hash), every: source.every, at: .now) }
        store.takeTurn(.source, of: name, for: hold, isForced: isForced, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                switch result {
                case .success(.taken(let note)):
                    adopt(note)
                    if !isForced, known.withLock({ $0.isTooEarly(at: .now) }) { return giveBackFailed() }
                    request(source, at: url, as: match.definition)
                case .success(let other): wait(for: other)
                case .failure(let failure):
                    known.withLock { $0.wait(until: .now + Self.patience) }
                    end(.failure(Problem(failure)))
                }
            }
        }
    }

    private func adopt(_ note: SourceNote?) {
        guard let note else { return }
        learn { $0.adopt(note, at: .now) }
        if note.failures == 0 { upstream.outages.forget(name) }
        watchStaleness()
    }

    /// Updates what is known. Readers who came while the source was silent learnt that from their first answer, so that
    /// all have to be told when it is over.
    private func learn(_ step: (inout SourceRecord) -> Void) {
        let wasStale = known.withLock { record in
            defer { step(&record) }
            return record.staleness(at: .now) != nil
        }
        if wasStale, staleness == nil { isToldStale = true }
    }

    /// The turn is another node's, or not due.
    private func wait(for turn: SourceTurn) {
        phase = .idle
        adopt(turn.note)
        switch turn {
        case .taken: preconditionFailure("the turn is this node's")
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
            if let note = turn.note, known.isForeign(note), hasReaders || !waiting.isEmpty {
                return ask(isForced: true)
            }
            guard waiting.contains(where: \.needsSession) else { return end(.success(())) }
            if let problem = problem(known, at: .now) { return end(.failure(problem)) }
            askIfThereIsNone()
        }
    }

    /// Another node's fetch succeeded: there is a session, unless it has been deleted since.
    private func askIfThereIsNone() {
        phase = .taking
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
            guard let self, phase == .asking else { return }
            store.takeTurn(.source, of: name, for: hold, isForced: false, on: loop).whenDone { _ in }
            renew()
        }
    }

    // MARK: The fetch

    private func request(_ source: ListDefinition.Source, at url: String, as definition: ListDefinition) {
        phase = .asking
        renew()
        used.withLock { $0 = .now }
        let (base, record) = (slot?.revision, known.withLock { $0 })
        let asked = Asked(list: definition.name.text, every: source.every)
        let isConditional = base != nil && record.revision == base?.text && record.validators != SourceValidators()
        let fetch = SourceFetch(
            session: name, definition: definition, base: base, validators: isConditional ? record.validators : nil,
            upstream: upstream)
        fetch.start(source, at: url) { [self] in
            learn { $0.hear(at: .now) }
        } done: { [self] outcome in
            switch outcome {
            case .succeeded(let answer, let revision): succeed(answer, at: revision, asked)
            case .missing: miss(asked)
            case .failed(let reason, let retryAfter): fail(reason, retryAfter: retryAfter, asked)
            case .unusable(let problem):
                // Readers that were answered meanwhile took the source to be back.
                isToldStale = false
                fail(
                    "its answer is unusable: \(problem.outline)",
                    detail: "its answer is unusable: \(problem.summary)", asked)
            case .overtaken: overtaken(asked)
            case .outdated: startOver()
            }
        }
    }

    // MARK: What came of it

    private func succeed(_ answer: Transfer.Answer, at revision: Revision?, _ asked: Asked) {
        overtakings = 0
        let wasFailing = known.withLock { $0.failures > 0 }
        learn { $0.succeed(answer, every: asked.every, revision: revision?.text, asked: asked.time, at: .now) }
        upstream.tallies.count(.fetched, asked.list)
        if wasFailing { upstream.outages.end(name, of: asked.list) }
        giveBack(.success(()))
    }

    /// - Parameters:
    ///   - reason: for the log.
    ///   - detail: for those who may read the source's answers, if there is more to say.
    private func fail(_ reason: String, detail: String? = nil, retryAfter: Int? = nil, _ asked: Asked) {
        let isFirst = known.withLock { record in
            record.fail(every: asked.every, retryAfter: retryAfter, jitter: .random(in: 0...1), at: .now)
            return record.failures == 1
        }
        upstream.tallies.count(.failed, asked.list)
        obstacle.withLock { $0 = detail ?? reason }
        // Once per outage, not per try.
        if isFirst { upstream.outages.begin(name, of: asked.list, because: reason) }
        giveBackFailed()
    }

    private func giveBackFailed() {
        giveBack(.failure(problem(known.withLock { $0 }, at: .now) ?? .noSession(name)))
    }

    private func miss(_ asked: Asked) {
        known.withLock { $0.miss(at: .now) }
        upstream.tallies.count(.missing, asked.list)
        giveBack(.failure(.noSession(name)))
    }

    /// The list was edited while its source was asked, and the answer may not know the edits.
    private func overtaken(_ asked: Asked) {
        overtakings += 1
        guard overtakings < Self.maxOvertakings else {
            overtakings = 0
            return fail("the session is edited faster than it answers", asked)
        }
        known.withLock { $0.forgetState(at: .now) }
        startOver()
    }

    /// Asks again, since the answer cannot be used.
    private func startOver() {
        // A session that was deleted meanwhile is made again when it is read next.
        guard hasReaders || !waiting.isEmpty || !later.isEmpty else { return giveBack(.success(())) }
        renewal = nil
        phase = .idle
        ask(isForced: true)
    }

    /// Ends the turn, and then tells those who wait.
    private func giveBack(_ result: Result<Void, Problem>) {
        renewal = nil
        let (now, record) = (Instant.now, known.withLock { $0 })
        let next = max(record.due - now, .zero)
        store.endTurn(.source, of: name, record.note(at: now), next: next, on: loop).whenDone { [self] _ in
            // Not sooner: until now the turn is this node's, and cannot be taken.
            loop.perform { [self] in end(result) }
        }
    }

    private func end(_ result: Result<Void, Problem>) {
        phase = .idle
        let told = exchange(&waiting, with: exchange(&later, with: []))
        for waiter in told { waiter.promise.keep(waiter.needsSession ? result : .success(())) }
        watchStaleness()
        if waiting.isEmpty { schedule() } else { ask(isForced: true) }
    }

    /// Releases a reader whose patience is at its end.
    private func release(_ promise: Promise<Void, Problem>) {
        guard let index = waiting.firstIndex(where: { $0.promise === promise }) else { return }
        waiting.remove(at: index).promise.keep(.success(()))
    }

    /// What a reader is told if there is no session.
    private func problem(_ record: SourceRecord, at now: Instant) -> Problem? {
        switch record.outcome {
        case nil, .fetched: return nil
        case .missing: return .noSession(name)
        case .failed:
            let seconds = Int(((record.due - now) / .seconds(1)).rounded(.up))
            return Problem(
                .sourceUnavailable, "the source of this list does not answer with a list", retryAfter: max(1, seconds))
        }
    }
}
