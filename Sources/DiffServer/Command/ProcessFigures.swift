import CDiffSystem
import DiffService
import FoundationEssentials
import HTTPCore

/// What the kernel knows of this process, under the names used by Prometheus' own client libraries. Figures that cannot
/// be read, because /proc is missing, are left out.
struct ProcessFigures {
    /// Bytes of address space, and those in physical memory (proc_pid_statm(5)).
    static var memory: (virtual: Int, resident: Int)? {
        let pages = Files.text("/proc/self/statm").split(separator: " ").prefix(2).compactMap { Int($0) }
        let size = Int(getpagesize())
        return pages.count == 2 ? (pages[0] * size, pages[1] * size) : nil
    }

    /// Linux 6.2 and later report the count as the directory's size; before that, entries have to be counted.
    private var openDescriptors: Int? {
        var status = stat()
        guard stat("/proc/self/fd", &status) == 0 else { return nil }
        if status.st_size > 0 { return status.st_size }
        return try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// When the process started, in seconds since 1970. The time of boot is computed from the clocks, since a service
    /// manager may hide /proc/stat.
    private static let start: Double? = {
        // The name, in parentheses, may hold blanks; after it, the start is the twentieth number (proc_pid_stat(5)).
        let numbers = Files.text("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard numbers.count > 19, let ticks = Double(numbers[19]) else { return nil }
        return clock(CLOCK_REALTIME) - clock(CLOCK_BOOTTIME) + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    func write(into text: inout MetricsText) {
        text.family(
            "diffserver_build_info", "gauge", "Always 1, labelled with the program's version.",
            [("version=\"\(Version.text)\"", 1)])
        text.counter(
            "process_cpu_seconds_total", "Processor time, user and system.", Self.clock(CLOCK_PROCESS_CPUTIME_ID))
        if let memory = Self.memory {
            text.gauge("process_resident_memory_bytes", "Resident memory of the process.", memory.resident)
            text.gauge("process_virtual_memory_bytes", "Virtual memory of the process.", memory.virtual)
        }
        if let openDescriptors { text.gauge("process_open_fds", "Open file descriptors.", openDescriptors) }
        text.gauge("process_max_fds", "Limit on open file descriptors.", Descriptors.limit)
        if let start = Self.start {
            text.gauge("process_start_time_seconds", "Start time of the process, in seconds since 1970.", start)
        }
    }

    private static func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(id, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The limits that a container or a service manager has set for the process (cgroups(7)).
package struct ControlGroup {
    /// The path before `/proc` and `/sys`.
    var root = ""

    /// Bytes of memory; nil without a limit. The lowest limit of the process's group and its ancestors, since each is
    /// enforced.
    ///
    /// In a container, often only the process's own group is visible, as `/`. A path from outside is not found there,
    /// and the walk up ends at the visible group.
    var memoryLimit: Int? {
        for line in Files.text(root + "/proc/self/cgroup").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3 else { continue }
            if parts[0] == "0", let limit = least("/sys/fs/cgroup", parts[2], "memory.max") { return limit }
            if parts[1].split(separator: ",").contains("memory") {
                return least("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes")
            }
        }
        return least("/sys/fs/cgroup", "/", "memory.max")
    }

    private func least(_ mount: String, _ path: String, _ file: String) -> Int? {
        let groups = path.split(separator: "/").map(String.init)
        let limits = (0...groups.count).compactMap { depth in
            let folder = ([root + mount] + groups.prefix(depth)).joined(separator: "/")
            return Int(Files.text("\(folder)/\(file)").prefix { $0 != "\n" })
        }
        // Unlimited is `max`, or in version 1 a number that no machine has.
        return limits.filter { $0 < 1 << 50 }.min()
    }
}
