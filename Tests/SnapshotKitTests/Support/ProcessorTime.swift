import Foundation

/// The calling thread's processor time: other threads and other processes do not count.
enum ProcessorTime {
    /// Nanoseconds that `body` took, the least of `runs`: a disturbance only ever makes a run longer.
    static func nanoseconds(runs: Int = 3, _ body: () throws -> Void) rethrows -> Double {
        var least = Double.infinity
        for _ in 0..<runs {
            let start = now()
            try body()
            least = min(least, now() - start)
        }
        return max(least, 1)
    }

    private static func now() -> Double {
        var time = timespec()
        precondition(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
