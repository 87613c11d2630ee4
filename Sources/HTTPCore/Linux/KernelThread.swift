import CDiffSystem

/// A thread as the kernel knows it.
enum KernelThread {
    /// How many nanoseconds a thread was ready but had no processor (the second number of `schedstat`); 0 if unknown.
    static func runDelay(of thread: Int32) -> Int64 {
        let file = open("/proc/self/task/\(thread)/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var room = [UInt8](repeating: 0, count: 64)
        let count = read(file, &room, room.count)
        let fields = String(decoding: room.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? Int64(fields[1]) ?? 0 : 0
    }
}

/// How the kernel shares the cores between this process's threads. Nice values are added to the process's own, and any
/// policy other than the default is left alone.
enum ThreadPriority {
    /// Lets the calling thread run as soon as it is ready: since Linux 6.12, by a short slice. The shortest is 0.1 ms.
    static func preferLatency() { set(niceness: 0, slice: 100_000) }

    /// Gives the calling thread a tenth of an ordinary share: enough to finish beside loops that are always busy.
    static func lower() { set(niceness: 10, slice: 3_000_000) }

    private static func set(niceness: Int32, slice: UInt) {
        guard sched_getscheduler(0) == SCHED_OTHER else { return }
        // If this fails, the thread keeps its priority.
        _ = set_thread_share(min(19, getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) + niceness), slice)
    }
}

/// The machine's resources for this process.
enum Machine {
    /// The cores that this process may use.
    static var cores: Int {
        var mask = [UInt64](repeating: 0, count: 128)
        if sched_getaffinity(0, mask.count * 8, &mask) == 0 {
            return max(1, mask.reduce(0) { $0 + $1.nonzeroBitCount })
        }
        return max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    }

    /// Sets malloc's thresholds (glibc; another allocator decides for itself).
    static func limitAllocator(kept: Int, arenas: Int) {
        mallopt(M_TRIM_THRESHOLD, Int32(clamping: kept))
        mallopt(M_MMAP_THRESHOLD, Int32(clamping: kept / 8))
        // An arena keeps its free memory to itself, so more arenas than loops would waste it.
        mallopt(M_ARENA_MAX, Int32(arenas))
    }
}
