extension ColumnsAssembly {
    /// The columns with the first section and item of each id, in document order, and the records that were left out.
    /// Items go with their children, sections with their items; what is in these does not count as the first. O(items).
    static func distinct(
        _ view: ColumnsView, _ duplicates: [ColumnsBuilder.Duplicate]
    ) -> (Columns, left: [RecordIndex]) {
        // The first record with the same id, of those that share theirs.
        var firsts: [RecordIndex: RecordIndex] = [:]
        for each in duplicates { for record in each.records { firsts[record] = each.records[0] } }
        var taken: Set<RecordIndex> = []
        var left: [RecordIndex] = []
        let takes = { (record: RecordIndex) -> Bool in
            guard let first = firsts[record] else { return true }
            if taken.insert(first).inserted { return true }
            left.append(record)
            return false
        }
        var assembly = ColumnsAssembly(list: view.columns.list)
        for (index, section) in view.sections.enumerated() where takes(.section(index)) {
            assembly.beginSection(section)
            var item = Int(section.firstItem)
            while item < Int(section.endItem) {
                if takes(.item(item)) {
                    assembly.append(item..<item + 1, isReused: false)
                    item += 1
                } else {
                    item = Int(view.nodes[item].end)
                }
            }
            assembly.endSection()
        }
        return (assembly.finish(from: view, text: view.columns.text, isIndexed: true).columns, left)
    }
}
