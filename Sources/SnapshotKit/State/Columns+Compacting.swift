extension Columns {
    /// What has a content.
    enum ContentOwner { case list, section, item }

    /// Writes what is left of a content; returns whether anything is.
    typealias ContentWriter = (ContentOwner, UnsafeRawBufferPointer, inout JSONWriter) -> Bool

    /// The same state over a text of its own that holds nothing else. O(items + bytes).
    ///
    /// - Parameter cut: cuts contents that are not to be kept whole.
    func compacted(cutting cut: ContentWriter? = nil) -> Columns {
        withView { view in
            var buffer = TokenBuffer(capacity: text.count - text.dead)
            var (nodes, payloads, sections) = (nodes, payloads, sections)
            var list = list
            let append = {
                (owner: ContentOwner, content: UnsafeRawBufferPointer, buffer: inout TokenBuffer) -> Range<Int>? in
                guard let cut else {
                    let start = buffer.append(value: content)
                    return start..<start + content.count
                }
                return buffer.append { cut(owner, content, &$0) }
            }
            if list.count > 0 {
                list = append(.list, view.listContent, &buffer).map(ListContent.init) ?? ListContent()
            }
            for section in sections.indices {
                let content = view.content(ofSection: section)
                sections[section].idStart = UInt32(truncatingIfNeeded: buffer.append(view.id(ofSection: section)))
                if sections[section].flags.contains(.hasContent) {
                    sections[section].setContent(append(.section, content, &buffer))
                }
            }
            for item in nodes.indices {
                let (node, payload) = (nodes[item], view.payload(ofItem: item))
                var inside: Int?
                if node.flags.contains(.hasContent) {
                    if let place = append(.item, view.content(ofItem: item), &buffer) {
                        payloads[item].setContent(place.lowerBound, place.count)
                        // An id that a pointer led to is part of its item's content already.
                        let offset = Int(node.idStart) - Int(payload.contentStart)
                        if cut == nil, !node.flags.contains(.escapedID),
                            (0..<Int(payload.contentCount)).contains(offset)
                        {
                            inside = place.lowerBound + offset
                        }
                    } else {
                        payloads[item].setContent(0, 0)
                        nodes[item].flags.remove(.hasContent)
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
                childCounts: childCounts, outsiders: outsiders, structure: cut == nil ? structure : StructureID())
        }
    }
}
