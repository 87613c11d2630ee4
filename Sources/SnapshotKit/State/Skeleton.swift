/// What is remembered of a state that is past: ids, order, nesting, what was expanded, which members were there, and
/// fingerprints in place of contents and kinds. Enough to compute the changeset from it to any later state.
public struct Skeleton: Sendable {
    /// All but the contents, together with others of the same outline.
    let columns: Columns
    let fingerprints: Fingerprints

    init(_ columns: Columns, _ fingerprints: Fingerprints) {
        assert(columns.brokenInvariant == nil, columns.brokenInvariant ?? "")
        (self.columns, self.fingerprints) = (columns, fingerprints)
    }

    /// Keeps what a skeleton keeps. O(n).
    ///
    /// - Parameter last: another skeleton; if the state is known to have the same outline, that is kept once, and the
    ///   time is O(1).
    public init(of snapshot: Snapshot, fingerprints: Fingerprints, after last: Skeleton? = nil) {
        self.fingerprints = fingerprints
        if let last, last.columns.outline === snapshot.columns.outline {
            columns = last.columns
            return
        }
        let outline = snapshot.columns.outline
        columns = snapshot.columns.withView { view in
            var ids = IDBytes(capacity: view.nodes.count * 16)
            var nodes = Array(view.nodes)
            var sections = Array(view.sections)
            for index in nodes.indices { nodes[index].idStart = ids.append(view.id(ofItem: index)) }
            for index in sections.indices {
                sections[index].idStart = ids.append(view.id(ofSection: index))
                sections[index].contentStart = 0
                sections[index].contentCount = 0
            }
            return Columns(
                bytes: ids.padded(), nodes: nodes, sections: sections, isSkeleton: true,
                rowOfItem: view.columns.rowOfItem,
                itemOfRow: view.columns.itemOfRow, outline: outline)
        }
        assert(columns.brokenInvariant == nil, columns.brokenInvariant ?? "")
    }

    /// Names the records of ids, order and nesting, as long as the skeleton lives: skeletons with the same name share
    /// them.
    public var records: ObjectIdentifier { ObjectIdentifier(columns) }

    /// How many of the bytes held are those.
    public var recordsFootprint: Int { columns.outlineFootprint }

    /// Memory held, in bytes.
    public var footprint: Int { columns.footprint + fingerprints.footprint }

    /// Items, hidden ones included.
    public var itemCount: Int { columns.nodes.count }
}

/// Ids one behind the other, each as it was written.
private struct IDBytes {
    private var writer: JSONWriter

    init(capacity: Int) { writer = JSONWriter(capacity: capacity) }

    /// Appends an id; returns where its text starts.
    mutating func append(_ id: IDText) -> UInt32 {
        let token = id.token
        writer.append(token.baseAddress!, token.count)
        if id.flags.contains(.escapedID) {
            writer.append(byte: UInt8(truncatingIfNeeded: token.count))
            writer.append(byte: UInt8(truncatingIfNeeded: token.count >> 8))
            writer.append(id.start, id.count)
            return UInt32(truncatingIfNeeded: writer.count - id.count)
        }
        let quote = id.flags.contains(.integerID) ? 0 : 1
        return UInt32(truncatingIfNeeded: writer.count - id.count - quote)
    }

    consuming func padded() -> [UInt8] {
        Array(unsafeUninitializedCapacity: writer.count + JSONScanner.zeros.count) { room, count in
            (_, count) = room.initialize(from: writer.written)
            for byte in JSONScanner.zeros {
                room.initializeElement(at: count, to: byte)
                count += 1
            }
        }
    }
}
