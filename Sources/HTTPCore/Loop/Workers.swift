import CDiffSystem
import DiffClock
import Dispatch

/// Threads for long work, so that small requests wait for it neither on their loop nor for a core: they have a smaller
/// share of the cores. When the last reference is released, they finish all jobs and end.
///
/// Not threads of Dispatch, which are shared: one that has lowered its priority cannot raise it without a privilege.
public final class Workers: Sendable {
    private let count: Int
    private let jobs = Locked(FairQueue())
    private let arrivals = DispatchSemaphore(value: 0)

    /// Starts `count` threads.
    public init(count: Int) {
        self.count = max(1, count)
        for index in 0..<self.count {
            SystemThread.start(named: "worker \(index)") { [jobs, arrivals] in
                ThreadPriority.lower()
                while true {
                    arrivals.wait()
                    // A signal without a job ends the thread.
                    guard let job = jobs.withLock({ $0.popFirst() }) else { return }
                    job.call()
                }
            }
        }
    }

    deinit { for _ in 0..<count { arrivals.signal() } }

    /// Jobs that have not begun, except for the uncounted ones.
    public var waiting: Int { jobs.withLock { $0.count } }

    /// Runs `job`: here if its cost fits into a loop's iteration, else on a thread.
    public func run(_ cost: WorkCost, _ job: @escaping @Sendable () -> Void) {
        if cost.isLong { run(job) } else { job() }
    }

    /// Runs `job` on a thread, after the client's earlier ones; `client` is empty for work of none. Clients take turns.
    ///
    /// - Parameter isCounted: false if something else limits how many of these wait.
    public func run(for client: String = "", isCounted: Bool = true, _ job: @escaping @Sendable () -> Void) {
        jobs.withLock { $0.append((job, isCounted), of: client) }
        arrivals.signal()
    }

    /// Waiting jobs by client, and a queue of the clients that have any. O(1) per call.
    private struct FairQueue {
        typealias Job = (call: @Sendable () -> Void, isCounted: Bool)

        private var jobs: [String: Queue<Job>] = [:]
        private var clients = Queue<String>()
        private(set) var count = 0

        mutating func append(_ job: Job, of client: String) {
            if jobs[client] == nil { clients.append(client) }
            jobs[client, default: Queue()].append(job)
            count += job.isCounted ? 1 : 0
        }

        mutating func popFirst() -> Job? {
            guard let client = clients.popFirst(), let job = jobs[client]?.popFirst() else { return nil }
            if jobs[client]?.isEmpty == false { clients.append(client) } else { jobs[client] = nil }
            count -= job.isCounted ? 1 : 0
            return job
        }
    }
}

/// A dedicated thread, for loops, workers, and whatever else runs permanently.
///
/// Not a thread of Dispatch: its pool for serial queues has at most 255, so the 256th loop would never run; its pools
/// for global and concurrent queues are monitored through `/proc`, and trap when no descriptor is left for that.
public enum SystemThread {
    /// Starts a thread that ends with `body`. Signals that end the process are not for it, but for the thread that
    /// waits for them. Debuggers and `top -H` show 15 octets of the name.
    public static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        var (ends, before) = (sigset_t(), sigset_t())
        sigemptyset(&ends)
        for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&ends, signal) }
        // The thread inherits what is blocked here.
        pthread_sigmask(SIG_BLOCK, &ends, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let status = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().call()
                return nil
            }, context)
        precondition(status == 0, "the system has no room for a thread")
        pthread_setname_np(thread, String(decoding: name.utf8.prefix(15), as: UTF8.self))
        pthread_detach(thread)
    }

    private final class Body {
        let call: @Sendable () -> Void

        init(_ call: @escaping @Sendable () -> Void) { self.call = call }
    }
}
