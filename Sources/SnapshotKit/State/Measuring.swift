// What the benchmarks compare with. An SPI, not for programs.

extension Snapshot {
    /// Hashes the id of every item once, and folds the hashes together: the least work of any diff by ids for a list it
    /// has not seen before. O(n).
    @_spi(Measuring)
    public func foldedIDHashes() -> UInt64 {
        let hash = KeyedHash.process
        return columns.withView { view in
            var folded: UInt64 = 0
            for node in view.nodes { folded ^= hash.hash(view.text.at(node.idStart), Int(node.idCount)) }
            return folded
        }
    }

    /// Reads a state as `init(json:)` does, but without the table of ids; returns the number of items. O(n).
    @_spi(Measuring)
    public static func countItems(inJSON json: consuming [UInt8]) throws(StateError) -> Int {
        try StateDocument(json).scan(.native, limits: .none).builder.nodes.count
    }
}
