import FoundationEssentials
import Glibc
import HTTPCore

/// What the kernel knows of this process, under the names that Prometheus' own clients give it. What cannot be read,
/// for want of /proc, is left out.
struct ProcessFigures {
    /// User and system time.
    private var processorSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
    }

    /// Bytes that the process has addresses for, and those that are in memory (proc_pid_statm(5)).
    static var memory: (virtual: Int, resident: Int)? {
        let pages = Files.text("/proc/self/statm").split(separator: " ").prefix(2).compactMap { Int($0) }
        let size = Int(getpagesize())
        return pages.count == 2 ? (pages[0] * size, pages[1] * size) : nil
    }

    /// Linux 6.2 and later tell the count as the folder's size; before, each has to be looked at.
    private var openDescriptors: Int? {
        var status = stat()
        guard stat("/proc/self/fd", &status) == 0 else { return nil }
        if status.st_size > 0 { return status.st_size }
        return try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    /// When the process started, in seconds since 1970; it never changes. The machine's start is reckoned back from
    /// now, for a service manager may hide /proc/stat.
    private static let start: Double? = {
        // The name, in parentheses, may hold blanks; behind it the start is the twentieth number (proc_pid_stat(5)).
        let numbers = Files.text("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard numbers.count > 19, let ticks = Double(numbers[19]) else { return nil }
        return clock(CLOCK_REALTIME) - clock(CLOCK_BOOTTIME) + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }()

    func write(into text: inout MetricsText) {
        text.family("diffserver_build_info", "gauge", "1, with the version of the program.")
        text.sample("diffserver_build_info", "version=\"\(Version.text)\"", 1)
        text.family("process_cpu_seconds_total", "counter", "Processor time, user and system.")
        text.sample("process_cpu_seconds_total", "", processorSeconds)
        if let memory = Self.memory {
            text.single("process_resident_memory_bytes", "gauge", "Memory that the process has.", memory.resident)
            text.single("process_virtual_memory_bytes", "gauge", "Memory that it has addresses for.", memory.virtual)
        }
        if let openDescriptors {
            text.single("process_open_fds", "gauge", "Descriptors that are open.", openDescriptors)
        }
        text.single("process_max_fds", "gauge", "Descriptors that may be open.", Descriptors.limit)
        if let start = Self.start {
            text.family("process_start_time_seconds", "gauge", "When the process started, since 1970.")
            text.sample("process_start_time_seconds", "", start)
        }
    }

    private static func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(id, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
