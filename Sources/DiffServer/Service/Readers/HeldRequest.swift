import DiffSessions
import DiffStores
import HTTPCore

/// A request held until its session changes or is created, or its time is up (a long poll). Confined to its loop.
final class HeldRequest: Subscriber, @unchecked Sendable {
    private let call: Call
    private let pending: Pending
    /// Also holds this object, until the request is answered.
    private var subscription: Subscription?
    private var timer: Timer?
    private let deadline: Instant

    let isCompressed = false

    private init(_ call: Call, _ pending: Pending, until deadline: Instant) {
        (self.call, self.pending, self.deadline) = (call, pending, deadline)
    }

    /// - Parameter call: made by `lasting`.
    static func hold(
        _ call: Call, _ view: SessionView?, since: Since, compared: ReaderState?, _ options: ChangesOptions,
        for time: Duration, _ pending: Pending
    ) {
        pending.shortenHead(to: call.head)
        call.times?.enter(.held)
        pending.loop.perform {
            let request = HeldRequest(call, pending, until: .now + time)
            let subscription = Subscription(
                call, ResumeRequest(session: call.session, since: since, isRead: true), .answer, options,
                compared: compared, for: request, on: pending.loop)
            if let problem = subscription.join(at: view?.slot) { return pending.answer(call.refusal(problem)) }
            request.subscription = subscription
            call.service.metrics.began(.poll)
            call.follow(subscription)
            request.leave(after: call.service.timeToLeave ?? time)
            pending.onGone { _ = request.leave() }
            subscription.begin(from: view)
        }
    }

    func isDue(_ subscription: Subscription) { subscription.proceed() }

    func answered(_ subscription: Subscription, _ answer: ChangesAnswer, lag: Duration) -> Int {
        if answer.isOfNothing { call.isCacheable = false }
        // It was held until the commit.
        if leave() { finish(answer.response(), since: .now + (.zero - lag)) }
        return 0
    }

    func renamed(_ subscription: Subscription, _ name: Revision) -> Int {
        preconditionFailure("a held request is answered under a new name")
    }

    func isMissing(_ subscription: Subscription) -> Int { 0 }

    func refused(_ subscription: Subscription, _ problem: Problem) {
        if leave() { finish(problem.response(instance: call.head.instance), since: .now) }
    }

    /// - Parameter end: when there was something to answer.
    private func finish(_ response: consuming Response, since end: Instant) {
        call.times?.release(at: end)
        response.note(AnswerLabel(.poll))
        pending.answer(call.finish(response))
    }

    func storeChanged(leavingAfter time: Duration?) {}

    func ended(_ subscription: Subscription, _ problem: Problem) { refused(subscription, problem) }

    /// Answers after this time, or at the request's own deadline if that is sooner, as if that had been requested.
    func leave(after time: Duration) {
        timer?.cancel()
        timer = pending.loop.schedule(after: min(time, max(.zero, deadline - .now))) { [weak self] in
            self?.call.isCacheable = false
            self?.call.times?.release()
            self?.subscription?.handle(.deadline)
        }
    }

    /// - Returns: whether this is the first call.
    private func leave() -> Bool {
        guard let subscription = exchange(&subscription, with: nil) else { return false }
        call.service.metrics.ended(.poll)
        subscription.leave()
        call.leave(subscription)
        timer?.cancel()
        timer = nil
        return true
    }
}
