extension Snapshot {
    /// The item with an id, hidden ones included. O(1).
    public func item(withID id: String) -> StateItem? { item(withID: Array(id.utf8)) }

    /// The item whose id's text has these UTF-8 bytes. O(1).
    public func item(withID id: [UInt8]) -> StateItem? {
        id.withUnsafeBytes(columns.item(withID:)).map { StateItem(columns: columns, index: $0) }
    }

    /// The item shown at a path; nil if there is none. O(1).
    public func item(at path: ItemPath) -> StateItem? {
        columns.item(at: path).map { StateItem(columns: columns, index: $0) }
    }

    /// The section with an id. O(1).
    public func section(withID id: String) -> StateSection? { section(withID: Array(id.utf8)) }

    /// The section whose id's text has these UTF-8 bytes. O(1).
    public func section(withID id: [UInt8]) -> StateSection? {
        id.withUnsafeBytes(columns.section(withID:)).map { StateSection(columns: columns, index: $0) }
    }

    /// The list's own content, verbatim; nil if it has none.
    public var content: [UInt8]? {
        columns.withView { $0.listContent.isEmpty ? nil : Array($0.listContent) }
    }

    /// The sections, in order; each is found in O(1).
    public var sections: StateSections { StateSections(columns: columns) }
}
