import CDiffSystem
import DiffClock

/// Finds loops that are stuck in endless work, or on a lock that is never released: only a new process helps. A thread
/// wakes each loop now and then and checks that it runs. It takes no lock that a loop holds while it works.
///
/// Time in which the watchdog itself did not run does not count, nor does time in which the loop was ready but had no
/// processor: a process that was stopped or starved is not stuck, and a restart would only delay it further.
public final class Watchdog: Sendable {
    /// A loop that is stuck.
    public struct Finding: Sendable {
        /// The loop's name.
        public let loop: String
        /// How long it has been stuck, at least.
        public let time: Duration
        /// The latest request, if it came in this iteration.
        public let request: RequestHead?
    }

    private let loops: [EventLoop]
    private let limit: Int64
    private let watches: Locked<[Watch]>

    /// The last observation of a loop.
    private struct Watch {
        var iterations = -1
        /// Nanoseconds without an iteration.
        var still: Int64 = 0
        var last: Instant
        /// Nanoseconds without a processor.
        var delayed: Int64 = 0
    }

    /// A watchdog that has not been started.
    ///
    /// - Parameter limit: how long a loop may take for one iteration.
    public init(_ loops: [EventLoop], limit: Duration) {
        (self.loops, self.limit) = (loops, limit.wholeNanoseconds)
        watches = Locked([Watch](repeating: Watch(last: .now), count: loops.count))
    }

    /// Checks eight times within the limit, until the process ends.
    ///
    /// - Parameter found: called on the watchdog's thread with all stuck loops, after each check that finds any.
    public func start(_ found: @escaping @Sendable ([Finding]) -> Void) {
        SystemThread.start(named: "watchdog") { [self] in
            var pause = timespec(tv_sec: Int(limit / 8 / 1_000_000_000), tv_nsec: Int(limit / 8 % 1_000_000_000))
            while true {
                nanosleep(&pause, nil)
                let findings = look(at: .now)
                if !findings.isEmpty { found(findings) }
            }
        }
    }

    /// Checks once. A test supplies the clock and the scheduler.
    func look(at now: Instant, delay: (EventLoop) -> Int64 = \.runDelay) -> [Finding] {
        watches.withLock { watches in
            zip(loops.indices, loops).compactMap { index, loop in
                let (before, iterations, delayed) = (watches[index], loop.iterations, delay(loop))
                loop.wake()
                let passed = loop.isEnding ? 0 : min(now.nanoseconds - before.last.nanoseconds, limit / 4)
                let lost = min(passed, max(0, delayed - before.delayed))
                let still = iterations == before.iterations ? before.still + passed - lost : 0
                watches[index] = Watch(iterations: iterations, still: still, last: now, delayed: delayed)
                guard still >= limit else { return nil }
                let request = loop.request(inIteration: iterations)
                return Finding(loop: loop.name, time: .nanoseconds(still), request: request)
            }
        }
    }
}
