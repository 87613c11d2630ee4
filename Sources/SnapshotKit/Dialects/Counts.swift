// For readers that do not show the changes yet, only how many there are: the lengths of the lists of `indexed`.

extension ChangesetView {
    func writeCounts(into writer: inout JSONWriter) {
        writer.append("{")
        for (name, counts): (StaticString, OperationCounts) in [
            ("\"sections\":{", change.sectionCounts), ("\"items\":{", change.itemCounts),
        ] where counts.total > 0 {
            writer.separate()
            writer.append(name)
            for (name, count): (StaticString, Int) in [
                ("\"deleted\":", counts.deletions), ("\"inserted\":", counts.insertions),
                ("\"moved\":", counts.moves), ("\"updated\":", counts.updates),
            ] where count > 0 {
                writer.separate()
                writer.emit(name, count)
            }
            writer.append("}")
        }
        writer.append("}")
    }
}
