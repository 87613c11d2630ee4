/// The TLS context that new connections begin with; replaced as a whole when the files are read again.
final class Certificates: Sendable {
    private let context = Locked<TLSContext?>(nil)

    var current: TLSContext? {
        get { context.withLock { $0 } }
        set { context.withLock { $0 = newValue } }
    }
}
