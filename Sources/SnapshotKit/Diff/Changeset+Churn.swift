extension Changeset {
    /// Whether more than half of the new rows have new ids but known content: ids that are generated each time a list
    /// is decoded turn every refresh into a replacement. O(1) if few rows are new, else O(bytes).
    public var showsIdentityChurn: Bool {
        guard counts.insertions * 2 > oldRowOfNew.count else { return false }
        guard oldRowOfNew.count(where: { $0 < 0 }) * 2 > oldRowOfNew.count else { return false }
        let gone = Set(old.withView { contentMarks(newRowOfOld, $0) })
        guard !gone.isEmpty else { return false }
        return new.withView { contentMarks(oldRowOfNew, $0) }.count(where: gone.contains) * 2 > oldRowOfNew.count
    }

    /// Hashes of the contents of those rows that have no partner in the other state.
    private func contentMarks(_ partners: [Int32], _ view: ColumnsView) -> [UInt64] {
        partners.indices.filter { partners[$0] < 0 }.map(view.item(ofRow:))
            .filter { view.nodes[$0].flags.contains(.hasContent) }
            .map { fingerprint(of: view.content(ofItem: $0), by: .process, ignoring: ignored) }
    }
}
