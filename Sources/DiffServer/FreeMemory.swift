import CSystem
import Glibc

/// Memory that the allocator holds and nobody uses.
enum FreeMemory {
    /// Gives it back to the system where the process holds `slack` bytes more than the `used` ones that are accounted for: sessions that were
    /// evicted leave holes between those that stay.
    static func giveBack(used: Int, slack: Int) {
        guard let resident, resident > used + slack else { return }
        malloc_trim(0)
    }

    /// Memory of the process that is in use, in bytes (proc(5), statm).
    private static var resident: Int? {
        guard let text = try? Files.read("/proc/self/statm") else { return nil }
        let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }
}
