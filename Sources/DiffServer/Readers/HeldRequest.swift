import HTTPCore
import Synchronization

/// A request that is held until its session changes or its time is up (a long poll).
final class HeldRequest: SessionReader {
    private let call: Call
    private let slot: SessionSlot
    private let since: Since
    private let options: ChangesOptions
    private let pending: Pending
    private let timer = Locked<Timer?>(nil)
    private let isDone = Atomic<Bool>(false)

    private init(_ call: Call, _ slot: SessionSlot, _ since: Since, _ options: ChangesOptions, _ pending: Pending) {
        (self.call, self.slot, self.since, self.options, self.pending) = (call, slot, since, options, pending)
    }

    /// Holds a request for at most `time`. Called on its loop, or by a worker where the session is large.
    static func hold(
        _ call: Call, _ view: SessionView, _ since: Since, _ options: ChangesOptions, for time: Duration,
        _ pending: Pending
    ) {
        let slot = view.slot
        let request = HeldRequest(call, slot, since, options, pending)
        switch slot.add(request, limit: call.service.table.bounds.readers) {
        case .tooMany:
            return request.refuse(Problem(.tooManyStreams, "\(call.service.table.bounds.readers) readers wait already"))
        case .gone: return request.refuse(.noSession(call.session))
        case .added: call.service.store.watch(slot)
        }
        request.timer.withLock { $0 = pending.loop.schedule(after: time) { request.finish() } }
        pending.onGone { request.leave() }
        // It may have been answered since it was added.
        if request.isDone.load(ordering: .relaxed) { request.stopTimer() }
        // A commit may have come between the look and the registration.
        guard slot.revision != view.session.head.revision else { return }
        if request.view?.hasNothing(since: since) == true { return }
        request.finish()
    }

    private var view: SessionView? { SessionView(slot, of: call.service.table) }

    func sessionChanged() { pending.loop.execute { self.finish() } }

    func sessionEnded(_ problem: Problem) { refuse(problem) }

    private func finish() {
        guard leave() else { return }
        if let view { return answer(view) }
        // It has left memory.
        call.view().whenDone { [self] result in
            switch result {
            case .success(let view): answer(view)
            case .failure(let problem): answer(problem)
            }
        }
    }

    private func answer(_ view: SessionView) {
        if view.isLong { call.isLong = true }
        call.goOn { [self] in
            call.answer(pending) { () throws(Problem) in
                if !view.hasNothing(since: since) { try view.checkRoom() }
                return .now(call.service.counted(view.answer(since: since, options)).response())
            }
        }
    }

    private func refuse(_ problem: Problem) {
        guard leave() else { return }
        answer(problem)
    }

    private func answer(_ problem: Problem) {
        pending.answer(call.finish(problem.response(instance: call.instance)))
    }

    /// Stops waiting; true for the first caller.
    @discardableResult
    private func leave() -> Bool {
        guard !isDone.exchange(true, ordering: .relaxed) else { return false }
        call.service.table.remove(self, from: slot)
        call.service.store.watch(slot)
        stopTimer()
        return true
    }

    private func stopTimer() {
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
    }
}
