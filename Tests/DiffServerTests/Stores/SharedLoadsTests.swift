import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffStores

@Suite struct SharedLoadsTests {
    @Test func `the first one loads for all who wait, and who comes later begins anew`() {
        let loads = SharedLoads<String, Int>()
        let told = Locked<[Int]>([])
        let hear: Completion<Int> = { result in told.withLock { $0.append((try? result.get()) ?? -1) } }
        #expect(loads.join("a", hear))
        #expect(!loads.join("a", hear))
        #expect(loads.join("b", hear))
        for done in loads.removeAll(for: "a") { done(.success(7)) }
        #expect(told.withLock { $0 } == [7, 7])
        #expect(loads.join("a", hear) && loads.removeAll(for: "none").isEmpty)
        #expect(loads.removeAll(for: "a").count == 1 && loads.removeAll(for: "b").count == 1)
    }

    @Test func `when too many wait, a load has no further ones, and a rare one still has some`() {
        let loads = SharedLoads<String, Int>(limit: 100)
        let refused = Locked(0)
        let hear: Completion<Int> = { if $0 == .failure(.crowded) { refused.withLock { $0 += 1 } } }
        for _ in 0..<120 { _ = loads.join("popular", hear) }
        #expect(refused.withLock { $0 } == 20)
        #expect(loads.join("rare", hear) && !loads.join("rare", hear) && refused.withLock { $0 } == 20)
        #expect(loads.removeAll(for: "popular").count == 100 && loads.removeAll(for: "rare").count == 2)
        #expect(loads.join("popular", hear) && refused.withLock { $0 } == 20)
    }
}
