import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct QueueTests {
    @Test func whatWentInFirstComesOutFirst() {
        var queue = Queue<Int>()
        var (next, taken) = (0, 0)
        for round in 0..<300 {
            for _ in 0..<round % 17 {
                queue.append(next)
                next += 1
            }
            for _ in 0..<round % 13 where !queue.isEmpty {
                #expect(queue.first == taken)
                #expect(queue.popFirst() == taken)
                taken += 1
            }
            #expect(queue.count == next - taken)
        }
        #expect(queue.elements == Array(taken..<next))
    }
}
