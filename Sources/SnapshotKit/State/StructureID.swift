// Most states that follow each other differ in what their items show, and in nothing else: the ids, their order and
// their nesting are those of the state before. Who has seen that need not build a table of the ids again, nor pair
// them.

/// Stands for the ids of all sections and items of a state, their order, their nesting, which members they have and how
/// they are written: states with the same structure agree in all of that. Two states that agree may still have two
/// of these, where nobody has compared them.
final class StructureID: Sendable {}

extension ColumnsBuilder {
    /// Whether the records are those of a known state, but for where their texts stand, ranges and hidden flags aside.
    /// Those that are then get their hashes from there. O(sections + items that are in none of the runs).
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
    /// Whether another node is the same but for its hash, and where its id stands.
    fileprivate func isWrittenLike(_ other: Node, _ ours: TextView, _ theirs: TextView) -> Bool {
        idCount == other.idCount && level == other.level && flags == other.flags.subtracting(.isHidden)
            && !flags.contains(.escapedID)
            && section == other.section && parent == other.parent && end == other.end
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }
}

extension SectionNode {
    /// The same of a section.
    fileprivate func isWrittenLike(_ other: SectionNode, _ ours: TextView, _ theirs: TextView) -> Bool {
        idCount == other.idCount && flags == other.flags && !flags.contains(.escapedID)
            && firstItem == other.firstItem && endItem == other.endItem
            && sameBytes(ours.at(idStart), theirs.at(other.idStart), Int(idCount))
    }
}
