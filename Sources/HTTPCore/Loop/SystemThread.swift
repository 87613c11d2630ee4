import CDiffSystem
import Glibc

/// A thread of the system, for what never returns: loops, workers, whoever watches them.
///
/// Not of Dispatch's pools. The one of serial queues has at most 255 threads, so the 256th loop would never turn; those
/// behind global and concurrent queues are watched by reading `/proc` for each thread, and the process traps when no
/// descriptor is left for that.
public enum SystemThread {
    /// Starts a thread that ends with `body`.
    ///
    /// - Parameter name: as debuggers and `top -H` show it; 15 octets of it.
    public static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
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
