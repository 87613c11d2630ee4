/// Tells whether what a common item or section shows differs.
protocol ContentComparison {
    func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool
    func hasSameKind(item oldItem: Int, _ newItem: Int) -> Bool
    func hasSameContent(section oldSection: Int, _ newSection: Int) -> Bool
}

/// Both contents are at hand.
struct SnapshotComparison: ContentComparison {
    let old: ColumnsView
    let new: ColumnsView
    let ignored: IgnoredPlaces

    @inline(__always)
    func hasSameContent(item oldItem: Int, _ newItem: Int) -> Bool {
        sameValue(old.content(ofItem: oldItem), new.content(ofItem: newItem), ignoring: ignored)
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
    let oldPrints: Fingerprints
    let newPrints: Fingerprints

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
