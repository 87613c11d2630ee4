import HTTPCore
import Synchronization

/// A request that is held until its session changes or its time is up (a long poll).
final class HeldRequest: SessionReader {
    private let call: Call
    private let slot: SessionSlot
    private let since: Since
    private let wish: ChangesWish
    private let pending: Pending
    private let timer = Locked<Timer?>(nil)
    private let isDone = Atomic<Bool>(false)

    private init(_ call: Call, _ slot: SessionSlot, _ since: Since, _ wish: ChangesWish, _ pending: Pending) {
        (self.call, self.slot, self.since, self.wish, self.pending) = (call, slot, since, wish, pending)
    }

    /// Holds a request for at most `time`. Called on its loop.
    static func hold(
        _ call: Call, _ slot: SessionSlot, _ since: Since, _ wish: ChangesWish, for time: Duration, _ pending: Pending
    ) {
        let request = HeldRequest(call, slot, since, wish, pending)
        switch slot.add(request, limit: call.service.table.bounds.readers) {
        case .tooMany: return request.refuse(Problem(.tooManyStreams, "\(call.service.table.bounds.readers) readers wait already"))
        case .gone: return request.refuse(.noSession(call.session))
        case .added: call.service.store.readersChanged(of: slot)
        }
        request.timer.withLock { $0 = pending.loop.schedule(after: time) { request.finish() } }
        pending.onGone { request.leave() }
        // A commit may have come between the look and the registration.
        if let reading = request.reading, !GetChanges.holds(reading, since) { request.finish() }
    }

    private var reading: Reading? { Reading(slot, of: call.service.table) }

    func sessionChanged() { pending.loop.execute { self.finish() } }

    func sessionEnded(_ problem: Problem) { refuse(problem) }

    private func finish() {
        guard let reading else { return refuse(.noSession(call.session)) }
        guard leave() else { return }
        let answer = call.service.counted(reading.answer(since: since, wish))
        pending.answer(call.finish(answer.response()))
    }

    private func refuse(_ problem: Problem) {
        guard leave() else { return }
        pending.answer(call.finish(problem.response(instance: call.instance)))
    }

    /// Stops waiting; true for the first caller.
    @discardableResult
    private func leave() -> Bool {
        guard !isDone.exchange(true, ordering: .relaxed) else { return false }
        // The reader counted as use for as long as it waited.
        _ = call.service.table.slot(call.session)
        slot.remove(self)
        call.service.store.readersChanged(of: slot)
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
        return true
    }
}
