import SnapshotKit

extension RowList {
    /// This list after the `changes` of an `indexed` changeset: one batch in which each row is named by itself. O(n +
    /// operations).
    ///
    /// - Throws: `ApplyError`: an index beyond the list, one that is named twice, or anything that is no such batch.
    public func applying(indexed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(indexed: JSONSlice(checking: changes))
    }

    func applying(indexed changes: JSONSlice) throws(ApplyError) -> RowList {
        try applying(try IndexBatch(indexed: changes), sectionsCarryRows: false)
    }
}

extension IndexBatch {
    /// Reads the `changes` of an `indexed` changeset, for batch rules of one's own. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else.
    public init(indexed changes: consuming [UInt8]) throws(ApplyError) {
        try self.init(indexed: JSONSlice(checking: changes))
    }

    fileprivate init(indexed changes: JSONSlice) throws(ApplyError) {
        try self.init(try changes.object(["sections", "items"]), namesBoth: true)
    }
}
