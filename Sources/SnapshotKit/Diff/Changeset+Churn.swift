extension Changeset {
    /// Whether more than half of the new rows have new ids, but known content: ids that are generated each time a list
    /// is decoded turn every refresh into a replacement. O(1) if few rows are new, else O(bytes).
    public var showsIdentityChurn: Bool {
        guard counts.insertions * 2 > oldRowOfNew.count else { return false }
        let arrivals = oldRowOfNew.count { $0 < 0 }
        guard arrivals * 2 > oldRowOfNew.count else { return false }
        return old.withView { old in
            new.withView { new in
                var gone: Set<UInt64> = []
                for row in newRowOfOld.indices where newRowOfOld[row] < 0 {
                    let item = old.item(ofRow: row)
                    guard old.nodes[item].flags.contains(.hasContent) else { continue }
                    gone.insert(contentMark(item, old))
                }
                guard !gone.isEmpty else { return false }
                var known = 0
                for row in oldRowOfNew.indices where oldRowOfNew[row] < 0 {
                    let item = new.item(ofRow: row)
                    guard new.nodes[item].flags.contains(.hasContent) else { continue }
                    if gone.contains(contentMark(item, new)) { known += 1 }
                }
                return known * 2 > oldRowOfNew.count
            }
        }
    }

    private func contentMark(_ item: Int, _ view: ColumnsView) -> UInt64 {
        fingerprint(of: view.content(ofItem: item), by: .process, ignoring: ignored)
    }
}
