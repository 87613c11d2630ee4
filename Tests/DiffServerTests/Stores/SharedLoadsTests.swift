import HTTPCore
import Testing

@testable import diffserver

@Suite struct SharedLoadsTests {
    @Test func `the first one loads for all who wait, and who comes later begins anew`() {
        let loads = SharedLoads<String, Int>()
        let told = Locked<[Int]>([])
        let hear: Completion<Int> = { result in told.withLock { $0.append((try? result.get()) ?? -1) } }
        #expect(loads.join("a", hear))
        #expect(!loads.join("a", hear))
        #expect(loads.join("b", hear))
        for done in loads.taken("a") { done(.success(7)) }
        #expect(told.withLock { $0 } == [7, 7])
        #expect(loads.join("a", hear) && loads.taken("none").isEmpty)
        #expect(loads.taken("a").count == 1 && loads.taken("b").count == 1)
    }
}
