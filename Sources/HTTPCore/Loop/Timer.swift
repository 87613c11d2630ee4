/// Work to be run once, later. It can be cancelled from any thread; on its loop that always comes in time.
public final class Timer: @unchecked Sendable {
    // `alarm` and `isCancelled` are confined to the loop.
    private let loop: EventLoop
    private(set) var isCancelled = false
    let alarm: Alarm

    init(loop: EventLoop, _ work: @escaping @Sendable () -> Void) {
        self.loop = loop
        alarm = Alarm(work)
    }

    /// Cancels the work unless it has run already.
    public func cancel() {
        loop.perform { [self] in
            isCancelled = true
            loop.disarm(alarm)
        }
    }
}
