import CDiffSystem
import Glibc

/// A thread of its own, for loops, workers, and whatever else runs permanently.
///
/// Not one of Dispatch's. Its pool for serial queues has at most 255 threads, so the 256th loop would never turn; those
/// for global and concurrent queues are monitored through `/proc`, and trap when there is no descriptor left for that.
public enum SystemThread {
    /// Starts a thread that ends with `body`.
    ///
    /// - Parameter name: shown by debuggers and `top -H`, up to 15 octets.
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
