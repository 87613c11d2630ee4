import HTTPCore

/// Requests that wait for the same load: the first one loads, and all of them are told the result.
final class SharedLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Waiting {
        var completions: [Key: [Completion<Value>]] = [:]
        var count = 0
    }

    private let most: Int
    private static var fewest: Int { 16 }
    private let waiting = Locked(Waiting())

    /// - Parameter most: how many may wait, for all loads together. Beyond that, one more is refused if `fewest` wait
    ///   for the same load.
    init(most: Int = .max) { self.most = most }

    /// Waits with the others. True for the first, which has to load, and then to tell all that are `taken`.
    func join(_ key: Key, _ done: @escaping Completion<Value>) -> Bool {
        let isFirst: Bool? = waiting.withLock { waiting in
            let others = waiting.completions[key]?.count ?? 0
            guard waiting.count < most || others < Self.fewest else { return nil }
            waiting.count += 1
            waiting.completions[key, default: []].append(done)
            return others == 0
        }
        if isFirst == nil { done(.failure(.crowded)) }
        return isFirst ?? false
    }

    /// All that wait now, to be told. A later request loads again.
    func taken(_ key: Key) -> [Completion<Value>] {
        waiting.withLock { waiting in
            let taken = waiting.completions.removeValue(forKey: key) ?? []
            waiting.count -= taken.count
            return taken
        }
    }
}
