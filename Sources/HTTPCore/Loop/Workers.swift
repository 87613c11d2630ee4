// What takes long is done here, so that small requests never wait for it: not on their loop, and not for a core either.
// The threads are as many as the loops, so that no more is begun than can go on, and they have a smaller share of the
// cores.
//
// Rejected: a concurrent queue of Dispatch. Its threads are everybody's, and one that gave up its share does not get it
// back without a privilege. All of HTTPCore's threads are `SystemThread`s; Dispatch lends its semaphore.

import CDiffSystem
import Dispatch
import Glibc

/// Threads for work that takes long. Without the last reference they end, once all is done.
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

    /// Has a thread do `job`, after those that came before.
    public func run(_ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append(job) }
        arrivals.signal()
    }
}

/// How the kernel shares the cores between this process's threads. What somebody chose for the whole process stays: its
/// nice value is where ours begin, and any other policy than the usual is left alone.
enum ThreadPriority {
    /// Makes the calling thread one that is let in as soon as it has something to do. From Linux 6.12 on, who asks for
    /// short slices is; the shortest are 0.1 ms.
    static func preferLatency() { set(niceness: 0, slice: 100_000) }

    /// Gives the calling thread a tenth of the share of an ordinary one: enough to come to an end beside loops that
    /// never rest.
    static func lower() { set(niceness: 10, slice: 3_000_000) }

    private static func set(niceness: Int32, slice: UInt) {
        guard sched_getscheduler(0) == SCHED_OTHER else { return }
        // If it fails, all goes on as it was.
        _ = set_thread_share(min(19, getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) + niceness), slice)
    }
}
