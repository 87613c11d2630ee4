/// Runs work on a thread of its own, one piece after the other: an event loop, to those who need not know more of it.
public protocol WorkExecutor: AnyObject, Sendable {
    /// Runs `work` soon; calls from one thread keep their order. From any thread.
    func execute(_ work: @escaping @Sendable () -> Void)
    /// Runs `work`: at once if the caller is on the executor's thread, else soon.
    func perform(_ work: @escaping @Sendable () -> Void)
}
