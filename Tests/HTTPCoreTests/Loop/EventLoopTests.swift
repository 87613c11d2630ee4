import Synchronization
import Testing

@testable import HTTPCore

@Suite struct EventLoopTests {
    /// More than a pool of threads has that somebody else bounds.
    @Test func everyLoopTurnsHoweverManyThereAre() throws {
        let loops = try (0..<270).map { _ in try EventLoop.standalone() }
        defer { loops.forEach { $0.end() } }
        let turned = Turned()
        for loop in loops { loop.execute { turned.count.add(1, ordering: .relaxed) } }
        #expect(eventually { turned.count.load(ordering: .relaxed) == loops.count })
    }

    private final class Turned: Sendable {
        let count = Atomic<Int>(0)
    }
}
