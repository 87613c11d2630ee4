import Testing

@testable import HTTPCore

@Suite struct LifecycleTests {
    private typealias Event = Lifecycle.Event

    private static let beginning: [Event] = [.headCompleted(isLast: false)]

    /// Events, and the required result of the last one.
    private static let rows: [([Event], Lifecycle.Phase, Lifecycle.Action)] = [
        (beginning + [.answered(rest: .none, closes: false)], .head, .nothing),
        (beginning + [.answered(rest: .short, closes: false)], .discarding, .nothing),
        (beginning + [.answered(rest: .long, closes: false)], .flushing, .nothing),
        (beginning + [.answered(rest: .none, closes: true)], .flushing, .nothing),
        ([.headCompleted(isLast: true), .answered(rest: .none, closes: false)], .flushing, .nothing),
        (beginning + [.answered(rest: .short, closes: false), .bodyEnded], .head, .nothing),
        (beginning + [.answered(rest: .short, closes: false), .restRefused], .flushing, .nothing),
        (beginning + [.bodyBegan, .bodyEnded, .deferred], .waiting, .nothing),
        (beginning + [.deferred, .answered(rest: .none, closes: false)], .head, .nothing),
        (beginning + [.deferred, .inputEnded(isWithinHead: false)], .waiting, .nothing),
        (beginning + [.deferred, .timedOut(isWithinHead: false)], .waiting, .probe),
        (beginning + [.streamBegan(rest: .none, closes: false), .streamEnded], .head, .nothing),
        (beginning + [.streamBegan(rest: .short, closes: false), .streamEnded], .flushing, .nothing),
        (beginning + [.streamBegan(rest: .none, closes: false), .inputEnded(isWithinHead: false)], .closed, .close),
        ([.inputEnded(isWithinHead: true)], .head, .refuse(.malformed(.endOfInput))),
        ([.inputEnded(isWithinHead: false)], .flushing, .nothing),
        ([.timedOut(isWithinHead: true)], .head, .refuse(.timeout(.head))),
        ([.timedOut(isWithinHead: false)], .closed, .close),
        (beginning + [.bodyBegan, .timedOut(isWithinHead: false)], .body, .refuse(.timeout(.body))),
        (beginning + [.bodyBegan, .inputEnded(isWithinHead: false)], .body, .refuse(.malformed(.endOfInput))),
        ([.refused, .outputDrained(isInputClean: true)], .lingering, .finishSending),
        ([.refused, .outputDrained(isInputClean: true), .timedOut(isWithinHead: false)], .closed, .close),
        ([.refused, .timedOut(isWithinHead: false)], .closed, .close),
        (
            [.headCompleted(isLast: true), .answered(rest: .none, closes: false), .outputDrained(isInputClean: true)],
            .closed,
            .finish
        ),
        (
            [.headCompleted(isLast: true), .answered(rest: .none, closes: false), .outputDrained(isInputClean: false)],
            .lingering, .finishSending
        ),
        ([.drainBegan(isIdle: true)], .flushing, .nothing),
        ([.drainBegan(isIdle: false), .headCompleted(isLast: false)], .deciding, .nothing),
        (
            beginning + [.deferred, .drainBegan(isIdle: true), .answered(rest: .none, closes: false)], .flushing,
            .nothing
        ),
        ([.endAnnounced], .head, .nothing),
        ([.endAnnounced] + beginning + [.answered(rest: .none, closes: false)], .flushing, .nothing),
        (beginning + [.deferred, .endAnnounced, .answered(rest: .none, closes: false)], .flushing, .nothing),
        (beginning + [.streamBegan(rest: .none, closes: false), .endAnnounced], .streaming, .nothing),
        (beginning + [.streamBegan(rest: .none, closes: false), .endAnnounced, .streamEnded], .flushing, .nothing),
        (beginning + [.lost, .lost], .closed, .nothing),
        (beginning + [.stalled], .closed, .close),
    ]

    @Test func eachRowLeadsWhereItShould() {
        for (events, phase, action) in Self.rows {
            var lifecycle = Lifecycle(needsHandshake: false)
            var last = Lifecycle.Action.nothing
            for event in events { last = lifecycle.handle(event) }
            #expect(lifecycle.phase == phase && last == action, "\(events) led to \(lifecycle.phase), \(last)")
        }
    }

    @Test func aHandshakeComesFirst() {
        var lifecycle = Lifecycle(needsHandshake: true)
        #expect(!lifecycle.takesInput)
        #expect(lifecycle.handle(.secured) == .nothing && lifecycle.takesInput)
        lifecycle = Lifecycle(needsHandshake: true)
        #expect(lifecycle.handle(.receivedPlainText) == .refuse(.malformed(.plainText)))
        lifecycle = Lifecycle(needsHandshake: true)
        _ = lifecycle.handle(.drainBegan(isIdle: true))
        #expect(lifecycle.phase == .closed)
        for event in [Event.endAnnounced, .drainBegan(isIdle: false)] {
            lifecycle = Lifecycle(needsHandshake: true)
            _ = lifecycle.handle(event)
            #expect(lifecycle.handle(.secured) == .nothing && lifecycle.takesInput)
        }
    }

    /// Events that may come at any time, in all orders of four: after a refusal, no way leads back to a head.
    @Test func nothingLeadsBackFromARefusal() {
        let events: [Event] = [
            .inputEnded(isWithinHead: true), .outputDrained(isInputClean: true), .timedOut(isWithinHead: true),
            .stalled, .lost,
            .endAnnounced, .drainBegan(isIdle: false),
        ]
        var orders: [[Event]] = [[]]
        for _ in 0..<4 { orders = orders.flatMap { order in events.map { order + [$0] } } }
        for order in orders {
            var lifecycle = Lifecycle(needsHandshake: false)
            _ = lifecycle.handle(.refused)
            for event in order { _ = lifecycle.handle(event) }
            #expect([.flushing, .lingering, .closed].contains(lifecycle.phase), "\(order)")
            #expect(lifecycle.isLast)
        }
    }
}
