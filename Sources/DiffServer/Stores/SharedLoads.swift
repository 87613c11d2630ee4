import HTTPCore

/// Who waits for the same to be loaded: the first one loads it, and the others are told what that came to.
final class SharedLoads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private let waiting = Locked<[Key: [Completion<Value>]]>([:])

    /// Waits with the others; true for the first, who has to load, and then to tell all who are `taken`.
    func join(_ key: Key, _ done: @escaping Completion<Value>) -> Bool {
        waiting.withLock { waiting in
            waiting[key, default: []].append(done)
            return waiting[key]?.count == 1
        }
    }

    /// All who wait by now, to be told. Who comes later begins anew.
    func taken(_ key: Key) -> [Completion<Value>] { waiting.withLock { $0.removeValue(forKey: key) ?? [] } }
}
