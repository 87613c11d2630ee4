import Dispatch

/// A result that is there already, or will be.
public enum Progress<Value: Sendable, Failure: Error> {
    case done(Result<Value, Failure>)
    case pending(Promise<Value, Failure>)

    /// The result of `begin`, which calls back once, on any thread, before it returns or later.
    public static func of(_ begin: (@escaping @Sendable (Result<Value, Failure>) -> Void) -> Void) -> Progress {
        let promise = Promise<Value, Failure>()
        begin { promise.keep($0) }
        return promise.result.map(Progress.done) ?? .pending(promise)
    }

    /// The same with another value.
    public func map<Other>(_ transform: @escaping @Sendable (Value) -> Other) -> Progress<Other, Failure> {
        switch self {
        case .done(let result): .done(result.map(transform))
        case .pending(let promise): .of { done in promise.whenKept { done($0.map(transform)) } }
        }
    }

    /// Blocks until it is done: only for the start of the process.
    @discardableResult
    public func wait() -> Result<Value, Failure> {
        switch self {
        case .done(let result): return result
        case .pending(let promise):
            let isKept = DispatchSemaphore(value: 0)
            promise.whenKept { _ in isKept.signal() }
            isKept.wait()
            return promise.result!
        }
    }

    /// Calls back once it is done: at once, or on the thread that finishes it.
    public func whenDone(_ continuation: @escaping @Sendable (Result<Value, Failure>) -> Void) {
        switch self {
        case .done(let result): continuation(result)
        case .pending(let promise): promise.whenKept(continuation)
        }
    }
}

/// A result that will be there later. It is given once, and taken once.
public final class Promise<Value: Sendable, Failure: Error>: Sendable {
    private enum State {
        case open
        case awaited(@Sendable (Result<Value, Failure>) -> Void)
        case kept(Result<Value, Failure>)
    }

    private let state = Locked(State.open)

    /// A promise that nobody has kept yet.
    public init() {}

    /// The result, if it is there.
    var result: Result<Value, Failure>? {
        guard case .kept(let result) = state.withLock({ $0 }) else { return nil }
        return result
    }

    /// Gives the result, once.
    public func keep(_ result: Result<Value, Failure>) {
        let before = state.withLock { exchange(&$0, with: .kept(result)) }
        switch before {
        case .open: break
        case .awaited(let continuation): continuation(result)
        case .kept: preconditionFailure("a promise is kept once")
        }
    }

    /// Calls back with the result: at once, or on the thread that gives it.
    public func whenKept(_ continuation: @escaping @Sendable (Result<Value, Failure>) -> Void) {
        let result = state.withLock { state -> Result<Value, Failure>? in
            switch state {
            case .open: state = .awaited(continuation)
            case .awaited: preconditionFailure("a promise is awaited once")
            case .kept(let result): return result
            }
            return nil
        }
        if let result { continuation(result) }
    }
}
