// The most common document with groups has the same rows in the same groups as the previous one. Then the known records
// are taken as they are, those of rows that were read are replaced, and offsets of texts are shifted.

extension StateParser {
    /// Takes the records of the known state, if the document has the same rows in the same order, with the same ids
    /// and groups, and with contents and kinds where they had them: only these and the offsets of texts may differ.
    /// O(rows that were read + sections · log items), and O(items) as memory.
    mutating func arrangeAsKnown(_ known: IncrementalParse) -> Bool {
        guard builder.sections.isEmpty, skipped.isEmpty, itemCount == known.view.nodes.count,
            sharedRuns.allSatisfy(\.keepsIndexes), let firstOrdinals = known.ordinalsOfGroups,
            let items = itemsOfKnown(known)
        else { return false }
        let (view, read, rows) = (known.view, builder, Dictionary(uniqueKeysWithValues: zip(items, items.indices)))
        (builder.nodes, builder.payloads) = (Array(view.nodes), Array(view.payloads))
        builder.sections = Array(view.sections)
        for (index, ordinal) in firstOrdinals.enumerated() {
            let section = view.sections[index]
            builder.sections[index].setID(
                rows[Int(section.firstItem)].map { groups.ids[Int(groups.ofRow[$0])] }
                    ?? id(ofKnown: section, view.payloads[Int(section.firstItem)].content, movedWith: ordinal))
        }
        for (run, shift) in zip(sharedRuns, taken.shifts) where shift != 0 {
            known.order.withUnsafeBufferPointer { order in
                builder.shift(order.isEmpty ? nil : order.baseAddress! + run.old, run.old, run.count, by: shift)
            }
        }
        for (row, item) in items.enumerated() {
            var node = read.nodes[row]
            (node.section, node.end) = (view.nodes[item].section, view.nodes[item].end)
            (builder.nodes[item], builder.payloads[item]) = (node, read.payloads[row])
        }
        (builder.documentOrder, builder.showsAnything) = (known.order, true)
        sharedRuns = []
        var next = 0
        for item in items.sorted() + [view.nodes.count] {
            if item > next { sharedRuns.append(SharedRuns.Run(old: next, new: next, count: item - next)) }
            next = item + 1
        }
        return true
    }

    /// Nil if any of the rows that were read has another id or another group.
    private func itemsOfKnown(_ known: IncrementalParse) -> [Int]? {
        let view = known.view
        var (items, row) = ([Int](), 0)
        let areSame = sharedRuns.allOthers(of: view.nodes.count) { ordinal in
            let (item, node) = (known.item(at: ordinal), builder.nodes[row])
            let old = view.nodes[item]
            let section = view.text.bytes(ofID: view.sections[Int(old.section)])
            // Nothing is collapsed in the known state.
            guard node.isWrittenLike(old, TextView(scanner.base), view.text),
                groups.withText(of: Int(groups.ofRow[row]), { $0.hasSameBytes(as: section) })
            else { return false }
            items.append(item)
            row += 1
            return true
        }
        return areSame ? items : nil
    }

    /// The id, here, of a section of the known state whose first row was taken over: in the row's element, or stored.
    private mutating func id(ofKnown section: SectionNode, _ element: Range<Int>, movedWith ordinal: Int) -> FoundID {
        let flags = section.flags.intersection(.integerID)
        if element.contains(Int(section.idStart)), !section.flags.contains(.escapedID) {
            let run = sharedRuns.firstIndex(endingBehind: ordinal)
            let start = Int(section.idStart &+ taken.shifts[run])
            return FoundID(start: start, count: Int(section.idCount), flags: flags)
        }
        return store.append(idText: known!.view.text.bytes(ofID: section))
    }
}

extension ColumnsBuilder {
    fileprivate mutating func shift(_ order: UnsafePointer<UInt32>?, _ first: Int, _ count: Int, by shift: UInt32) {
        nodes.withUnsafeMutableBufferPointer { nodes in
            payloads.withUnsafeMutableBufferPointer { payloads in
                for index in 0..<count {
                    let item = order.map { Int($0[index]) } ?? first + index
                    nodes[item].idStart &+= shift
                    payloads[item].shift(by: shift, nodes[item].flags)
                }
            }
        }
    }
}

extension IncrementalParse {
    /// The ordinals of the sections' first rows, if these are groups in their order, and nothing is collapsed.
    fileprivate var ordinalsOfGroups: [Int]? {
        guard view.allVisible, !view.columns.hasCollapsed, view.columns.settings.shape.mapping?.sectionsAt == nil,
            view.sections.allSatisfy({ $0.firstItem < $0.endItem })
        else { return nil }
        let ordinals = view.sections.map { ordinal(ofItem: Int($0.firstItem)) }
        return zip(ordinals, ordinals.dropFirst()).allSatisfy(<) ? ordinals : nil
    }
}
