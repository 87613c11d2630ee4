// Most states that follow each other begin alike, and many are the same throughout. What they begin with is found in
// one walk that touches each byte once: the same records, the same ids, the same contents, hence the same rows in the
// same places. It needs no pairing, no search for what stays, and no second look.
//
// Why it may be left out of the search: these rows come first in both states. Whatever longest run the others have,
// these in front of it make a longer one, and each of them is at its old index.

extension ChangesetDraft {
    /// How many items both states begin with and show alike; whole subtrees, in sections that are paired by index.
    /// O(result).
    static func unchangedStart<Comparison: ContentComparison>(
        _ old: ColumnsView, _ new: ColumnsView, _ sections: Pairing, _ comparison: inout Comparison,
        _ alike: [Likeness.Run]
    ) -> Int {
        guard old.allVisible, new.allVisible else { return 0 }
        let shared = sections.oldOfNew.indices.prefix { Int(sections.oldOfNew[$0]) == $0 }.count
        guard shared > 0 else { return 0 }
        let limit = Int(min(old.sections[shared - 1].endItem, new.sections[shared - 1].endItem))
        var alike = AlikeItems(alike)
        var item = 0
        while item < limit {
            if let end = alike.end(of: item, at: item), old.nodes[item].section == new.nodes[item].section {
                item = end
                continue
            }
            guard Node.areAlike(old.nodes.baseAddress! + item, new.nodes.baseAddress! + item),
                comparison.hasSameIDAndContent(item: item),
                !new.nodes[item].flags.contains(.hasKind) || comparison.hasSameKind(item: item, item)
            else { break }
            item += 1
        }
        return withoutOpenAncestors(item, old)
    }

    /// Ancestors of what follows may have other children than before: they, and all after them, are not known to be
    /// unchanged.
    private static func withoutOpenAncestors(_ count: Int, _ old: ColumnsView) -> Int {
        guard count < old.nodes.count else { return count }
        var count = count
        var parent = Int(old.nodes[count].parent)
        while parent >= 0 {
            count = parent
            parent = Int(old.nodes[parent].parent)
        }
        return count
    }
}

extension Node {
    /// Whether two nodes are the same but for where their ids stand in the text: all fields behind the first, as words.
    @inline(__always)
    fileprivate static func areAlike(_ one: UnsafePointer<Node>, _ other: UnsafePointer<Node>) -> Bool {
        let (left, right) = (UnsafeRawPointer(one) + 4, UnsafeRawPointer(other) + 4)
        return (load64(left) ^ load64(right)) | (load64(left + 8) ^ load64(right + 8))
            | (load32(left + 16) ^ load32(right + 16)) == 0
    }
}
