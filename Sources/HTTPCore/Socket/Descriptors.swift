// A connection that has no descriptor cannot even be told so: it waits in the backlog, and whatever else the process
// would open fails meanwhile. So the limit is known beforehand, and connections get what is left of it behind
// everything else.

import Glibc

/// The process's limit of open descriptors (getrlimit(2), RLIMIT_NOFILE).
public enum Descriptors {
    /// How many the process may have open.
    public static var limit: Int { Int(clamping: resource.rlim_cur) }

    /// Raises the limit as far as the process may by itself.
    public static func raiseLimit() {
        var raised = resource
        raised.rlim_cur = raised.rlim_max
        // If it fails, the limit stays what it was, and connections are fewer.
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised)
    }

    private static var resource: rlimit {
        var resource = rlimit()
        _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &resource)
        return resource
    }

    /// How many are open: those below 8,192, one call each. More than that no process has before it takes connections.
    static var open: Int { (0..<Int32(min(limit, 8192))).count { fcntl($0, F_GETFD) >= 0 } }
}

/// How many connections the process has descriptors for.
struct ConnectionCapacity: Equatable, Sendable {
    /// Connections at once that are served.
    let connections: Int
    /// Connections beyond them that may live until they have heard 503; still more are closed without a word.
    let overflow: Int

    /// The most that may hear 503 at once.
    static let mostOverflow = 256

    /// - Parameters:
    ///   - wanted: connections, where descriptors do not matter.
    ///   - free: descriptors that are not taken, nor kept for something else.
    /// - Returns: nil where there is no room for one connection, and for one more to be told so.
    init?(for wanted: Int, free: Int) {
        guard free >= 2, wanted >= 1 else { return nil }
        overflow = min(Self.mostOverflow, max(1, free / 8))
        connections = min(wanted, free - overflow)
    }
}
