import DiffClock
import Testing

@testable import DiffStores

@Suite struct StoreHealthTests {
    private let lines = Locked<[String]>([])

    private func newHealth() -> StoreHealth {
        StoreHealth { [lines] line, _ in lines.withLock { $0.append(line) } }
    }

    @Test func `each new reason of an outage is told once`() {
        let (health, start) = (newHealth(), Instant.now)
        health.fail(.writes, because: "lost", at: start)
        for _ in 0..<3 {
            health.fail(.reads, because: "lost")
            health.fail(.writes, because: "wrong password")
        }
        health.recover(.writes)
        #expect(!health.isHealthy)
        health.recover(.reads, at: start + .seconds(2))
        health.fail(.reads, because: "lost")
        #expect(
            lines.withLock { $0 } == [
                "store unavailable: lost", "store still unavailable: wrong password",
                "store available again after 2.0 s", "store unavailable: lost",
            ])
    }

    @Test func `a silence begins with the first question that is not answered`() {
        let (health, start) = (newHealth(), Instant.now)
        #expect(health.silentSince == nil)
        for second in 0..<3 { health.asks(at: start + .seconds(second)) }
        #expect(health.silentSince == start)
        health.answers()
        #expect(health.silentSince == nil)
        health.answers()
        health.asks(at: start + .seconds(7))
        #expect(health.silentSince == start + .seconds(7))
        // Failures of another kind are no silence.
        #expect(health.isHealthy && lines.withLock { $0.isEmpty })
    }

    @Test func `reasons without end fill no log`() {
        let health = newHealth()
        for number in 0..<1000 { health.fail(.writes, because: "reason \(number)") }
        #expect(lines.withLock { $0.count } == 16)
    }
}
