extension RowList {
    /// This list after the `changes` of an `indexed` changeset: one batch in which each row is named by itself. O(n +
    /// operations).
    ///
    /// - Throws: `ApplyError`: an index beyond the list, one that is named twice, or anything that is no such batch.
    public func applying(indexed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        let batch = try IndexBatch(indexed: changes)
        let list = try applying(batch, sectionsCarryRows: false)
        try list.requireUniqueIDs(at: 0)
        return list
    }
}

extension IndexBatch {
    /// Reads the `changes` of an `indexed` changeset, for batch rules of one's own. O(n).
    ///
    /// - Throws: `ApplyError` if it is anything else.
    public init(indexed changes: consuming [UInt8]) throws(ApplyError) {
        self = try ChangeText.read(changes) { (text) throws(ApplyError) in
            var batch = IndexBatch()
            try text.members(of: text.root) { (name, place) throws(ApplyError) in
                if name.isText("sections") {
                    try batch.readSections(place, text, namesBoth: true)
                } else if name.isText("items") {
                    try batch.readItems(place, text, namesBoth: true)
                } else {
                    throw text.unknownMember(name, place)
                }
            }
            return batch
        }
    }
}
