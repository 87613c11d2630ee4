import CSystem

/// Memory that the allocator holds and nobody uses.
enum FreeMemory {
    /// Gives it back to the system where it is more than `limit` bytes: sessions that were evicted leave holes between those that stay.
    static func giveBack(above limit: Int) {
        if mallinfo2().fordblks > limit { malloc_trim(0) }
    }
}
