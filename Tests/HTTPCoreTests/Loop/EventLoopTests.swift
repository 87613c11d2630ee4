import CDiffSystem
import Synchronization
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct EventLoopTests {
    /// More loops than a pool with a fixed limit has threads.
    @Test func everyLoopTurnsHoweverManyThereAre() throws {
        let loops = try (0..<270).map { _ in try EventLoop.standalone(polling: .ofTests) }
        defer { loops.forEach { $0.end() } }
        let turned = Turned()
        for loop in loops { loop.execute { turned.count.add(1, ordering: .relaxed) } }
        #expect(eventually { turned.count.load(ordering: .relaxed) == loops.count })
    }

    /// Work for a loop that has ended is released, so that whoever waits for it is told.
    @Test func whatALoopThatHasEndedIsGivenIsLetGo() throws {
        let loop = try EventLoop.standalone(polling: .ofTests)
        loop.end()
        let (given, gone) = (200, Turned())
        for _ in 0..<given {
            let work = Ended { gone.count.add(1, ordering: .relaxed) }
            loop.execute { work.keep() }
            pauseThread(.microseconds(100), "whoever gives work")
        }
        #expect(eventually { gone.count.load(ordering: .relaxed) == given })
    }

    @Test func itsOwnThreadNeedNotWaitForIt() throws {
        let loop = try EventLoop.standalone(polling: .ofTests)
        defer { loop.end() }
        let (steps, isDone) = (Locked<[String]>([]), Turned())
        // The outer call comes from another thread.
        loop.perform {
            loop.perform { steps.withLock { $0.append("inner") } }
            steps.withLock { $0.append("outer") }
            isDone.count.add(1, ordering: .relaxed)
        }
        #expect(eventually { isDone.count.load(ordering: .relaxed) == 1 })
        #expect(steps.withLock { $0 } == ["inner", "outer"])
    }

    private final class Ended: Sendable {
        private let told: @Sendable () -> Void

        init(_ told: @escaping @Sendable () -> Void) { self.told = told }

        deinit { told() }

        func keep() {}
    }

    private final class Turned: Sendable {
        let count = Atomic<Int>(0)
    }
}
