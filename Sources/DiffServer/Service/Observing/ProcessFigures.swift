import FoundationEssentials
import Glibc
import HTTPCore

/// What the kernel knows of this process, under the names that Prometheus' own client libraries use. Figures that
/// cannot be read, because /proc is missing, are left out.
struct ProcessFigures {
    /// User and system time.
    private var processorSeconds: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
    }

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
            "diffserver_build_info", "gauge", "1, with the version of the program.",
            [("version=\"\(Version.text)\"", 1)])
        text.counter("process_cpu_seconds_total", "Processor time, user and system.", processorSeconds)
        if let memory = Self.memory {
            text.gauge("process_resident_memory_bytes", "Memory that the process has.", memory.resident)
            text.gauge("process_virtual_memory_bytes", "Memory that it has addresses for.", memory.virtual)
        }
        if let openDescriptors { text.gauge("process_open_fds", "Descriptors that are open.", openDescriptors) }
        text.gauge("process_max_fds", "Descriptors that may be open.", Descriptors.limit)
        if let start = Self.start {
            text.gauge("process_start_time_seconds", "When the process started, since 1970.", start)
        }
    }

    private static func clock(_ id: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(id, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
