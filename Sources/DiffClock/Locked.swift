import CDiffSystem

/// A value behind a pthread mutex, in one object.
///
/// Not `Synchronization.Mutex`: the thread sanitizer does not understand its futex, and reports false races.
public struct Locked<Value>: @unchecked Sendable {
    @usableFromInline final class Storage: ManagedBuffer<Value, pthread_mutex_t> {
        deinit { _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) } }
    }

    @usableFromInline let storage: ManagedBuffer<Value, pthread_mutex_t>

    /// A lock that protects a value.
    public init(_ value: sending Value) {
        storage = Storage.create(minimumCapacity: 1) { _ in value }
        _ = storage.withUnsafeMutablePointerToElements { pthread_mutex_init($0, nil) }
    }

    /// Calls `body` with exclusive access to the value. Not reentrant.
    @inlinable public func withLock<R>(_ body: (inout Value) throws -> R) rethrows -> R {
        try storage.withUnsafeMutablePointers { value, mutex in
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return try body(&value.pointee)
        }
    }
}
