import CDiffSystem
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct OutputBufferLimitTests {
    @Test func aLoopThatHasEndedIsNotWaitedFor() throws {
        var options = ServerOptions(listen: [])
        options.outgoing = MemoryBudget(limit: 0)
        let outputLimit = OutputBufferLimit(budget: options.outgoing)
        let loops = try (0..<2).map { _ in try EventLoop.standalone(polling: .ofTests) }
        defer { loops[0].end() }
        let (service, workers) = (TestService(), Workers(count: 1))
        outputLimit.cover(
            loops.map {
                Shard(
                    loop: $0, options: options, capacity: ConnectionCapacity(for: 1, free: 8)!, service: service,
                    workers: workers, outputLimit: outputLimit)
            })
        loops[1].end()
        #expect(eventually { loops[1].isEnding })
        pauseThread(.milliseconds(20), "the loop's thread, which still ends")
        let share = MemoryShare(of: options.outgoing)
        share.hold(1)
        outputLimit.enforce()
        #expect(eventually { !outputLimit.isEnforced })
    }
}
