/// Tells whether what a common item or section shows differs. Items are asked for in ascending order of the new state.
protocol ContentComparison {
    /// Of two items with the same index, which both have a content or both have none, and with ids of the same length:
    /// whether id and content are the same.
    mutating func hasSameIDAndContent(item: Int) -> Bool
    mutating func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool
    mutating func hasSameKind(item oldItem: Int, _ newItem: Int) -> Bool
    mutating func hasSameContent(section oldSection: Int, _ newSection: Int) -> Bool
}

/// Both contents are at hand.
struct SnapshotComparison: ContentComparison {
    private let old: ColumnsView
    private let new: ColumnsView
    private let ignored: IgnoredPlaces
    private var run: EqualRun

    init(_ old: ColumnsView, _ new: ColumnsView, ignoring ignored: IgnoredPlaces) {
        self.old = old
        self.new = new
        self.ignored = ignored
        run = EqualRun(old.bytes, count: old.byteCount, new.bytes, count: new.byteCount)
    }

    /// An id and the content behind it are one comparison, since they have the same bytes in between as a rule.
    @inline(__always)
    mutating func hasSameIDAndContent(item: Int) -> Bool {
        let (id, otherID) = (Int(old.nodes[item].idStart), Int(new.nodes[item].idStart))
        guard new.nodes[item].flags.contains(.hasContent) else {
            return run.isEqual(id, otherID, Int(old.nodes[item].idCount))
        }
        let (one, other) = (old.payloads[item], new.payloads[item])
        let (start, otherStart) = (Int(one.contentStart), Int(other.contentStart))
        if start - id == otherStart - otherID, start > id, one.contentCount == other.contentCount {
            if run.isEqual(id, otherID, start - id + Int(one.contentCount)) { return true }
        }
        return run.isEqual(id, otherID, Int(old.nodes[item].idCount)) && hasSameContent(item: item, item)
    }

    @inline(__always)
    mutating func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool {
        let (one, other) = (old.payloads[oldItem], new.payloads[newItem])
        if one.contentCount == other.contentCount,
            run.isEqual(Int(one.contentStart), Int(other.contentStart), Int(one.contentCount))
        {
            return true
        }
        return sameValue(old.content(ofItem: oldItem), new.content(ofItem: newItem), ignoring: ignored)
    }

    func hasSameKind(item oldItem: Int, _ newItem: Int) -> Bool {
        old.kindText(ofItem: oldItem) == new.kindText(ofItem: newItem)
    }

    func hasSameContent(section oldSection: Int, _ newSection: Int) -> Bool {
        sameValue(old.content(ofSection: oldSection), new.content(ofSection: newSection), ignoring: .none)
    }
}

/// Of the old content only a fingerprint is left.
struct SkeletonComparison: ContentComparison {
    private let old: ColumnsView
    private let new: ColumnsView
    private let oldPrints: Fingerprints
    private let newPrints: Fingerprints

    init(_ old: ColumnsView, _ new: ColumnsView, _ oldPrints: Fingerprints, _ newPrints: Fingerprints) {
        (self.old, self.new, self.oldPrints, self.newPrints) = (old, new, oldPrints, newPrints)
    }

    @inline(__always)
    func hasSameIDAndContent(item: Int) -> Bool {
        old.nodes[item].hasSameID(as: new.nodes[item], old.bytes, new.bytes) && hasSameContent(item: item, item)
    }

    func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool {
        oldPrints.items[oldItem].content == newPrints.items[newItem].content
    }

    func hasSameKind(item oldItem: Int, _ newItem: Int) -> Bool {
        oldPrints.items[oldItem].kind == newPrints.items[newItem].kind
    }

    func hasSameContent(section oldSection: Int, _ newSection: Int) -> Bool {
        oldPrints.sections[oldSection] == newPrints.sections[newSection]
    }
}
