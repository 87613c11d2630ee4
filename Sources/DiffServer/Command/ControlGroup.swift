/// The limits that a container or a service manager has set for the process (cgroups(7)).
struct ControlGroup {
    /// The path before `/proc` and `/sys`.
    var root = ""

    /// Bytes of memory; nil without a limit. The lowest limit of the process's group and its ancestors, since each is
    /// enforced.
    ///
    /// In a container, often only the process's own group is visible, as `/`. A path from outside is not found there,
    /// and the walk up ends at the visible group.
    var memoryLimit: Int? {
        for line in text("/proc/self/cgroup").split(separator: "\n") {
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
        var groups = path.split(separator: "/")
        var limits: [Int] = []
        while true {
            let folder = ([mount] + groups.map(String.init)).joined(separator: "/")
            // Unlimited is `max`, or in version 1 a number that no machine has.
            if let limit = Int(text("\(folder)/\(file)").prefix { $0 != "\n" }), limit < 1 << 50 {
                limits.append(limit)
            }
            if groups.popLast() == nil { return limits.min() }
        }
    }

    private func text(_ path: String) -> String { Files.text(root + path) }
}
