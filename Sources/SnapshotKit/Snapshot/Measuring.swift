// What the benchmarks measure against. Not for programs: a system programming interface, invisible without its name.

extension Snapshot {
    /// Hashes the id of every item once, and folds the hashes together: the least that any diff by ids does to a list it has not
    /// seen before. O(n).
    @_spi(Measuring)
    public func foldedIDHashes() -> UInt64 {
        columns.withView { view in
            view.nodes.reduce(0) { $0 ^ UInt64(idHash(view.bytes + Int($1.idStart), Int($1.idCount))) }
        }
    }

    /// Reads a state as `init(json:)` does, but leaves out the table of ids; returns how many items there are. O(n).
    @_spi(Measuring)
    public static func countItems(inJSON json: consuming [UInt8]) throws(StateError) -> Int {
        try StateDocument(json).scan(.native, limits: .none).builder.nodes.count
    }
}
