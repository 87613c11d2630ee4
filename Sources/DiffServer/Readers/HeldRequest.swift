import HTTPCore
import Synchronization

/// A request that is held until its session changes or is created, or its time is up (a long poll).
final class HeldRequest: SessionReader {
    private let call: Call
    private let slot: SessionSlot
    private let since: Since
    private let options: ChangesOptions
    private let pending: Pending
    private let timer = Locked<Timer?>(nil)
    private let isDone = Atomic<Bool>(false)
    private let state: Locked<State>

    /// How far the reader has been brought without an answer.
    private struct State {
        /// The newest base that shows what the reader has.
        var base: ReaderBase?
        /// Whether that is being compared with the head.
        var isBusy = false
        /// Whether the session has changed meanwhile.
        var isDirty = false
        /// Keeps the reader's view up to date.
        var seen: SeenView?
    }

    private init(
        _ call: Call, _ slot: SessionSlot, _ since: Since, from base: ReaderBase?, _ options: ChangesOptions,
        _ pending: Pending
    ) {
        (self.call, self.slot, self.since, self.options, self.pending) = (call, slot, since, options, pending)
        state = Locked(State(base: base))
    }

    /// Holds a request for at most `time`. Called on its loop, or by a worker if the session is large.
    ///
    /// - Parameters:
    ///   - view: the head; nil if there is no session yet.
    ///   - base: shows the same as what the reader has.
    static func hold(
        _ call: Call, _ view: SessionView?, _ since: Since, from base: ReaderBase?, _ options: ChangesOptions,
        for time: Duration, _ pending: Pending
    ) {
        guard let slot = view?.slot ?? call.service.table.slotToAwait(call.session) else {
            return pending.answer(call.refusal(.tooManyAwaited))
        }
        let request = HeldRequest(call, slot, since, from: base, options, pending)
        switch slot.add(request, limit: call.service.table.bounds.readers) {
        case .tooMany:
            return request.refuse(Problem(.tooManyStreams, "\(call.service.table.bounds.readers) readers wait already"))
        case .gone: return request.refuse(.noSession(call.session))
        case .added: call.service.watch(slot)
        }
        call.follow(request)
        request.timer.withLock { $0 = pending.loop.schedule(after: time) { request.finish() } }
        pending.onGone { request.leave() }
        // It may already be answered.
        if request.isDone.load(ordering: .relaxed) { request.stopTimer() }
        if let view { request.watch(view) }
        // A commit may have come before the registration.
        guard slot.revision != view?.session.head.revision else { return }
        if options.sight.showsAll, request.view?.hasNothing(since: since) == true { return }
        request.wake()
    }

    private var view: SessionView? { SessionView(slot, of: call.service.table) }

    /// Keeps the reader's view up to date.
    private func watch(_ view: SessionView) {
        let seen = view.seen(of: options.sight)
        state.withLock { $0.seen = seen }
    }

    func sessionChanged() { pending.loop.execute { self.wake() } }

    func sessionEnded(_ problem: Problem) { refuse(problem) }

    /// Answers, unless the reader sees nothing of the change.
    private func wake() {
        guard !options.sight.showsAll, let view, case .revision(let named) = since else { return finish() }
        let base = state.withLock { state -> ReaderBase? in
            if state.isBusy { state.isDirty = true }
            guard !state.isBusy, state.base != nil else { return nil }
            state.isBusy = true
            return state.base
        }
        guard let base else { return state.withLock({ $0.base }) == nil ? finish() : () }
        watch(view)
        call.offLoop(if: view.isLong(options.sight, from: base.revision)) { [self] in
            guard let view = self.view else { return finish() }
            let news = view.news(since: since, from: base, options)
            if state.withLock({ $0.seen?.isRefused == true }) { return refuse(.crowded) }
            guard case .nothing(let same) = news, !view.isFading(named) else { return finish() }
            let isDirty = state.withLock { state in
                (state.base, state.isBusy) = (same, false)
                return exchange(&state.isDirty, with: false)
            }
            if isDirty { sessionChanged() }
        }
    }

    private func finish() {
        guard leave() else { return }
        call.offLoop(if: view?.isLong(options.sight) == true) { [self] in
            if let view { return answer(view) }
            // The session has left memory.
            call.view().whenDone { [self] result in
                switch result {
                case .success(let view): answer(view)
                // Not created in time. The next request may wait again at once.
                case .failure(let problem) where slot.isAwaited && problem.type == .sessionNotFound:
                    var problem = problem
                    problem.fields.append(Field("Retry-After", "0"))
                    answer(problem)
                case .failure(let problem): answer(problem)
                }
            }
        }
    }

    private func answer(_ view: SessionView) {
        call.answer(pending) { () throws(Problem) in
            try view.checkRoom(since: since, options)
            let base = state.withLock { $0.base }
            return .now(call.told(view.answer(since: since, from: base, options)).response())
        }
    }

    private func refuse(_ problem: Problem) {
        guard leave() else { return }
        answer(problem)
    }

    private func answer(_ problem: Problem) { pending.answer(call.refusal(problem)) }

    /// Stops waiting.
    ///
    /// - Returns: whether this is the first call.
    @discardableResult
    private func leave() -> Bool {
        guard !isDone.exchange(true, ordering: .relaxed) else { return false }
        call.service.table.remove(self, from: slot)
        call.leave(self)
        call.service.watch(slot)
        state.withLock { $0.seen = nil }
        stopTimer()
        return true
    }

    private func stopTimer() {
        timer.withLock { exchange(&$0, with: nil) }?.cancel()
    }
}
