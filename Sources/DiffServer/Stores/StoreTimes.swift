import DiffClock

/// How long a store's operations took, as measured by those who waited. Any thread may add to it.
public final class StoreTimes: Sendable {
    /// The operations of a store.
    public enum Operation: String, CaseIterable, Sendable { case load, commit, delete, list, revoke, lease }

    fileprivate let times = Locked<[Operation: Histogram]>([:])

    init() {}

    /// A histogram for each operation that has occurred.
    public var values: [(operation: Operation, times: Histogram)] {
        let times = times.withLock { $0 }
        return Operation.allCases.compactMap { each in times[each].map { (each, $0) } }
    }
}

extension Progress where Failure == StoreFailure {
    /// The result of `begin`, as by `of`, whose time is added to `times`.
    public static func timed(
        _ operation: StoreTimes.Operation, in times: StoreTimes, _ begin: (@escaping Completion<Value>) -> Void
    ) -> Progress {
        let began = Instant.now
        return .of { done in
            begin { result in
                let time = .now - began
                times.times.withLock { $0[operation, default: Histogram()].add(time) }
                done(result)
            }
        }
    }
}
