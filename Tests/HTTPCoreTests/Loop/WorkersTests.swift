import Dispatch
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct WorkersTests {
    @Test func `clients take iterations, and the jobs of each keep their order`() {
        let workers = Workers(count: 1)
        let (go, done) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let order = Locked<[String]>([])
        let run = { @Sendable (client: String, number: Int) in
            workers.run(for: client) { order.withLock { $0.append("\(client) \(number)") } }
        }
        workers.run { go.wait() }
        for number in 0..<4 { run("many", number) }
        for number in 0..<2 { run("few", number) }
        run("", 0)
        #expect(workers.waiting >= 7)
        workers.run(for: "many") { done.signal() }
        go.signal()
        done.wait()
        #expect(order.withLock { $0 } == ["many 0", "few 0", " 0", "many 1", "few 1", "many 2", "many 3"])
        #expect(workers.waiting == 0)
    }
}
