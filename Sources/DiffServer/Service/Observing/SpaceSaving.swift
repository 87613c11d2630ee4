import SnapshotKit

/// Counts names in memory that does not grow: the space-saving sketch of Metwally, Agrawal and El Abbadi (Efficient
/// Computation of Frequent and Top-k Elements in Data Streams, 2005). A name without a counter takes over the smallest,
/// and what that has counted is its error. So what was counted of a name is from `count - error` to `count`.
///
/// The hash of a name chooses one of 32 sketches of eight counters, so that a name, or the smallest counter, is found
/// among eight without a table or a heap. With n counted in a set, an error is at most n / 8.
struct SpaceSaving: Sendable {
    /// A name with its hash. Hashes stand for names: of a million names two agree once in 37 million processes.
    struct Key: Sendable {
        let name: String
        let hash: UInt64

        init(_ name: String) {
            var text = name
            // Never that of an empty counter.
            hash = text.withUTF8 { KeyedHash.process.digest(of: UnsafeRawBufferPointer($0)) } | 1
            self.name = name
        }
    }

    private struct Counter {
        var name = ""
        var hash: UInt64 = 0
        var count = 0
        var error = 0
    }

    private static let setSize = 8
    private var counters = [Counter](repeating: Counter(), count: 32 * setSize)

    /// The names with counters.
    var keys: [Key] { counters.filter { $0.count > 0 }.map { Key($0.name) } }

    /// Counts an amount of a name, above 0. O(1).
    @inline(__always)
    mutating func add(_ amount: Int, to key: Key) {
        let index = index(of: key.hash)
        if counters[index].hash != key.hash {
            let error = counters[index].count
            counters[index] = Counter(name: key.name, hash: key.hash, count: error, error: error)
        }
        counters[index].count += amount
    }

    /// The bounds of what was counted of a name: from `count - error` to `count`.
    func estimate(of key: Key) -> (count: Int, error: Int) {
        let counter = counters[index(of: key.hash)]
        return (counter.count, counter.hash == key.hash ? counter.error : counter.count)
    }

    /// The index of the counter with a hash, or of the smallest of its set.
    @inline(__always)
    private func index(of hash: UInt64) -> Int {
        let start = Int(hash >> 59) * Self.setSize
        var smallest = start
        for index in start..<start + Self.setSize {
            if counters[index].hash == hash { return index }
            if counters[index].count < counters[smallest].count { smallest = index }
        }
        return smallest
    }
}
