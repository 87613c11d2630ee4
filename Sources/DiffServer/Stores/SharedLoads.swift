import DiffClock

/// Merges requests for the same load: the first one loads, and all get its result.
public final class SharedLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Waiting {
        var completions: [Key: [Completion<Value>]] = [:]
        var count = 0
    }

    private let limit: Int
    private static var guaranteed: Int { 16 }
    private let waiting = Locked(Waiting())

    /// - Parameter limit: the most that may wait for all loads; beyond it, `guaranteed` may still wait for each.
    public init(limit: Int = .max) { self.limit = limit }

    /// Waits with the others. True for the first, which must load, and then call all that it removes.
    public func join(_ key: Key, _ done: @escaping Completion<Value>) -> Bool {
        let isFirst: Bool? = waiting.withLock { waiting in
            let others = waiting.completions[key]?.count ?? 0
            guard waiting.count < limit || others < Self.guaranteed else { return nil }
            waiting.count += 1
            waiting.completions[key, default: []].append(done)
            return others == 0
        }
        if isFirst == nil { done(.failure(.crowded)) }
        return isFirst ?? false
    }

    /// Removes those that wait, to be called with the result. A later request loads again.
    public func removeAll(for key: Key) -> [Completion<Value>] {
        waiting.withLock { waiting in
            let removed = waiting.completions.removeValue(forKey: key) ?? []
            waiting.count -= removed.count
            return removed
        }
    }
}
