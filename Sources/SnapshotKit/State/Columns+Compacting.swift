extension Columns {
    /// The same state over a text of its own, which holds nothing else. O(items + bytes).
    func compacted() -> Columns {
        withView { view in
            var buffer = TokenBuffer(capacity: text.count - text.dead)
            var (nodes, payloads, sections) = (nodes, payloads, sections)
            var list = list
            if list.count > 0 { list.start = UInt32(truncatingIfNeeded: buffer.append(value: view.listContent)) }
            for section in sections.indices {
                let content = view.content(ofSection: section)
                sections[section].idStart = UInt32(truncatingIfNeeded: buffer.append(view.id(ofSection: section)))
                if sections[section].flags.contains(.hasContent) {
                    sections[section].contentStart = UInt32(truncatingIfNeeded: buffer.append(value: content))
                }
            }
            for item in nodes.indices {
                let (node, payload) = (nodes[item], view.payload(ofItem: item))
                var inside: Int?
                if node.flags.contains(.hasContent) {
                    let start = buffer.append(value: view.content(ofItem: item))
                    payloads[item].contentStart = UInt32(truncatingIfNeeded: start)
                    // Where a pointer led to the id, it stands inside its item's content already.
                    let offset = Int(node.idStart) - Int(payload.contentStart)
                    if !node.flags.contains(.escapedID), (0..<Int(payload.contentCount)).contains(offset) {
                        inside = start + offset
                    }
                }
                if node.flags.contains(.hasKind) {
                    let start = buffer.append(value: view.kind(ofItem: item))
                    payloads[item].kindStart = UInt32(truncatingIfNeeded: start)
                }
                nodes[item].idStart = UInt32(truncatingIfNeeded: inside ?? buffer.append(view.id(ofItem: item)))
            }
            return Columns(
                text: StateText(buffer.padded()), list: list, nodes: nodes, sections: sections, payloads: payloads,
                itemTable: itemTable, sectionTable: sectionTable, rowOfItem: rowOfItem, itemOfRow: itemOfRow,
                structure: structure)
        }
    }
}
