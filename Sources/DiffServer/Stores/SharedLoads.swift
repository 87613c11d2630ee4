import HTTPCore

/// Requests that wait for the same load: the first one loads, and all of them are told the result.
final class SharedLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let waiting = Locked<[Key: [Completion<Value>]]>([:])

    /// Waits with the others. True for the first, which has to load, and then to tell all that are `taken`.
    func join(_ key: Key, _ done: @escaping Completion<Value>) -> Bool {
        waiting.withLock { waiting in
            waiting[key, default: []].append(done)
            return waiting[key]?.count == 1
        }
    }

    /// All that wait now, to be told. A later request loads again.
    func taken(_ key: Key) -> [Completion<Value>] { waiting.withLock { $0.removeValue(forKey: key) ?? [] } }
}
