// A writer whose source knows nothing of what is expanded should not expand, with each new state, what a reader has
// collapsed. So what a document says nothing of can be as it is in the state before. That is settled when the document
// has been read: what was taken over from that state has its flags already, since the same text says the same or
// nothing; all else is looked up there by its id.

/// The sections and items that a document says to be expanded, by their indexes. Who says nothing is in neither set.
struct SaidExpanded {
    var sections: Set<Int> = []
    var items: Set<Int> = []
}

extension ColumnsBuilder {
    /// Collapses what is collapsed in a known state, unless it was said to be expanded. O(sections + items that are in
    /// none of the runs).
    ///
    /// - Parameter runs: what was taken over from the known state.
    mutating func keepExpanded(
        of known: Columns, but said: SaidExpanded, _ runs: [ReusedRun], in text: StateText
    ) {
        place.hasKept = true
        text.withView { text in
            known.withView { known in
                for index in sections.indices where !said.sections.contains(index) {
                    let id = sections[index].hashedID(in: text)
                    if let old = known.section(withID: id, hash: sections[index].hash),
                        known.sections[old].flags.contains(.isCollapsed)
                    {
                        collapse(section: index)
                    }
                }
                runs.forOthers(of: nodes.count) { index in
                    if said.items.contains(index) { return }
                    let id = nodes[index].hashedID(in: text)
                    if let old = known.item(withID: id, hash: nodes[index].hash),
                        known.nodes[old].flags.contains(.isCollapsed)
                    {
                        collapse(item: index)
                    }
                }
            }
        }
    }
}

extension IdentifiedRecord {
    /// The text of the id, of which the hash is known from now on.
    fileprivate mutating func hashedID(in text: TextView) -> UnsafeRawBufferPointer {
        let id = text.bytes(at: idStart, Int(idCount))
        if hash == 0 { hash = idHash(text.at(idStart), Int(idCount)) }
        return id
    }
}
