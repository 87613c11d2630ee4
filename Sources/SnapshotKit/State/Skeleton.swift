/// What is remembered of a state that is past: ids, order, nesting, what was expanded, which members were there, and
/// fingerprints in place of contents and kinds. Enough to compute the changeset from it to any later state.
public struct Skeleton: Sendable {
    /// All but the contents, together with others of the same structure.
    let columns: Columns
    let fingerprints: Fingerprints

    init(_ columns: Columns, _ fingerprints: Fingerprints) {
        assert(columns.brokenInvariant == nil, columns.brokenInvariant ?? "")
        (self.columns, self.fingerprints) = (columns, fingerprints)
    }

    /// Keeps what a skeleton keeps. O(n).
    ///
    /// - Parameter last: another skeleton; if the state is known to have the same structure, that is kept once, and the
    ///   time is O(1).
    public init(of snapshot: Snapshot, fingerprints: Fingerprints, after last: Skeleton? = nil) {
        self.fingerprints = fingerprints
        if let last, last.columns.structure === snapshot.columns.structure {
            columns = last.columns
            return
        }
        let structure = snapshot.columns.structure
        columns = snapshot.columns.withView { view in
            var ids = TokenBuffer(capacity: view.nodes.count * 16)
            var nodes = Array(view.nodes)
            var sections = Array(view.sections)
            for index in nodes.indices {
                nodes[index].idStart = UInt32(truncatingIfNeeded: ids.append(view.id(ofItem: index)))
            }
            for index in sections.indices {
                sections[index].idStart = UInt32(truncatingIfNeeded: ids.append(view.id(ofSection: index)))
                sections[index].contentStart = 0
                sections[index].contentCount = 0
            }
            return Columns(
                bytes: ids.padded(), nodes: nodes, sections: sections, isSkeleton: true,
                rowOfItem: view.columns.rowOfItem,
                itemOfRow: view.columns.itemOfRow, structure: structure)
        }
        assert(columns.brokenInvariant == nil, columns.brokenInvariant ?? "")
    }

    /// Names the records of ids, order and nesting, as long as the skeleton lives: skeletons with the same name share
    /// them.
    public var records: ObjectIdentifier { ObjectIdentifier(columns) }

    /// How many of the bytes held are those.
    public var recordsFootprint: Int { columns.structureFootprint }

    /// Memory held, in bytes.
    public var footprint: Int { columns.footprint + fingerprints.footprint }

    /// Items, hidden ones included.
    public var itemCount: Int { columns.nodes.count }
}
