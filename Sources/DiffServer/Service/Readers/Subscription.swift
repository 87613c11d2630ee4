import DiffSessions
import DiffStores
import HTTPCore
import Synchronization

/// One of the readers of one session: does what its `ReaderMachine` decides. All but `isWoken` and constants is
/// confined to the reader's loop.
final class Subscription: SessionReader, @unchecked Sendable {
    let name: String
    private var machine: ReaderMachine
    /// With the current anchor of a window.
    private var options: ChangesOptions
    private let call: Call
    private let loop: EventLoop
    /// Until `leave`.
    private var subscriber: (any Subscriber)?
    private var slot: SessionSlot?
    /// Keeps the reader's view up to date.
    private var seen: MaterializedView?
    private var timer: Timer?
    private let isWoken = Atomic<Bool>(false)
    /// Whether the subscriber has been told that there is no session.
    private var isKnownMissing = false
    /// A held request waits only for the session.
    private let followsSource: Bool
    /// Whether the store has been asked since the request came: what is in memory may be older than what was
    /// acknowledged elsewhere before.
    private var isRead: Bool

    /// Its memory in bytes, without its slot and its view.
    static let footprint = 512

    init(
        _ call: Call, _ resume: ResumeRequest, _ purpose: ReaderMachine.Purpose, _ options: ChangesOptions,
        compared: ReaderState? = nil, for subscriber: any Subscriber, on loop: EventLoop
    ) {
        (self.call, name, self.options, self.subscriber, self.loop) = (call, resume.session, options, subscriber, loop)
        followsSource = purpose != .answer
        isRead = resume.isRead
        machine = ReaderMachine(
            purpose, resume, compared: compared, showsAll: options.projection.showsAll,
            isAdopted: options.form.dialect.isAdopted)
    }

    private var service: DiffService { call.service }

    /// What the reader has, if that differs from the request.
    var moved: Revision? { machine.hasMoved ? machine.since.revision : nil }

    // MARK: Life

    /// Registers with the session's slot, or with the one where it will appear. Returns why it could not.
    func join(at known: SessionSlot? = nil) -> Problem? {
        var known = known
        while true {
            guard let slot = known ?? service.table.slotToAwait(name, isAnonymous: isAnonymous) else {
                return Problem(.capacity, "too many readers are waiting for sessions that do not exist")
            }
            switch slot.add(self, limit: service.table.bounds.readers) {
            case .tooMany: return .tooManyReaders(service.table.bounds.readers / (isAnonymous ? 2 : 1))
            // The session has just been deleted.
            case .gone: known = nil
            case .added:
                self.slot = slot
                service.watch(slot)
                return nil
            }
        }
    }

    /// Compares the reader with the session as read before the subscription joined; nil if there was none.
    func begin(from view: SessionView?) {
        guard case .read = machine.handle(.ready(at: .now)) else { return }
        if slot?.revision != view?.session.head.revision { _ = read() } else { _ = found(view) }
    }

    func leave() {
        handle(.ended)
        forgetSlot()
        subscriber = nil
    }

    private func forgetSlot() {
        timer?.cancel()
        if let slot {
            service.table.remove(self, from: slot)
            service.watch(slot)
        }
        (timer, slot, seen) = (nil, nil, nil)
    }

    /// Waits again for the session. Returns why it could not.
    func restart() -> Problem? {
        forgetSlot()
        if let problem = join() { return problem }
        handle(.restarted)
        return nil
    }

    var isAnonymous: Bool { call.identity.isAnonymous }

    var isAdmitted: Bool { isAnonymous ? service.isKnownPublic(name) : service.access.knows(call.identity) }

    func sessionChanged() {
        guard !isWoken.exchange(true, ordering: .relaxed) else { return }
        loop.execute { [self] in
            isWoken.store(false, ordering: .relaxed)
            handle(.changed)
        }
    }

    func sourceChanged() { if followsSource { sessionChanged() } }

    func sessionEnded(_ end: SessionEnd) {
        let problem = isAnonymous && !isAdmitted ? .noCredentials : Problem(end, of: name)
        loop.execute { self.subscriber?.ended(self, problem) }
    }

    func storeChanged(leavingAfter time: Duration?) {
        sourceChanged()
        loop.execute { self.subscriber?.storeChanged(leavingAfter: time) }
    }

    func serverEnds(after time: Duration) { loop.execute { self.subscriber?.leave(after: time) } }

    // MARK: Reading

    /// Sends the reader any news. Returns the bytes written so far, as all that follows.
    @discardableResult func proceed() -> Int { handle(.ready(at: .now)) }

    /// Performs what follows from an event. Reading is followed up in `found` and `finish`.
    @discardableResult func handle(_ event: ReaderMachine.Event, because problem: Problem = .crowded) -> Int {
        perform(machine.handle(event), because: problem)
    }

    private func perform(_ action: ReaderMachine.Action, because problem: Problem = .crowded) -> Int {
        switch action {
        case .wait: return 0
        case .reportReady:
            subscriber?.isDue(self)
            return 0
        case .pause(let time):
            timer = loop.schedule(after: time) { [weak self] in _ = self?.handle(.pauseEnded) }
            return proceed()
        case .read: return read()
        case .catchUp(let comparison): return catchUp(comparison)
        case .rename(let name):
            let count = subscriber?.renamed(self, name) ?? 0
            return count + proceed()
        case .refuse:
            subscriber?.refused(self, problem)
            return 0
        case .compare, .answer: preconditionFailure("only what was read can be compared or answered")
        }
    }

    /// Reads from memory, unless that does not have the session or the store has not been asked yet.
    private func read() -> Int {
        guard let slot else { return handle(.worked(.missing)) }
        if isRead, let view = SessionView(slot, of: service.table) { return found(view) }
        // If the session existed before.
        let known = slot.version
        let call = options.form.isOfMany ? call.of(name) : call
        call.find().whenDone { [self] result in
            loop.execute { [self] in
                switch result.mapError({ Problem($0, of: name) }) {
                case .success(let view):
                    isRead = true
                    // It may have ended without notice.
                    if view == nil, let known { _ = service.table.drop(slot, .version(known)) }
                    _ = found(view)
                case .failure(let problem): handle(.worked(.failed), because: problem)
                }
            }
        }
        return 0
    }

    private func found(_ view: SessionView?) -> Int {
        // What is in memory may be newer than what was read.
        let setting = service.table.anySlot(name)?.isPublic ?? view?.session.settings.isPublic
        guard !isAnonymous || service.isPublic(name, setting) else {
            subscriber?.refused(self, .noCredentials)
            return 0
        }
        guard let view else {
            let count = exchange(&isKnownMissing, with: true) ? 0 : subscriber?.isMissing(self) ?? 0
            return count + handle(.worked(.missing), because: notCreated)
        }
        isKnownMissing = false
        seen = view.seen(of: options.projection, for: call.client)
        let staleness = service.staleness(of: name)
        let action = machine.handle(.worked(.found(view.session.head.revision, isStale: staleness != nil)))
        guard case .compare(let comparison) = action else { return perform(action) }
        var options = options
        options.staleness = staleness
        guard view.isLong(options.projection, from: comparison.base?.revision, since: comparison.since.revision) else {
            return finish(view.update(comparison, options), with: view, isStale: staleness != nil)
        }
        let isCompressed = subscriber?.isCompressed == true
        service.workers.run(for: call.client, isCounted: false) {
            [self, options, slot = view.slot, pinned = view.pinned] in
            guard let view = pinned ?? SessionView(slot, of: service.table) else {
                return loop.execute { self.handle(.worked(.vanished)) }
            }
            let update = view.hasRoom ? view.update(comparison, options) : nil
            if isCompressed, case .changes(let answer) = update { answer.deflate() }
            loop.execute {
                guard let update else { return _ = self.handle(.worked(.failed)) }
                _ = self.finish(update, with: view, isStale: staleness != nil)
            }
        }
        return 0
    }

    private func finish(_ update: Update, with view: SessionView, isStale: Bool) -> Int {
        switch update {
        case .nothing(let state): return stay(at: state, in: view)
        case .changes(let answer):
            let (head, now) = (view.session.head, Instant.now)
            let state = ReaderState(revision: head.revision, position: answer.to?.position)
            let action = machine.handle(.worked(.different(state, name: answer.to, isStale: isStale, at: now)))
            guard case .answer = action else { return perform(action) }
            if let anchor = answer.anchor, case .around = options.projection.window?.anchor {
                options.projection.window?.anchor = .around(anchor)
            }
            let count = subscriber?.answered(self, service.counted(answer), lag: now - head.made) ?? 0
            return count + proceed()
        }
    }

    /// The reader sees what it has. It gets a new name for that if its own will soon be forgotten.
    private func stay(at state: ReaderState, in view: SessionView) -> Int {
        var name: Revision?
        if !options.projection.showsAll, let known = machine.since.revision, view.isFading(known) {
            name = view.name(of: state, options.projection)
            if name == known { name = nil }
        }
        return handle(.same(state, name: name))
    }

    /// Moves the reader on before its revision is forgotten, if it sees nothing of the commits since.
    private func catchUp(_ comparison: Comparison) -> Int {
        guard let slot, let session = slot.awakeSession, let known = comparison.since.revision,
            let base = comparison.base
        else { return 0 }
        let view = SessionView(slot, session, of: service.table)
        guard view.isFading(known) else { return 0 }
        if base.revision == session.head.revision { return stay(at: base, in: view) }
        guard !view.isLong(options.projection, from: base.revision, since: known),
            case .nothing(let same) = view.update(comparison, options)
        else { return 0 }
        return stay(at: same, in: view)
    }

    /// The session was not created in time. The next request may wait again at once.
    private var notCreated: Problem {
        var problem = Problem.noSession(name)
        if slot?.isPlaceholder == true { problem.fields.append(Field("Retry-After", "0")) }
        return problem
    }
}

/// Where a subscription's answers go. All calls come on its loop.
protocol Subscriber: AnyObject, Sendable {
    var isCompressed: Bool { get }
    /// A subscription should proceed as soon as its answer can be sent.
    func isDue(_ subscription: Subscription)
    // These return the bytes written.
    /// - Parameter lag: the time since the commit.
    func answered(_ subscription: Subscription, _ answer: ChangesAnswer, lag: Duration) -> Int
    /// The reader's state has a new name from now on.
    func renamed(_ subscription: Subscription, _ name: Revision) -> Int
    /// There is no session to read, until further notice.
    func isMissing(_ subscription: Subscription) -> Int
    func refused(_ subscription: Subscription, _ problem: Problem)
    func ended(_ subscription: Subscription, _ problem: Problem)
    /// The server is closing. If called again, the new time holds.
    func leave(after time: Duration)
    /// The store is silent or answers again. A stream must leave after this time; nil: it may stay.
    func storeChanged(leavingAfter time: Duration?)
}

extension SessionView {
    fileprivate func update(_ comparison: Comparison, _ options: ChangesOptions) -> Update {
        let (since, base) = (comparison.since, comparison.base)
        if comparison.always { return .changes(answer(since: since, from: base, options)) }
        guard let seen = comparison.lastSeen else { return update(since: since, from: base, options) }
        let update = update(since: .revision(seen), from: ReaderState(revision: seen), options)
        if case .nothing = update { return update }
        return .changes(answer(since: since, options))
    }
}

extension Problem {
    static func tooManyReaders(_ limit: Int) -> Problem {
        Problem(.tooManyStreams, "\(limit) readers are already waiting")
    }
}
