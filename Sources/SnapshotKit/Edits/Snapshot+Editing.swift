extension EditBatch {
    /// Edits from Swift values. O(bytes).
    ///
    /// Contents are written as their own `encode(to:)` says. Where an encoder's strategies are wanted, or Foundation's
    /// forms of `Data`, `URL` and `Decimal`: `EditBatch(json: [UInt8](try JSONEncoder().encode(edits)))`.
    ///
    /// - Throws: `EditError`, and what a content throws while it is encoded.
    public init(_ edits: [ListEdit], limits: StateLimits = StateLimits()) throws {
        var writer = JSONWriter()
        try writer.append(encoding: edits)
        try self.init(json: writer.bytes(), limits: limits)
    }
}

extension Snapshot {
    /// The state after edits, applied in order, all or none, like a batch.
    ///
    /// ```swift
    /// let edited = try list.applying(.move("c", at: .start), .update("a", Card(title: "New")))
    /// print(Changeset(from: list, to: edited.snapshot, marks: edited.marks))
    /// ```
    ///
    /// - Throws: `EditError`, whose pointers begin at the array of the edits: `/0/before`; and what a content throws
    ///   while it is encoded.
    public func applying(_ edits: ListEdit...) throws -> (snapshot: Snapshot, marks: Marks, shared: SharedRuns?) {
        try applying(edits)
    }

    /// The state after edits, applied in order, all or none, like a batch.
    public func applying(
        _ edits: [ListEdit], limits: StateLimits = StateLimits()
    ) throws -> (snapshot: Snapshot, marks: Marks, shared: SharedRuns?) {
        try applying(EditBatch(edits, limits: limits), limits: limits)
    }

    /// The state with the items of another one in a section, whose content and position stay: `apply(_:to:)` of Apple's
    /// data sources. What is in both is the same item. O(items + bytes of the other state).
    ///
    /// - Parameter other: any state, such as the answer of a call of its own; its sections and their contents are left
    ///   out.
    /// - Throws: `EditError.refused` if there is no such section, or if an item with one of the ids is in another.
    public func replacing(
        itemsOf section: some ElementIDConvertible, by other: Snapshot
    ) throws(EditError) -> (snapshot: Snapshot, marks: Marks, shared: SharedRuns?) {
        var writer = JSONWriter(capacity: other.textBytes + other.itemCount * 8 + 256)
        writer.append("[{\"op\":\"clear\",\"sections\":[")
        writer.append(id: section.elementID)
        writer.append("]},{\"op\":\"insert\",\"into\":{\"section\":")
        writer.append(id: section.elementID)
        writer.append("},\"items\":[")
        other.columns.withView { writer.append(documents: 0..<other.itemCount, of: $0) }
        writer.append("]}]")
        return try applying(EditBatch(json: writer.bytes(), limits: .none), limits: .none)
    }
}
