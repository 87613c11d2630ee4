// Most successive states differ only in what their items show: the ids, their order and their nesting are those of the
// state before. Once that is known, no new table of ids is needed, and no pairing.

/// Identifies the ids of a state's sections and items, their order and nesting, which members they have and how they
/// are written: states with the same structure agree in all of that. States that agree may still have different
/// structure ids, if nothing has compared them.
final class StructureID: Sendable {}

extension ColumnsBuilder {
    /// Whether the records are those of a known state, apart from ranges of text and hidden flags; then they also take
    /// their hashes from there. O(sections + items in none of the runs).
    mutating func hasStructure(of known: Columns, reused runs: [ReusedRun], in text: TextView) -> Bool {
        guard nodes.count == known.nodes.count, sections.count == known.sections.count,
            runs.allSatisfy({ $0.isInPlace })
        else { return false }
        return known.withView { view in
            let isSame = runs.allOthers(of: nodes.count) { item in
                guard nodes[item].isWrittenLike(view.nodes[item], text, view.text) else { return false }
                nodes[item].hash = view.nodes[item].hash
                return true
            }
            guard isSame,
                sections.indices.allSatisfy({ sections[$0].isWrittenLike(view.sections[$0], text, view.text) })
            else { return false }
            for index in sections.indices { sections[index].hash = view.sections[index].hash }
            return true
        }
    }
}

extension Node {
    /// Whether another node is the same, apart from its hash and where its id is.
    fileprivate func isWrittenLike(_ other: Node, _ ours: TextView, _ theirs: TextView) -> Bool {
        idCount == other.idCount && level == other.level && flags == other.flags.subtracting(.isHidden)
            && !flags.contains(.escapedID)
            && section == other.section && parent == other.parent && end == other.end
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }
}

extension SectionNode {
    /// Whether another section is the same, apart from its hash, its rows and where its texts are.
    fileprivate func isWrittenLike(_ other: SectionNode, _ ours: TextView, _ theirs: TextView) -> Bool {
        idCount == other.idCount && flags == other.flags && !flags.contains(.escapedID)
            && firstItem == other.firstItem && endItem == other.endItem
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }
}
