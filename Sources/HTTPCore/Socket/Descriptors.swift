// Without a free descriptor a client cannot even be refused: it waits in the backlog, while everything else that the
// process tries to open fails. So connections get only what the limit leaves after everything else.

import CDiffSystem

/// The process's limit of open descriptors (getrlimit(2), RLIMIT_NOFILE).
public enum Descriptors {
    /// The most that the process may have open.
    public static var limit: Int { Int(clamping: resource.rlim_cur) }

    /// Raises the limit as far as the process is allowed to.
    public static func raiseLimit() {
        var raised = resource
        raised.rlim_cur = raised.rlim_max
        // If this fails, the limit stays, and there are fewer connections.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
    }

    private static var resource: rlimit {
        var resource = rlimit()
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &resource)
        return resource
    }

    /// How many are open, counted with a call for each up to 8,192: no process has more before it accepts connections.
    static var open: Int { (0..<Int32(min(limit, 8192))).count { fcntl($0, F_GETFD) >= 0 } }
}

/// How many connections there are descriptors for.
struct ConnectionCapacity: Equatable, Sendable {
    let connections: Int
    /// How many more are answered 503; beyond that, connections are closed silently.
    let overflow: Int

    /// The most connections answered 503 at once.
    fileprivate static let maxOverflow = 256

    /// Nil if `free` descriptors have no room for at least one connection and one refusal.
    init?(for wanted: Int, free: Int) {
        guard free >= 2, wanted >= 1 else { return nil }
        overflow = min(Self.maxOverflow, max(1, free / 8))
        connections = min(wanted, free - overflow)
    }
}
