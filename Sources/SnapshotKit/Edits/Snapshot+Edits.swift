extension Snapshot {
    /// The state after a batch of edits, applied in order, all or none.
    ///
    /// The remaining ids, contents and kinds stay as written. O(edits + their bytes), and O(items) to copy about 36
    /// bytes each.
    ///
    /// - Parameter limits: bounds on the resulting state; intermediate states may be larger.
    /// - Returns: the new state, what to redraw though nothing changed, and what is known to be the same in both
    ///   states. Marks of rows that a later edit deleted are left out.
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
