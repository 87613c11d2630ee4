import CAllocations
import Glibc

/// Processor time of this thread, in nanoseconds: other work on the machine costs caches, but no time.
func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Results are folded in here, and printed at the end, so that the compiler cannot drop the work.
nonisolated(unsafe) var checksum: UInt64 = 0

/// Times a piece of work.
struct Stopwatch {
    /// Nanoseconds of one execution, the median of all runs.
    private(set) var median = 0.0
    /// Nanoseconds of the other work, measured beside it.
    private(set) var floor = 0.0
    /// Median of the quotients of each run: what the machine does meanwhile hits both.
    private(set) var ratio = 0.0
    /// Allocations of one execution.
    private(set) var allocations = 0

    /// Runs `work` and `floor` in turn, many times; each time for at least a fifth of a millisecond.
    init(runs: Int, floor: () -> UInt64, work: () -> UInt64) {
        let (floorTimes, workTimes) = (Self.repetitions(floor), Self.repetitions(work))
        let before = allocations_made()
        checksum &+= work()
        allocations = Int(allocations_made() - before)
        var pairs: [(floor: Double, work: Double)] = []
        for _ in 0..<runs {
            let one = Self.time(floor, floorTimes)
            pairs.append((one, Self.time(work, workTimes)))
        }
        median = Self.median(pairs.map(\.work))
        self.floor = Self.median(pairs.map(\.floor))
        ratio = Self.median(pairs.map { $0.work / $0.floor })
    }

    /// Runs `work` alone.
    init(runs: Int, work: () -> UInt64) { self.init(runs: runs, floor: { 0 }, work: work) }

    /// Times work whose input it uses up: `prepare` makes one outside the measured time.
    init<Input>(runs: Int, prepare: () -> Input, work: (consuming Input) -> UInt64) {
        var times: [Double] = []
        for _ in 0..<runs {
            let input = prepare()
            let (allocated, start) = (allocations_made(), now())
            checksum &+= work(input)
            times.append(Double(now() - start))
            allocations = Int(allocations_made() - allocated)
        }
        median = Self.median(times)
    }

    private static func repetitions(_ work: () -> UInt64) -> Int {
        checksum &+= work()
        return max(1, Int(200_000 / time(work, 1)))
    }

    private static func time(_ work: () -> UInt64, _ times: Int) -> Double {
        let start = now()
        for _ in 0..<times { checksum &+= work() }
        return max(1, Double(now() - start)) / Double(times)
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
