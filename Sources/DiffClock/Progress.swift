import Dispatch
import Synchronization

/// A result that exists already, or will.
public enum Progress<Value: Sendable, Failure: Error> {
    case done(Result<Value, Failure>)
    case pending(Promise<Value, Failure>)

    /// The result of `begin`, which calls back once, on any thread, before it returns or later.
    public static func of(_ begin: (@escaping @Sendable (Result<Value, Failure>) -> Void) -> Void) -> Progress {
        let promise = Promise<Value, Failure>()
        begin { promise.keep($0) }
        return promise.result.map(Progress.done) ?? .pending(promise)
    }

    /// The progress of a transformed value.
    public func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> Progress<Other, Failure> {
        switch self {
        case .done(let result): .done(result.map(transform))
        case .pending(let promise): .of { done in promise.whenKept { done($0.map(transform)) } }
        }
    }

    /// Blocks until it is done: only for the start of the process.
    @discardableResult
    public func wait() -> Result<Value, Failure> {
        let isDone = DispatchSemaphore(value: 0)
        let kept = Locked<Result<Value, Failure>?>(nil)
        whenDone { result in
            kept.withLock { $0 = result }
            isDone.signal()
        }
        isDone.wait()
        return kept.withLock { $0! }
    }

    /// Calls back once it is done: at once, or on the thread that finishes it.
    public func whenDone(_ continuation: @escaping @Sendable (Result<Value, Failure>) -> Void) {
        switch self {
        case .done(let result): continuation(result)
        case .pending(let promise): promise.whenKept(continuation)
        }
    }
}

/// A result that will exist later. It is given once, and taken once.
///
/// One object and no lock: whichever side comes first leaves its part, and the other takes it.
public final class Promise<Value: Sendable, Failure: Error>: @unchecked Sendable {
    /// Takes the result.
    public typealias Continuation = @Sendable (Result<Value, Failure>) -> Void

    private let state = Atomic(PromiseState.open)
    /// Written by the side that gives it, before the state is `kept`, unless that side finds it awaited.
    private var given: Given?
    /// Written by the side that awaits it, before the state is `awaited`.
    private var continuation: Continuation?

    private final class Given {
        let result: Result<Value, Failure>

        init(_ result: Result<Value, Failure>) { self.result = result }
    }

    /// A promise that nobody has kept yet.
    public init() {}

    /// The result, if it existed before it was awaited.
    var result: Result<Value, Failure>? { state.load(ordering: .acquiring) == .kept ? given?.result : nil }

    /// Gives the result, once.
    public func keep(_ result: Result<Value, Failure>) {
        if state.load(ordering: .relaxed) == .open { given = Given(result) }
        switch state.exchange(.kept, ordering: .acquiringAndReleasing) {
        case .open: break
        case .awaited: continuation.take()?(result)
        case .kept: preconditionFailure("a promise is kept once")
        }
    }

    /// Calls back with the result: at once, or on the thread that gives it.
    public func whenKept(_ continuation: @escaping Continuation) {
        self.continuation = continuation
        let (isAwaited, before) = state.compareExchange(
            expected: .open, desired: .awaited, ordering: .acquiringAndReleasing)
        guard !isAwaited else { return }
        guard before == .kept, let given else { preconditionFailure("a promise is awaited once") }
        self.continuation = nil
        continuation(given.result)
    }
}

/// Not nested in the promise: there it would be a different type for each kind of promise, looked up at run time.
private enum PromiseState: UInt8, AtomicRepresentable { case open, awaited, kept }
