// A loop that is stuck, in work that never ends or behind a lock that nobody gives back, serves none of its connections
// again, and nobody who waits for it goes on either. Nothing but a new process helps. So a thread of its own wakes each
// loop now and then and looks whether it turned. It takes no lock that a loop holds while it works.
//
// Time in which the watchdog itself did not run does not count, nor does that in which the loop was ready to and had no
// processor: a process that was stopped, or that stands behind others, is not stuck, and to begin anew would only make
// it later.

import Glibc

/// Looks whether loops turn.
public final class Watchdog: Sendable {
    /// A loop that does not turn.
    public struct Finding: Sendable {
        /// Which loop of its server.
        public let loop: Int
        /// How long it has been watched without a turn, at least.
        public let time: Duration
        /// The request that it looked at last, if that was in this turn.
        public let request: RequestHead?
    }

    private let loops: [EventLoop]
    private let limit: Int64
    private let watches: Locked<[Watch]>

    /// What is known of one loop.
    private struct Watch {
        var turns = -1
        /// Nanoseconds without a turn.
        var still: Int64 = 0
        var last: Instant
        /// Nanoseconds without a processor.
        var delayed: Int64 = 0
    }

    /// A watchdog that does not look yet.
    ///
    /// - Parameter limit: how long a loop may take for one turn.
    public init(_ loops: [EventLoop], limit: Duration) {
        self.loops = loops
        self.limit = limit.wholeNanoseconds
        watches = Locked([Watch](repeating: Watch(last: .now), count: loops.count))
    }

    /// Looks eight times within the limit, until the process ends.
    ///
    /// - Parameter found: is called on the watchdog's thread with all loops that are stuck, at each look that finds
    ///   one.
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

    /// One look. Time is a parameter, so that a test can be the clock, and the scheduler.
    func look(at now: Instant, delay: (EventLoop) -> Int64 = \.runDelay) -> [Finding] {
        watches.withLock { watches in
            zip(loops.indices, loops).compactMap { index, loop in
                let turns = loop.turns
                loop.wake()
                // Time in which this did not look does not count. One that was told to end may rest.
                let delayed = delay(loop)
                let passed = loop.isEnding ? 0 : min(now.nanoseconds - watches[index].last.nanoseconds, limit / 4)
                let lost = min(passed, max(0, delayed - watches[index].delayed))
                watches[index].still = turns == watches[index].turns ? watches[index].still + passed - lost : 0
                watches[index].delayed = delayed
                watches[index].turns = turns
                watches[index].last = now
                guard watches[index].still >= limit else { return nil }
                return Finding(
                    loop: loop.index, time: .nanoseconds(watches[index].still), request: loop.request(inTurn: turns))
            }
        }
    }
}
