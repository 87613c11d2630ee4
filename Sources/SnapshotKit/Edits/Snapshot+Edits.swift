extension Snapshot {
    /// The state after a batch of edits, which are applied in order, all of them or none.
    ///
    /// Ids, contents and kinds of what is left are kept as they were written. O(items + bytes + edits).
    ///
    /// - Parameter limits: bounds on the state that comes out; what it holds in between may be larger.
    /// - Returns: the new state, and what is to be drawn again though nothing changed. A mark of what a later edit
    ///   deleted is left out.
    /// - Throws: `EditError.refused` with what is wrong with the first edit that does not fit, or `.limitExceeded`.
    public func applying(
        _ batch: EditBatch, limits: StateLimits = StateLimits()
    ) throws(EditError) -> (snapshot: Snapshot, marks: Marks) {
        try columns.withView { (view) throws(EditError) in
            try batch.bytes.withUnsafeBufferPointer { (bytes) throws(EditError) in
                var state = EditedState(view, batch, UnsafeRawPointer(bytes.baseAddress!))
                for index in batch.edits.indices {
                    let violations = state.apply(index, limit: limits.maxViolations)
                    if !violations.isEmpty { throw .refused(violations) }
                }
                try state.checkCounts(limits)
                guard state.isTouched else { return (self, state.finalMarks()) }
                var writer = EditedStateWriter(state, limits: limits)
                return (try writer.write(), state.finalMarks())
            }
        }
    }
}

extension EditedState {
    fileprivate func checkCounts(_ limits: StateLimits) throws(EditError) {
        if sectionCount > limits.maxSections, sectionCount > old.sections.count {
            throw .limitExceeded(
                what: "sections", limit: limits.maxSections, actual: sectionCount,
                pointer: pointerToLastInsert(.sections))
        }
        if itemCount > limits.maxItems, itemCount > old.nodes.count {
            throw .limitExceeded(
                what: "items", limit: limits.maxItems, actual: itemCount, pointer: pointerToLastInsert(.items))
        }
    }

    private func pointerToLastInsert(_ subject: Edit.Subject) -> String {
        let last = batch.edits.lastIndex {
            $0.operation == .insert && ($0.subject == subject || $0.subject == .sections)
        }
        return batch.pointer(toEdit: last ?? 0)
    }
}
