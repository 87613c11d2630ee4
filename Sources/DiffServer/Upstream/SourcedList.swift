import HTTPCore
import SnapshotKit
import Synchronization

/// One list that fetches itself: asks its source while somebody waits for the session, or reads it, and puts what
/// comes in the session's place.
///
/// Any thread may ask what is known, or for a fetch; everything else is confined to the loop of its `Upstream`.
final class SourcedList: @unchecked Sendable {
    let name: String
    private let upstream: Upstream
    /// What is known, for all threads; written on the loop alone.
    private let known: Locked<SourceRecord>
    /// When somebody last asked for it.
    private let used = Locked(Instant.now)
    private var phase = Phase.idle { didSet { isBusy.store(phase != .idle, ordering: .relaxed) } }
    private let isBusy = Atomic<Bool>(false)
    /// Who waits for what the request comes to that is under way, or is about to be.
    private var waiting: [Waiter] = []
    /// Who came while a request was under way, and wants one that begins after that.
    private var later: [Waiter] = []
    /// Until the source is asked again, or this node looks again whether it is its turn.
    private var timer: Timer? { didSet { oldValue?.cancel() } }
    private var staleTimer: Timer? { didSet { oldValue?.cancel() } }
    /// Keeps the turn while the source is slow.
    private var renewal: Timer? { didSet { oldValue?.cancel() } }
    /// Whether readers were told that nothing is heard of the source.
    private var isToldStale = false
    /// Why the last request failed, for those who may know.
    let obstacle = Locked("")
    /// How often in a row what came was overtaken by somebody else.
    private var overtakings = 0

    private enum Phase { case idle, taking, asking }

    /// Somebody who waits, and what for.
    private struct Waiter {
        /// Whether there has to be a session: then a failure is one for them.
        var needsSession: Bool
        /// Whether what another node was answered before is not good enough.
        var isForced = false
        var promise: Promise<Void, Problem>
    }

    /// The longest that a reader waits who could be answered with what there is.
    static let patience = Duration.seconds(1)
    /// Until a node looks again whether another one has been answered, where somebody waits for that and where nobody
    /// does.
    private static let look = (soon: Duration.milliseconds(50), late: Duration.seconds(1))
    /// How long a turn is held without word from its holder, who may have died: as long as the interval, within these.
    private static let hold = (least: Duration.seconds(1), most: Duration.seconds(3))
    private static let mostOvertakings = 3

    init(_ name: String, _ upstream: Upstream, every interval: Duration) {
        (self.name, self.upstream) = (name, upstream)
        known = Locked(SourceRecord(every: interval, at: .now))
    }

    private var loop: EventLoop { upstream.loop }
    private var store: any SessionStore { upstream.service.store }
    private var slot: SessionSlot? { store.table.anySlot(name) }
    private var hasReaders: Bool { (slot?.readerCount ?? 0) > 0 }

    // MARK: From any thread

    /// For how many seconds nothing was heard of the source, if that is too long.
    var staleness: Int? { known.withLock { $0 }.staleness(at: .now) }

    /// The last success.
    var fetched: Instant? { known.withLock { $0.fetched } }

    /// Whether somebody waits for the session, or has asked for it just now.
    var isInUse: Bool {
        isBusy.load(ordering: .relaxed) || hasReaders || Instant.now - used.withLock { $0 } < .seconds(1)
    }

    /// Whether nobody has asked for it in a while.
    func isIdle(at now: Instant) -> Bool {
        let (due, since) = (known.withLock { $0.due }, used.withLock { $0 })
        return now > due && now - since > .seconds(60) && !isBusy.load(ordering: .relaxed) && !hasReaders
    }

    /// What a reader has to wait for before it is answered; nil if it need not.
    ///
    /// - Parameters:
    ///   - isThere: whether there is a session.
    ///   - patience: how long it waits then.
    func readiness(isThere: Bool, patience: Duration) -> Progress<Void, Problem>? {
        let (now, known) = (Instant.now, known.withLock { $0 })
        used.withLock { $0 = now }
        if isThere {
            // While it fails, readers are answered with what there is.
            if known.isFresh(at: now) || known.due > now && known.outcome == .failed { return nil }
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

    /// Asks the source now, whenever it was asked last.
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

    /// Somebody waits for the session from now on.
    func readersCame() {
        used.withLock { $0 = .now }
        loop.execute { [self] in
            if staleTimer == nil { watchStaleness() }
            if phase == .idle, timer == nil { schedule() }
        }
    }

    /// Goes on by another file.
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
        let record = known.withLock { $0 }
        var left = max(record.due - .now, .zero)
        // Another node may hear of a source that was silent before it is this one's turn.
        if record.outcome == .failed, !store.isSole { left = min(left, max(record.interval, Self.look.late)) }
        timer = loop.schedule(after: left) { [weak self] in
            self?.timer = nil
            self?.turnComes()
        }
    }

    private func turnComes() {
        // Where nobody looks, nobody is asked.
        if phase == .idle, hasReaders { ask(isForced: false) }
    }

    /// Tells readers once that nothing is heard of the source, and once that something is again.
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
        if note.failures == 0 { upstream.outages.forget(name, of: upstream.match(name)?.definition.name.text) }
        watchStaleness()
    }

    /// Takes over what is known now. Readers who came while the source was silent were told so with what they were
    /// answered first, so all hear when that is over.
    private func learn(_ step: (inout SourceRecord) -> Void) {
        let wasStale = known.withLock { record in
            defer { step(&record) }
            return record.staleness(at: .now) != nil
        }
        if wasStale, staleness == nil { isToldStale = true }
    }

    /// It is another node's turn, or nobody's.
    private func wait(for turn: SourceTurn) {
        phase = .idle
        adopt(turn.note)
        switch turn {
        case .taken: preconditionFailure("the turn is this node's")
        case .busy:
            // Those who wait for the answer look again soon; the others when it should be there.
            known.withLock {
                $0.wait(until: .now + (waiting.isEmpty ? min($0.interval / 4, Self.look.late) : Self.look.soon))
            }
            if waiting.isEmpty { schedule() } else { lookAgain(isForced: waiting.contains(where: \.isForced)) }
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

    /// Another node was answered: there is a session now, or it was deleted since.
    private func askIfThereIsNone() {
        phase = .taking
        store.load(name, again: false, on: loop).whenDone { [self] result in
            loop.perform { [self] in
                phase = .idle
                if case .success(nil) = result { ask(isForced: true) } else { end(.success(())) }
            }
        }
    }

    private func lookAgain(isForced: Bool) {
        timer = loop.schedule(after: Self.look.soon) { [weak self] in
            self?.timer = nil
            self?.ask(isForced: isForced)
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

    // MARK: The source

    private func request(_ source: ListDefinition.Source, at url: String, as definition: ListDefinition) {
        phase = .asking
        renew()
        used.withLock { $0 = .now }
        let (asked, base) = (Instant.now, slot?.revision)
        var request = Transfer.Request(source, at: url, maxBytes: upstream.service.options.maxBodyBytes)
        let record = known.withLock { $0 }
        let isConditional = base != nil && record.revision == base?.text && record.validators != SourceValidators()
        if isConditional {
            if let etag = record.validators.etag { request.fields.append(Field("If-None-Match", etag)) }
            if let date = record.validators.lastModified { request.fields.append(Field("If-Modified-Since", date)) }
        }
        upstream.transfers.start(request) { [self] result in
            let answer: Transfer.Answer
            switch result {
            case .failure(let failure): return fail(failure.reason, definition)
            case .success(let found): answer = found
            }
            upstream.tallies.count(answer, definition.name.text)
            guard upstream.match(name)?.definition == definition else { return startOver() }
            switch answer.status {
            case 200: take(answer, asked, base, definition)
            case 304 where isConditional: succeed(answer, asked, at: base, definition)
            case 404 where base == nil, 410 where base == nil: miss(definition)
            default: fail("it answered \(answer.status)", retryAfter: answer.retryAfter, definition)
            }
        }
    }

    private func take(_ answer: Transfer.Answer, _ asked: Instant, _ base: Revision?, _ definition: ListDefinition) {
        let options = upstream.service.options
        let settings = definition.settings.applied(to: options.defaultSettings)
        var answer = answer
        let length = answer.body.count
        let body = PostedBody(
            StateDocument(exchange(&answer.body, with: [])),
            PostedBody.Rules(shape: settings.shape ?? .native, limits: options.stateLimits, defaults: settings))
        let errand = FetchErrand(name, upstream)
        // Large ones are read by a worker; the answer, and so its share of memory, stays until it is committed.
        errand.isLong = length > DiffService.largeBody
        let operation = AdoptSource(body, base: base, settings: settings)
        let answered = answer
        learn { $0.hear(at: .now) }
        let begin = { @Sendable [self] in
            Transaction(operation, for: errand).run().whenDone { [self] result in
                loop.perform { [self] in
                    switch result {
                    case .success(let done):
                        switch done.outcome {
                        case .adopted(let session): succeed(answered, asked, at: session.head.revision, definition)
                        case .overtaken: overtaken(definition)
                        }
                    case .failure(let problem):
                        // Who looked meanwhile took the source to be back.
                        isToldStale = false
                        fail("its answer is unusable: \(problem.summary)", definition)
                    }
                }
            }
        }
        if errand.isLong { upstream.service.workers.run(begin) } else { begin() }
    }

    // MARK: What came of it

    private func succeed(
        _ answer: Transfer.Answer, _ asked: Instant, at revision: Revision?, _ definition: ListDefinition
    ) {
        overtakings = 0
        let wasFailing = known.withLock { $0.failures }
        learn {
            $0.succeed(
                answer, every: definition.source?.every ?? $0.interval, revision: revision?.text, asked: asked,
                at: .now)
        }
        upstream.tallies.count(.fetched, definition.name.text)
        if wasFailing > 0 { upstream.outages.end(name, definition, upstream.service.journal) }
        giveBack(.success(()))
    }

    private func fail(_ reason: String, retryAfter: Int? = nil, _ definition: ListDefinition) {
        let isFirst = known.withLock { record in
            record.fail(
                every: definition.source?.every ?? record.interval, retryAfter: retryAfter,
                jitter: .random(in: 0...1), at: .now)
            return record.failures == 1
        }
        upstream.tallies.count(.failed, definition.name.text)
        obstacle.withLock { $0 = reason }
        // Once an outage, not once a try.
        if isFirst { upstream.outages.begin(name, definition, because: reason, upstream.service.journal) }
        giveBack(.failure(problem(known.withLock { $0 }, at: .now) ?? .noSession(name)))
    }

    private func miss(_ definition: ListDefinition) {
        known.withLock { $0.miss(at: .now) }
        upstream.tallies.count(.missing, definition.name.text)
        giveBack(.failure(.noSession(name)))
    }

    /// Somebody edited the list while its source was asked: what it answered may know nothing of that.
    private func overtaken(_ definition: ListDefinition) {
        overtakings += 1
        guard overtakings < Self.mostOvertakings else {
            overtakings = 0
            return fail("the session is edited faster than it answers", definition)
        }
        known.withLock { $0.forgetState(at: .now) }
        startOver()
    }

    /// Asks again, since what was answered is of no use.
    private func startOver() {
        // One that was deleted meanwhile is made again by who reads it next.
        guard hasReaders || !waiting.isEmpty || !later.isEmpty else { return giveBack(.success(())) }
        renewal = nil
        phase = .idle
        ask(isForced: true)
    }

    /// Lets the next one have the turn when it is due, and tells those who wait.
    private func giveBack(_ result: Result<Void, Problem>) {
        renewal = nil
        let (now, record) = (Instant.now, known.withLock { $0 })
        let next = max(record.due - now, .zero)
        store.endTurn(.source, of: name, record.note(at: now), next: next, on: loop).whenDone { [self] _ in
            // Before others could take the turn it would still be this node's, and nobody else's.
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

    /// Lets a reader go on that has waited long enough.
    private func release(_ promise: Promise<Void, Problem>) {
        guard let index = waiting.firstIndex(where: { $0.promise === promise }) else { return }
        waiting.remove(at: index).promise.keep(.success(()))
    }

    /// What a reader is told where there is no session.
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

extension Transfer.Request {
    /// Asks a source for its list.
    init(_ source: ListDefinition.Source, at url: String, maxBytes: Int) {
        var fields = source.headers.map { Field($0.name, $0.value) }
        if !fields.contains(where: { $0.name.lowercased() == "accept" }) {
            fields.append(Field("Accept", "application/json, */*;q=0.1"))
        }
        self.init(url: url, fields: fields, timeout: source.timeout, maxBytes: maxBytes, maxRedirects: 5)
    }
}
