extension Snapshot {
    /// The state after a batch of edits, which are applied in order, all of them or none.
    ///
    /// Ids, contents and kinds of what is left are kept as they were written. O(edits + bytes of these), and O(items)
    /// for copying some 36 bytes each.
    ///
    /// - Parameter limits: bounds on the state that comes out; what it holds in between may be larger.
    /// - Returns: the new state, what is to be drawn again though nothing changed, and what is known to be the same in
    ///   both states. A mark of what a later edit deleted is left out.
    /// - Throws: `EditError.refused` with what is wrong with the first edit that does not fit, or `.limitExceeded`.
    public func applying(
        _ batch: EditBatch, limits: StateLimits = StateLimits()
    ) throws(EditError) -> (snapshot: Snapshot, marks: Marks, reused: ReusedRuns?) {
        try columns.withView { (view) throws(EditError) in
            try batch.bytes.withUnsafeBufferPointer { (bytes) throws(EditError) in
                var state = EditedState(view, batch, UnsafeRawPointer(bytes.baseAddress!))
                for index in batch.edits.indices {
                    let violations = state.apply(index, limit: limits.maxViolations)
                    if !violations.isEmpty { throw .refused(violations) }
                }
                guard state.isTouched else { return (self, state.finalMarks(), nil) }
                var writer = EditedStateWriter(state, limits: limits)
                let (snapshot, reused) = try writer.write()
                return (snapshot, state.finalMarks(), reused)
            }
        }
    }
}
