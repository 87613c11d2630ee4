// A writer whose source does not track expansion should not expand, with every state it posts, what a reader has
// collapsed. So `expanded`, if a document omits it, can keep its value from the state before. That is settled once the
// document has been read: items taken over from that state have its flags already, since equal text says the same or
// nothing; all others are looked up there by id.

extension ColumnsBuilder {
    /// Collapses what is collapsed in a known state, unless the document says it is expanded. O(sections + items in
    /// none of the runs).
    ///
    /// - Parameters:
    ///   - said: the records that the document says are expanded.
    ///   - runs: what was taken over from the known state.
    mutating func keepExpanded(
        of known: Columns, but said: Set<RecordIndex>, _ runs: [ReusedRun], in text: StateText
    ) {
        place.hasKept = true
        text.withView { text in
            known.withView { known in
                for index in sections.indices where !said.contains(.section(index)) {
                    let id = sections[index].hashedID(in: text)
                    if let old = known.section(withID: id, hash: sections[index].hash),
                        known.sections[old].flags.contains(.isCollapsed)
                    {
                        collapse(.section(index))
                    }
                }
                runs.forOthers(of: nodes.count) { index in
                    if said.contains(.item(index)) { return }
                    let id = nodes[index].hashedID(in: text)
                    if let old = known.item(withID: id, hash: nodes[index].hash),
                        known.nodes[old].flags.contains(.isCollapsed)
                    {
                        collapse(.item(index))
                    }
                }
            }
        }
    }
}

extension IdentifiedRecord {
    /// The text of the id. Hashes it, unless that was done.
    fileprivate mutating func hashedID(in text: TextView) -> UnsafeRawBufferPointer {
        let id = text.bytes(at: idStart, Int(idCount))
        if hash == 0 { hash = idHash(text.at(idStart), Int(idCount)) }
        return id
    }
}
