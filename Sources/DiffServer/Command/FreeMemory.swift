import CDiffSystem
import Dispatch
import Glibc
import Synchronization

/// Memory that the allocator holds and nobody uses: sessions that were evicted leave holes between those that stay.
struct FreeMemory {
    /// Bytes of the process beyond those that are accounted for, from which on it is worth a try.
    let slack: Int
    /// What the process had when the last try was of no use.
    private var useless: Int?

    init(slack: Int) { self.slack = slack }

    /// Gives it back to the system where the process holds `slack` bytes more than the `used` ones that are accounted
    /// for. Each try walks over the whole heap, under its locks; so one that brought less than a quarter of the slack
    /// is not repeated before the process has grown by as much, or has shrunk.
    ///
    /// - Parameters:
    ///   - resident: the process's memory in bytes; nil if it is not known.
    ///   - trim: gives back what it can.
    mutating func giveBack(
        used: Int, resident: () -> Int? = { ProcessFigures.memory?.resident }, trim: () -> Void = { malloc_trim(0) }
    ) {
        guard let before = resident(), before > used + slack else { return useless = nil }
        if let useless, before > useless - slack / 4, before < useless + slack / 4 { return }
        trim()
        useless = resident().flatMap { $0 > before - slack / 4 ? $0 : nil }
    }
}

/// Gives back what evicted sessions held as soon as that is much: until then the process holds it beside what takes
/// its place, which seldom fits into the holes.
///
/// Four clients that put states of 1 KB to 1 MB to ever new sessions with 64 MiB bring the process to 94 to 103 MiB,
/// and without this to 121 to 132, where 112 are promised. A put of theirs costs half as much again for it.
final class EvictedMemory: Sendable {
    /// Bytes that are worth a walk over the heap.
    private let worth: Int
    private let bytes = Atomic<Int>(0)
    private let queue = DispatchQueue(label: "diff.memory")

    init(worth: Int) { self.worth = worth }

    /// Counts bytes that were just freed. From any thread; the walk is done elsewhere.
    func add(_ freed: Int) {
        let before = bytes.add(freed, ordering: .relaxed).oldValue
        guard before < worth, before + freed >= worth else { return }
        queue.async { [self] in
            bytes.store(0, ordering: .relaxed)
            malloc_trim(0)
        }
    }
}
