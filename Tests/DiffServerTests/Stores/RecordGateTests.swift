import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffStores

@Suite struct RecordGateTests {
    private let order = Locked<[String]>([])
    private var came: [String] { order.withLock { $0 } }

    private func enter(_ gate: RecordGate, _ name: String, _ bytes: Int) {
        gate.enter(bytes) { [order] in order.withLock { $0.append(name) } }
    }

    @Test func `whoever finds no room waits for its turn, and is not overtaken`() {
        let budget = MemoryBudget(limit: 100)
        let gate = RecordGate(budget)
        enter(gate, "a", 60)
        enter(gate, "b", 50)
        enter(gate, "c", 10)
        #expect(came == ["a"] && gate.load == (60, 2) && budget.inUse == 60)
        gate.leave(60)
        #expect(came == ["a", "b", "c"] && gate.load == (60, 0) && budget.inUse == 60)
        gate.leave(50)
        gate.leave(10)
        #expect(gate.load == (0, 0) && budget.inUse == 0)
    }

    @Test func `one that is larger than the gate goes alone`() {
        let gate = RecordGate(MemoryBudget(limit: 100))
        enter(gate, "a", 1)
        enter(gate, "huge", 500)
        enter(gate, "b", 1)
        #expect(came == ["a"])
        gate.leave(1)
        #expect(came == ["a", "huge"])
        gate.leave(500)
        #expect(came == ["a", "huge", "b"])
    }

    @Test func `those who leave at once do so one after the other, not within each other`() {
        let gate = RecordGate(MemoryBudget(limit: 1))
        let places = Locked<[UInt]>([])
        gate.enter(1) {}
        for _ in 0..<3 {
            gate.enter(1) {
                var local = 0
                withUnsafePointer(to: &local) { place in places.withLock { $0.append(UInt(bitPattern: place)) } }
                gate.leave(1)
            }
        }
        gate.leave(1)
        let seen = places.withLock { $0 }
        #expect(seen.count == 3 && Set(seen).count == 1 && gate.load == (0, 0))
    }

    @Test func `what is inside is room that sessions do not have`() {
        let messages = MessageMemory(memory: 64 << 20, maxBody: 1 << 20)
        let gate = RecordGate(messages.records)
        gate.enter(3 << 20) {}
        #expect(messages.inUse == 3 << 20)
        gate.leave(3 << 20)
        #expect(messages.inUse == 0)
    }
}
