/// Runs work on its own thread, one piece after the other: the view of an event loop for code that needs no more of it.
public protocol WorkExecutor: AnyObject, Sendable {
    /// Runs `work` soon; calls from one thread keep their order. From any thread.
    func execute(_ work: @escaping @Sendable () -> Void)
    /// Runs `work`: at once if the caller is on the executor's thread, else soon.
    func perform(_ work: @escaping @Sendable () -> Void)
}
