import Dispatch
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct WatchdogTests {
    private let start = Instant.now

    /// A loop with a job that blocks until it is signalled.
    private func stuck(_ loop: EventLoop) -> DispatchSemaphore {
        let (began, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        loop.execute {
            began.signal()
            end.wait()
        }
        began.wait()
        return end
    }

    private func look(_ dog: Watchdog, at milliseconds: Int64) -> [Watchdog.Finding] {
        dog.look(at: start + .milliseconds(milliseconds), delay: { _ in 0 })
    }

    @Test func timeWithoutAProcessorDoesNotCount() throws {
        let loop = try EventLoop.standalone(named: "alone", polling: .ofTests)
        defer { loop.end() }
        let end = stuck(loop)
        defer { end.signal() }
        #expect(loop.runDelay >= 0)
        let dog = Watchdog([loop], limit: .seconds(8))
        // The loop gets a tenth of the processor time it wants.
        let look = { (second: Int64) in
            dog.look(at: self.start + .seconds(second), delay: { _ in second * 900_000_000 })
        }
        for second in 0..<80 { #expect(look(Int64(second)).isEmpty) }
        #expect(look(81).map(\.loop) == ["alone"])
    }

    @Test func aLoopThatDoesNotTurnIsFoundAndOneThatDoesIsNot() throws {
        let (idle, busy) = (try EventLoop.standalone(polling: .ofTests), try EventLoop.standalone(polling: .ofTests))
        defer { [idle, busy].forEach { $0.end() } }
        let end = stuck(busy)
        let dog = Watchdog([idle, busy], limit: .seconds(8))
        for second in 0..<8 {
            let iterations = idle.iterations
            // A loop that was just woken may need one more check for that, so it is checked until it turns.
            #expect(
                eventually { look(dog, at: Int64(second) * 1000).isEmpty && idle.iterations > iterations },
                "an idle loop is woken")
        }
        let findings = look(dog, at: 8000)
        #expect(findings.map(\.time) == [.seconds(8)] && findings[0].request == nil)
        let iterations = busy.iterations
        end.signal()
        #expect(eventually { busy.iterations > iterations })
        #expect(look(dog, at: 9000).isEmpty)
    }

    @Test func timeInWhichNobodyLookedDoesNotCount() throws {
        let loop = try EventLoop.standalone(polling: .ofTests)
        let end = stuck(loop)
        let dog = Watchdog([loop], limit: .seconds(8))
        #expect(look(dog, at: 0).isEmpty)
        // The process was stopped for an hour, and the watchdog is the first to continue.
        #expect(look(dog, at: 3_600_000).isEmpty)
        #expect(look(dog, at: 3_605_000).isEmpty)
        end.signal()
        loop.end()
        #expect(eventually { loop.isEnding })
        for second in 0..<100 { #expect(look(dog, at: 3_605_000 + Int64(second) * 1000).isEmpty, "it has ended") }
    }

    @Test func theRequestThatALoopIsStuckInIsNamed() throws {
        let server = try TestServer { $0.loops = 1 }
        let client = try Client(server.address)
        client.send(
            "GET /held HTTP/1.1\r\nHost: a\r\n\r\nPOST /stuck?now HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
        #expect(eventually { server.service.pendings.withLock { $0.count } == 1 })
        server.service.pendings.withLock { $0.removeFirst() }.answer(Response(status: 200))
        let dog = Watchdog(server.server.loops, limit: .seconds(8))
        // The loop gets stuck in the body, turns after the head.
        client.send("x")
        server.service.isStuck.wait()
        var found: [Watchdog.Finding] = []
        for tick in 10..<20 where found.isEmpty { found = look(dog, at: Int64(tick) * 1000) }
        #expect(
            found.first?.loop == "0" && found.first?.request?.target == "/stuck?now"
                && found.first?.request?.method == .post)
        server.service.goOn.signal()
        #expect(client.receive(until: "unstuck").contains("unstuck"))
        let iterations = server.server.loops[0].iterations
        server.server.loops[0].wake()
        #expect(eventually { server.server.loops[0].iterations > iterations })
        #expect(
            server.server.loops[0].request(inIteration: server.server.loops[0].iterations) == nil,
            "what is over is not what it does")
    }
}
