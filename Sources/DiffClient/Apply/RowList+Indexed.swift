import SnapshotKit

extension RowList {
    /// This list after the `changes` of an `indexed` changeset: a batch with an operation for each row. O(n +
    /// operations).
    ///
    /// - Throws: `ApplyError` if an index is out of range or named twice, or if this is anything else.
    public func applying(indexed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(indexed: JSONSlice(checking: changes))
    }

    func applying(indexed changes: JSONSlice) throws(ApplyError) -> RowList {
        try applying(try IndexBatch(indexed: changes), sectionsCarryRows: false)
    }
}

extension IndexBatch {
    /// Reads the `changes` of an `indexed` changeset, to be applied by rules of your own. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else.
    public init(indexed changes: consuming [UInt8]) throws(ApplyError) {
        try self.init(indexed: JSONSlice(checking: changes))
    }

    fileprivate init(indexed changes: JSONSlice) throws(ApplyError) {
        try self.init(try changes.object(["sections", "items"]), namesBoth: true)
    }
}
