// Long work runs here, so that small requests wait for it neither on their loop nor for a core. There are as many
// threads as loops, so that no more jobs begin than can proceed, and they have a smaller share of the cores.
//
// Rejected: a concurrent queue of Dispatch. Its threads are shared, and one that has lowered its priority cannot raise
// it again without a privilege. All of HTTPCore's threads are `SystemThread`s; of Dispatch, only the semaphore is used.

import CDiffSystem
import Dispatch
import Glibc

/// Threads for long work. When the last reference is released, they finish all jobs and end.
public final class Workers: Sendable {
    private let count: Int
    private let jobs = Locked(Queue<@Sendable () -> Void>())
    private let arrivals = DispatchSemaphore(value: 0)

    /// Starts `count` threads.
    public init(count: Int) {
        self.count = max(1, count)
        for index in 0..<self.count {
            SystemThread.start(named: "worker \(index)") { [jobs, arrivals] in
                ThreadPriority.lower()
                while true {
                    arrivals.wait()
                    // An arrival without a job is the end.
                    guard let job = jobs.withLock({ $0.popFirst() }) else { return }
                    job()
                }
            }
        }
    }

    deinit {
        for _ in 0..<count { arrivals.signal() }
    }

    /// Jobs that have not begun.
    public var waiting: Int { jobs.withLock { $0.count } }

    /// Runs `job` on a thread, after earlier ones.
    public func run(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
        arrivals.signal()
    }
}

/// How the kernel shares the cores between this process's threads. Settings of the whole process are respected: nice
/// values are added to its own, and any policy other than the default is left alone.
enum ThreadPriority {
    /// Lets the calling thread run as soon as it is ready. Since Linux 6.12 that is what short slices mean; the
    /// shortest are 0.1 ms.
    static func preferLatency() { set(niceness: 0, slice: 100_000) }

    /// Gives the calling thread a tenth of an ordinary share: enough to finish beside loops that are always busy.
    static func lower() { set(niceness: 10, slice: 3_000_000) }

    private static func set(niceness: Int32, slice: UInt) {
        guard sched_getscheduler(0) == SCHED_OTHER else { return }
        // If this fails, the thread keeps its priority.
        _ = set_thread_share(min(19, getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) + niceness), slice)
    }
}
