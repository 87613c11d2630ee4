// Applying a batch: whatever is deleted or moved is removed by its index before the batch, and whatever is inserted or
// moved is put at its index after it; everything else keeps its order and fills the gaps. UITableView and
// UICollectionView interpret indexes in the same way.

import SnapshotKit

extension RowList {
    /// The list after a batch. `sectionsCarryRows`: sections take their rows along; otherwise each row has its own
    /// operation.
    func applying(_ batch: IndexBatch, sectionsCarryRows: Bool) throws(ApplyError) -> RowList {
        try batch.sections.requireNoneTwice(at: batch.offset)
        try batch.items.requireNoneTwice(at: batch.offset)
        try requireRange(batch)
        let taken = rowsTakenOut(batch)
        if !sectionsCarryRows { try requireEmpty(batch, taken) }
        var list = RowList(content: content, sections: try sectionsAfter(batch, remaining: taken))
        try list.putIn(batch, from: self)
        try list.update(batch, from: self)
        try list.requireUniqueIDs(at: batch.offset)
        return list
    }

    private func contains(_ path: ItemPath) -> Bool {
        sections.indices.contains(path.section) && sections[path.section].rows.indices.contains(path.row)
    }

    /// Checks all indexes in the list before the batch.
    private func requireRange(_ batch: IndexBatch) throws(ApplyError) {
        let before = (
            batch.sections.sources + batch.sections.updated.map(\.from),
            batch.items.sources + batch.items.updated.map(\.from)
        )
        if let section = before.0.first(where: { !sections.indices.contains($0) }) {
            throw ApplyError(.outOfRange, "there is no section \(section) before", at: batch.offset)
        }
        if let path = before.1.first(where: { !contains($0) }) {
            throw ApplyError(.outOfRange, "there is no row \(path) before", at: batch.offset)
        }
    }

    private func requireEmpty(_ batch: IndexBatch, _ taken: [[Row]]) throws(ApplyError) {
        for section in batch.sections.deleted where !taken[section].isEmpty {
            throw ApplyError(.wrongShape, "section \(section) is deleted, but not all of its rows", at: batch.offset)
        }
        if let full = batch.sections.arrivals.first(where: { !$0.rows.isEmpty }) {
            throw ApplyError(.wrongShape, "rows of the new section \"\(full.id)\" come by themselves", at: batch.offset)
        }
    }

    /// The rows that remain in each section.
    private func rowsTakenOut(_ batch: IndexBatch) -> [[Row]] {
        var gone: [Int: Set<Int>] = [:]
        for path in batch.items.sources { gone[path.section, default: []].insert(path.row) }
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
        for (at, section) in zip(batch.sections.inserted, batch.sections.arrivals) { arrivals[at] = section }
        for move in batch.sections.moved { arrivals[move.to] = left(move.from) }
        let leavers = Set(batch.sections.sources)
        let staying = sections.indices.filter { !leavers.contains($0) }.map(left)
        return try merged(staying, arrivals, "section", at: batch.offset)
    }

    /// Inserts the rows that are inserted, or moved from the list before.
    private mutating func putIn(_ batch: IndexBatch, from before: RowList) throws(ApplyError) {
        var arrivals: [Int: [Int: Row]] = [:]
        for (at, row) in zip(batch.items.inserted, batch.items.arrivals) {
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

    /// Puts arrivals at their places, and the others into the gaps, in order.
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
        for (place, update) in zip(batch.items.updated, batch.items.updates) {
            guard contains(place.at), self[place.at].id == before[place.from].id else {
                throw ApplyError(.outOfRange, "\(place.from) does not come to \(place.at)", at: batch.offset)
            }
            sections[place.at.section].rows[place.at.row] = try update.applied(to: before[place.from])
        }
        for (place, update) in zip(batch.sections.updated, batch.sections.updates) {
            guard sections.indices.contains(place.at), sections[place.at].id == before.sections[place.from].id else {
                throw ApplyError(.outOfRange, "section \(place.from) does not come to \(place.at)", at: batch.offset)
            }
            var section = try update.applied(to: before.sections[place.from])
            section.rows = sections[place.at].rows
            sections[place.at] = section
        }
    }
}

extension IndexBatch.Operations {
    /// Indexes before the batch of what is deleted or moved.
    var sources: [Index] { deleted + moved.map(\.from) }
    /// Indexes after the batch of what is inserted or moved.
    var targets: [Index] { inserted + moved.map(\.to) }

    /// Checks that no two operations have the same index before or after the batch, and that nothing updated is
    /// deleted, inserted or updated twice.
    fileprivate func requireNoneTwice(at offset: Int) throws(ApplyError) {
        let lists = [
            ("before", sources), ("after", targets), ("before", deleted + updated.map(\.from)),
            ("after", inserted + updated.map(\.at)),
        ]
        for (when, places) in lists {
            var seen: Set<Index> = []
            for place in places where !seen.insert(place).inserted {
                throw ApplyError(.namedTwice, "two operations name \(place) \(when)", at: offset)
            }
        }
    }
}
