import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct SliceTests {
    /// A clock that advances at each look.
    private final class Clock {
        private var time = Instant(nanoseconds: 0)
        private let step: Int64

        init(step: Duration) { self.step = step.wholeNanoseconds }

        func look() -> Instant {
            time = time + step
            return time
        }
    }

    @Test func whatIsDoneIsDoneInOrderAndOnce() {
        var random = SplitMix64(seed: 3)
        var backlog = Queue<Int>()
        var (given, done) = (0, [Int]())
        let clock = Clock(step: .milliseconds(1))
        for _ in 0..<500 {
            let more = Int.random(in: 0..<60, using: &random)
            backlog.append(contentsOf: given..<given + more)
            given += more
            let before = done.count
            backlog.work(clock.look) { done.append($0) }
            #expect(done.count - before == min(given - before, 32), "two strides are a slice here")
            if let next = backlog.popFirst() { done.append(next) }
            #expect(backlog.isEmpty == (done.count == given))
        }
        backlog.work({ Instant(nanoseconds: 0) }) { done.append($0) }
        #expect(done == Array(0..<given) && backlog.isEmpty)
    }

    @Test func whatIsDoneIsNotHeld() {
        final class Something {}
        var backlog = Queue<Something>()
        weak var first: Something?
        do {
            let something = Something()
            first = something
            backlog.append(contentsOf: [something, Something()])
        }
        _ = backlog.popFirst()
        #expect(first == nil && !backlog.isEmpty)
    }

    @Test func aCrowdThatIsAnsweredAtOnceHoldsUpNobodyElse() throws {
        let request = Array("GET /held HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        func transport() -> ScriptedTransport {
            let transport = ScriptedTransport(request)
            transport.endsInput = false
            return transport
        }
        let first = try ScriptedConnection(transport())
        var crowd = [first]
        for _ in 1..<500 { crowd.append(ScriptedConnection(transport(), beside: first)) }
        let (late, later) = (
            ScriptedConnection(transport(), beside: first), ScriptedConnection(transport(), beside: first)
        )
        for each in crowd + [late, later] { each.settle() }
        let pendings = first.service.pendings.withLock { $0 }
        #expect(pendings.count == 502)
        let answered = { crowd.count { !$0.output.isEmpty } }
        let clock = Clock(step: .milliseconds(1))

        for pending in pendings.prefix(500) { pending.answer(Response(status: 200)) }
        first.iterate(clock.look)
        #expect(answered() == 32, "a slice")
        // A connection answered now does not wait for them.
        pendings[500].answer(Response(status: 200))
        first.iterate(clock.look)
        #expect(!late.output.isEmpty && answered() == 64)
        for job in 0..<500 {
            first.connection?.loop.execute { if job == 499 { pendings[501].answer(Response(status: 200)) } }
        }
        for _ in 0..<20 { first.iterate(clock.look) }
        #expect(answered() == 500)
        first.settle()
        #expect(!later.output.isEmpty)
    }
}
