// One batch: everything that is deleted or moved is taken out by its index before, everything that is inserted or moved
// is put in by its index after, and what is named by neither keeps its order and fills the gaps. Which is how
// UITableView, UICollectionView and a careful reader of `indexed` understand such indexes alike.

extension RowList {
    /// The list after a batch. `sectionsCarryRows`: sections come with their rows and take them along; else each row is
    /// named itself.
    func applying(_ batch: IndexBatch, sectionsCarryRows: Bool) throws(ApplyError) -> RowList {
        try batch.requireNoneTwice()
        try requireRange(batch)
        var list = RowList()
        let taken = rowsTakenOut(batch)
        if !sectionsCarryRows { try requireEmpty(batch, taken) }
        list.sections = try sectionsAfter(batch, remaining: taken)
        try list.putIn(batch, from: self)
        try list.update(batch, from: self)
        return list
    }

    /// Checks all indexes that count in the list before.
    private func requireRange(_ batch: IndexBatch) throws(ApplyError) {
        let places = batch.sections.deleted + batch.sections.moved.map(\.from) + batch.sections.updated.map(\.from)
        for section in places where !sections.indices.contains(section) {
            throw ApplyError(.outOfRange, "there is no section \(section) before", at: batch.offset)
        }
        let paths = batch.items.deleted + batch.items.moved.map(\.from) + batch.items.updated.map(\.from)
        for path in paths
        where !sections.indices.contains(path.section) || !sections[path.section].rows.indices.contains(path.row) {
            throw ApplyError(.outOfRange, "there is no row \(path) before", at: batch.offset)
        }
    }

    private func requireEmpty(_ batch: IndexBatch, _ taken: [[Row]]) throws(ApplyError) {
        for section in batch.sections.deleted where !taken[section].isEmpty {
            throw ApplyError(.wrongShape, "section \(section) is deleted, but not all of its rows", at: batch.offset)
        }
        if let full = batch.insertedSections.first(where: { !$0.rows.isEmpty }) {
            throw ApplyError(.wrongShape, "rows of the new section \"\(full.id)\" come by themselves", at: batch.offset)
        }
    }

    /// What is left of each section's rows.
    private func rowsTakenOut(_ batch: IndexBatch) -> [[Row]] {
        var gone: [Int: Set<Int>] = [:]
        for path in batch.items.deleted { gone[path.section, default: []].insert(path.row) }
        for move in batch.items.moved { gone[move.from.section, default: []].insert(move.from.row) }
        return sections.indices.map { section in
            guard let places = gone[section] else { return sections[section].rows }
            return sections[section].rows.indices.filter { !places.contains($0) }.map { sections[section].rows[$0] }
        }
    }

    private func sectionsAfter(_ batch: IndexBatch, remaining: [[Row]]) throws(ApplyError) -> [Section] {
        let left = { (section: Int) in
            var left = sections[section]
            left.rows = remaining[section]
            return left
        }
        var arrivals: [Int: Section] = [:]
        for (at, section) in zip(batch.sections.inserted, batch.insertedSections) { arrivals[at] = section }
        for move in batch.sections.moved { arrivals[move.to] = left(move.from) }
        let leavers = Set(batch.sections.deleted + batch.sections.moved.map(\.from))
        let staying = sections.indices.filter { !leavers.contains($0) }.map(left)
        return try merged(staying, arrivals, "section", at: batch.offset)
    }

    /// Puts rows in that are inserted, or moved from the list before.
    private mutating func putIn(_ batch: IndexBatch, from before: RowList) throws(ApplyError) {
        var arrivals: [Int: [Int: Row]] = [:]
        for (at, row) in zip(batch.items.inserted, batch.insertedRows) {
            arrivals[at.section, default: [:]][at.row] = row
        }
        for move in batch.items.moved { arrivals[move.to.section, default: [:]][move.to.row] = before[move.from] }
        for (section, arrivals) in arrivals {
            guard sections.indices.contains(section) else {
                throw ApplyError(.outOfRange, "there is no section \(section) after", at: batch.offset)
            }
            sections[section].rows = try merged(
                sections[section].rows, arrivals, "row of section \(section)", at: batch.offset)
        }
    }

    /// Puts what arrives at its places, and what stays in the gaps, in order.
    private func merged<Element>(
        _ staying: [Element], _ arrivals: [Int: Element], _ what: String, at offset: Int
    ) throws(ApplyError) -> [Element] {
        let count = staying.count + arrivals.count
        if let place = arrivals.keys.first(where: { !(0..<count).contains($0) }) {
            throw ApplyError(.outOfRange, "there is no \(what) \(place) after", at: offset)
        }
        var next = staying.makeIterator()
        return (0..<count).map { arrivals[$0] ?? next.next()! }
    }

    private mutating func update(_ batch: IndexBatch, from before: RowList) throws(ApplyError) {
        for (update, changed) in zip(batch.items.updated, batch.updatedRows) {
            guard sections.indices.contains(update.at.section),
                sections[update.at.section].rows.indices.contains(update.at.row),
                self[update.at].id == before[update.from].id
            else { throw ApplyError(.outOfRange, "\(update.from) does not come to \(update.at)", at: batch.offset) }
            sections[update.at.section].rows[update.at.row] =
                try changed.applied(to: before[update.from], at: batch.offset)
        }
        for (update, changed) in zip(batch.sections.updated, batch.updatedSections) {
            guard sections.indices.contains(update.at), sections[update.at].id == before.sections[update.from].id else {
                throw ApplyError(.outOfRange, "section \(update.from) does not come to \(update.at)", at: batch.offset)
            }
            sections[update.at] = try changed.applied(to: sections[update.at], at: batch.offset)
        }
    }
}

extension IndexBatch {
    /// Checks that no two operations name one place: before, what is deleted or moved; after, what is inserted or
    /// moved; and what is updated is neither deleted nor updated twice.
    fileprivate func requireNoneTwice() throws(ApplyError) {
        try requireNoneTwice(sections)
        try requireNoneTwice(items)
    }

    private func requireNoneTwice<Index>(_ operations: Operations<Index>) throws(ApplyError) {
        try requireNoneTwice(operations.deleted + operations.moved.map(\.from), "before")
        try requireNoneTwice(operations.inserted + operations.moved.map(\.to), "after")
        try requireNoneTwice(operations.deleted + operations.updated.map(\.from), "before")
        try requireNoneTwice(operations.inserted + operations.updated.map(\.at), "after")
    }

    private func requireNoneTwice<Index: Hashable>(_ places: [Index], _ when: StaticString) throws(ApplyError) {
        var seen: Set<Index> = []
        for place in places where !seen.insert(place).inserted {
            throw ApplyError(.namedTwice, "two operations name \(place) \(when)", at: offset)
        }
    }
}
