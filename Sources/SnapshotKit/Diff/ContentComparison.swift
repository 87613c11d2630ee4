/// Tells whether what a common item or section shows differs. Items are asked for in ascending order of the new state.
protocol ContentComparison {
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
        run = EqualRun(old.bytes, count: old.columns.bytes.count, new.bytes, count: new.columns.bytes.count)
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
    private let new: Fingerprints

    init(_ old: ColumnsView, _ fingerprints: Fingerprints) {
        self.old = old
        new = fingerprints
    }

    func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool {
        old.fingerprints[oldItem].content == new.items[newItem].content
    }

    func hasSameKind(item oldItem: Int, _ newItem: Int) -> Bool {
        old.fingerprints[oldItem].kind == new.items[newItem].kind
    }

    func hasSameContent(section oldSection: Int, _ newSection: Int) -> Bool {
        old.columns.sectionFingerprints[oldSection] == new.sections[newSection]
    }
}
