import DiffService
import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// One list, or one section of a list, that is fetched from a source: carries out the decisions of its `SourceLife`.
/// Any thread may query it or request a fetch; everything else is confined to the loop of its `Upstream`.
final class SourcedList: @unchecked Sendable {
    let name: SourceName
    private let upstream: Upstream
    /// Read by any thread. Changed on the loop, except for `used`.
    private let life: Locked<SourceLife>
    /// The promises to waiters, by their ids in `life`.
    private var promises: [Int: Promise<[StateWarning], SourceFailure>] = [:]
    /// Keeps a list that is no longer followed alive until it has no waiters.
    private var held: SourcedList?
    private var arrivals = 0
    private var timer = LifeTimer()
    /// The `traceparent` of the newest request for a fetch.
    private var trace: String?

    init(_ name: SourceName, _ upstream: Upstream, every interval: Duration) {
        (self.name, self.upstream) = (name, upstream)
        life = Locked(SourceLife(every: interval, at: .now))
    }

    private var loop: EventLoop { upstream.loop }
    private var store: any SessionStore { upstream.service.store }
    private var slot: SessionSlot? { store.table.anySlot(name.session) }
    private var hasReaders: Bool { (slot?.readerCount ?? 0) > 0 }

    // MARK: From any thread

    var staleness: Int? { life.withLock { $0.record.staleness(at: .now) } }

    var fetched: Instant? { life.withLock { $0.record.fetched } }

    var failureDetail: String { life.withLock { $0.failureDetail } }

    /// Whether the session has readers or waiters, or was asked for just now.
    var isInUse: Bool { hasReaders || life.withLock { $0.isBusy || Instant.now - $0.used < .seconds(1) } }

    /// Whether the session has not been asked for in a while.
    func isIdle(at now: Instant) -> Bool {
        life.withLock { !$0.isBusy && now > $0.record.due && now - $0.used > .seconds(60) } && !hasReaders
    }

    /// What a reader must wait for, at most for its patience if there is a session; nil for nothing.
    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>? {
        let (now, isSole) = (Instant.now, store.isSole)
        switch life.withLock({ $0.answer(sessionExists: sessionExists, isSole: isSole, at: now) }) {
        case .success: return nil
        case .failure(let failure): return .done(.failure(failure))
        case nil:
            return wait(needsSession: !sessionExists, until: sessionExists ? now + patience : nil).map { _ in }
        }
    }

    /// Asks the source now, however recently it was last asked.
    func fetch(tracedBy trace: String?) -> Progress<[StateWarning], SourceFailure> {
        life.withLock { $0.use(at: .now) }
        return wait(needsSession: true, isForced: true, tracedBy: trace)
    }

    private func wait(
        needsSession: Bool, isForced: Bool = false, tracedBy trace: String? = nil, until deadline: Instant? = nil
    ) -> Progress<[StateWarning], SourceFailure> {
        let promise = Promise<[StateWarning], SourceFailure>()
        loop.execute { [self] in
            arrivals += 1
            self.trace = trace ?? self.trace
            promises[arrivals] = promise
            happen(.arrived(.init(id: arrivals, needsSession: needsSession, isForced: isForced, deadline: deadline)))
        }
        return .pending(promise)
    }

    func readersArrived() {
        life.withLock { $0.use(at: .now) }
        loop.execute { self.happen(.readersArrived) }
    }

    /// The file was read again, and the list's entry has changed.
    func settingsChanged() { loop.execute { self.happen(.settingsChanged) } }

    // MARK: On the loop

    private func happen(_ event: SourceLife.Event) {
        let (slot, match) = (slot, upstream.match(name.session))
        let surroundings = SourceLife.Surroundings(
            now: .now,
            list: match.flatMap { match in
                match.definition.feed(of: name.section).map { feed in
                    (match.definition.name.text, feed.source.every, match.sourceHash(of: feed, by: store.hash))
                }
            },
            base: slot?.fetchBase.map { SourceBase($0.revision, $0.ground, name) },
            hasReaders: (slot?.readerCount ?? 0) > 0, hasSlot: slot != nil, isSole: store.isSole,
            jitter: .random(in: 0...1))
        let (actions, next) = life.withLock { ($0.happen(event, surroundings), $0.wake) }
        timer.set(next, on: loop) { [weak self] in
            self?.timer.rang()
            self?.happen(.woke)
        }
        for action in actions { perform(action) }
        held = promises.isEmpty ? nil : self
    }

    private func perform(_ action: SourceLife.Action) {
        let lease = name.text
        switch action {
        case .acquire(let isForced, let hold):
            store.acquireLease(.source, of: lease, for: hold, isForced: isForced, on: loop).whenDone { [self] result in
                loop.perform { self.happen(.leased(result)) }
            }
        case .renew(let hold):
            store.acquireLease(.source, of: lease, for: hold, isForced: false, on: loop).whenDone { _ in }
        case .look:
            store.load(name.session, again: false, on: loop).whenDone { [self] result in
                let isMissing = if case .success(let view) = result { lacksResult(view?.session) } else { false }
                loop.perform { self.happen(.looked(isMissing: isMissing)) }
            }
        case .fetch(let base, let validators): fetch(after: base, validators)
        case .release(let note, let next):
            store.releaseLease(.source, of: lease, note, next: next, on: loop).whenDone { [self] _ in
                loop.perform { self.happen(.released) }
            }
        case .finish(let waiter, let result): promises.removeValue(forKey: waiter)?.keep(result)
        case .announce: slot?.sourceChanged()
        case .count(let outcome, let list):
            upstream.tallies.count(outcome, SourceName(list, section: name.section))
        case .beginOutage(let reason, let list): upstream.outages.begin(name, of: list, because: reason)
        case .endOutage(let list): upstream.outages.end(name, of: list)
        case .forgetOutage: upstream.outages.forget(name)
        case .remove(let revision):
            // The file may fetch the session from elsewhere now.
            if upstream.match(name.session)?.definition.hasSource != true {
                upstream.remove(name.session, at: revision)
            }
        }
    }

    /// Whether there is no session, or none with the section as it was last fetched.
    private func lacksResult(_ session: Session?) -> Bool {
        guard let session, name.section != nil else { return session == nil }
        return life.withLock { $0.record.revision } != session.fetchGround.text
    }

    private func fetch(after base: SourceBase?, _ validators: SourceValidators?) {
        guard let match = upstream.match(name.session), let feed = match.definition.feed(of: name.section) else {
            return happen(.fetched(.outdated))
        }
        SourceFetch(name: name, match: match, feed: feed, base: base, validators: validators, upstream: upstream)
            .start(tracedBy: exchange(&trace, with: nil)) { self.happen($0) }
    }
}

/// What has a source: a session, or one of its sections; also a list of the file, in place of a session.
struct SourceName: Hashable, Sendable {
    let session: String
    let section: String?

    init(_ session: String, section: String? = nil) { (self.session, self.section) = (session, section) }

    /// Whether both are the same, by the bytes of their texts.
    func isSame(as other: SourceName) -> Bool { text.utf8.elementsEqual(other.text.utf8) }

    /// No session's name has a slash.
    var text: String { section.map { "\(session)/\($0)" } ?? session }

    /// The labels of a list's metrics. A section's id may need escapes (Prometheus's text format).
    var labels: String {
        guard let section else { return "list=\"\(session)\"" }
        let escaped = section.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "list=\"\(session)\",section=\"\(escaped)\""
    }
}

/// The timer of a value that says when to wake it. Confined to a loop.
struct LifeTimer {
    private var due: Instant?
    private var timer: Timer?

    mutating func set(_ wake: Instant?, on loop: EventLoop, _ woke: @escaping @Sendable () -> Void) {
        guard wake != due else { return }
        timer?.cancel()
        due = wake
        timer = wake.map { loop.schedule(after: max($0 - .now, .zero), woke) }
    }

    /// Notes that the timer has fired.
    mutating func rang() { (due, timer) = (nil, nil) }
}
