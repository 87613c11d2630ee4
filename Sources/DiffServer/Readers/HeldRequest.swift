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
        _ call: Call, _ looked: Reading, _ since: Since, _ wish: ChangesWish, for time: Duration, _ pending: Pending
    ) {
        let slot = looked.slot
        let request = HeldRequest(call, slot, since, wish, pending)
        switch slot.add(request, limit: call.service.table.bounds.readers) {
        case .tooMany:
            return request.refuse(Problem(.tooManyStreams, "\(call.service.table.bounds.readers) readers wait already"))
        case .gone: return request.refuse(.noSession(call.session))
        case .added: call.service.store.readersChanged(of: slot)
        }
        request.timer.withLock { $0 = pending.loop.schedule(after: time) { request.finish() } }
        pending.onGone { request.leave() }
        // A commit may have come between the look and the registration.
        guard slot.revision != looked.session.head.revision else { return }
        if let reading = request.reading, GetChanges.holds(reading, since) { return }
        request.finish()
    }

    private var reading: Reading? { Reading(slot, of: call.service.table) }

    func sessionChanged() { pending.loop.execute { self.finish() } }

    func sessionEnded(_ problem: Problem) { refuse(problem) }

    private func finish() {
        guard leave() else { return }
        if let reading, reading.missing(since) == nil { return answer(reading) }
        // It has left memory, or was brought back by somebody who did not need the reader's base.
        call.service.store.open(call.session, from: since, on: pending.loop) { [self] result in
            switch result {
            case .success(let reading?): answer(reading)
            case .success(nil): answer(.noSession(call.session))
            case .failure(let failure): answer(Problem(failure))
            }
        }
    }

    private func answer(_ reading: Reading) {
        let work = { @Sendable [self] in
            do throws(Problem) {
                if !GetChanges.holds(reading, since) { try reading.checkRoom() }
            } catch {
                return answer(error)
            }
            let answer = call.service.counted(reading.answer(since: since, wish))
            pending.answer(call.finish(answer.response()))
        }
        if reading.isLong { call.service.workers.run(work) } else { work() }
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
        call.service.store.readersChanged(of: slot)
        timer.withLock { timer in
            timer?.cancel()
            timer = nil
        }
        return true
    }
}
