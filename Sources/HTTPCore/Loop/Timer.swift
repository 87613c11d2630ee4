/// Work that is to run once, later. Cancelling it is safe from any thread; on its loop it is also final.
public final class Timer: @unchecked Sendable {
    // `alarm` and `isCancelled` belong to the loop; the handle only carries them.
    private let loop: EventLoop
    private(set) var isCancelled = false
    let alarm: Alarm

    init(loop: EventLoop, _ work: @escaping @Sendable () -> Void) {
        self.loop = loop
        alarm = Alarm(work)
    }

    /// Takes the work back unless it ran already.
    public func cancel() {
        if loop.isCurrent { cancelOnLoop() } else { loop.execute { self.cancelOnLoop() } }
    }

    private func cancelOnLoop() {
        isCancelled = true
        loop.disarm(alarm)
    }
}
