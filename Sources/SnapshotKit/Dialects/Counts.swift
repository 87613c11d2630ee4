// For who does not show the changes yet, but how many there are: the numbers that the lists of `indexed` would have.

extension ChangesetView {
    func writeCounts(into writer: inout JSONWriter) {
        let all = change.counts
        let sections = OperationCounts(
            deletions: old.sections.indices.count { isGone(oldSection: $0) },
            insertions: new.sections.indices.count { isNew(section: $0) },
            moves: new.sections.indices.count { !isNew(section: $0) && !stays(section: $0) },
            updates: new.sections.indices.count { isUpdated(section: $0) })
        let items = OperationCounts(
            deletions: all.deletions - sections.deletions, insertions: all.insertions - sections.insertions,
            moves: all.moves - sections.moves, updates: all.updates - sections.updates)
        writer.append(byte: UInt8(ascii: "{"))
        var groups = JSONList()
        writer.append("\"sections\":{", sections, &groups)
        writer.append("\"items\":{", items, &groups)
        writer.append(byte: UInt8(ascii: "}"))
    }
}

extension JSONWriter {
    /// The numbers but zeros; nothing where all are.
    fileprivate mutating func append(_ name: StaticString, _ counts: OperationCounts, _ groups: inout JSONList) {
        guard counts.total > 0 else { return }
        groups.separate(&self)
        append(name)
        var list = JSONList()
        for (name, count): (StaticString, Int) in [
            ("\"deleted\":", counts.deletions), ("\"inserted\":", counts.insertions), ("\"moved\":", counts.moves),
            ("\"updated\":", counts.updates),
        ] where count > 0 {
            list.separate(&self)
            emit(name, count)
        }
        append(byte: UInt8(ascii: "}"))
    }
}
