/// Runs work on its own thread, piece by piece: all of an event loop that some code needs to know.
public protocol WorkExecutor: AnyObject, Sendable {
    /// Runs `work` soon; calls from one thread keep their order. From any thread.
    func execute(_ work: @escaping @Sendable () -> Void)
    /// Runs `work`: at once if the caller is on the executor's thread, else soon.
    func perform(_ work: @escaping @Sendable () -> Void)
}
