/// A format for changesets.
public enum Dialect: String, Sendable, CaseIterable {
    /// Operations on ids, applied in order: for the DOM, Compose, SwiftUI.
    case keyed
    /// Indexes in the old and the new state: for custom batch updates, logs, tests.
    case indexed
    /// At most five stages, each safe as one `performBatchUpdates` of UITableView or UICollectionView.
    case staged
    /// Final ids and what to redraw: for NSDiffableDataSourceSnapshot.
    case diffable
    /// Splices of one flat list, applied in order: for RecyclerView, AppKit, Flutter.
    case sequential
    /// Numbers only: for readers that show changes later, on request.
    case counts
    /// RFC 6902 on the document.
    case jsonPatch = "json-patch"

    /// Its content and its clients: a line of help.
    public var summary: String {
        switch self {
        case .keyed: "operations on ids, in order: the DOM, Compose, SwiftUI"
        case .indexed: "indexes in the old and the new state: your own batching, logs, tests"
        case .staged: "stages, each safe as one batch: UITableView, UICollectionView"
        case .diffable: "final ids, and what to redraw: NSDiffableDataSourceSnapshot"
        case .sequential: "splices of one flat list, in order: RecyclerView, AppKit, Flutter"
        case .counts: "numbers of operations only: \"12 new posts\""
        case .jsonPatch: "RFC 6902 on the document"
        }
    }

    /// Whether a reader that applies it has the new state; else it stays at its base.
    public var isAdopted: Bool { self != .counts }
}

/// How many batches a staged changeset takes.
public enum Staging: String, Sendable, CaseIterable {
    /// All stages separate: some view requires each border.
    case safe
    /// Stages merged where both kinds of view allow it.
    case compact
}

/// How an update carries content.
public enum ContentStyle: String, Sendable, CaseIterable {
    /// All of it.
    case full
    /// As an RFC 7396 merge patch, where that is lossless and smaller.
    case patch
    /// The same, but of a string that has grown only what is new, where that is smaller.
    case delta
}

extension Changeset {
    /// Writes the member `list` of an answer, if the list's own content changed: its `content`, or `patch` and
    /// `append`, or `{}` if it has none any more. `json-patch` has it among its operations.
    public func writeList(content: ContentStyle = .full, into writer: inout JSONWriter) {
        old.withViews(of: new) { ChangesetView(change: self, old: $0, new: $1, style: content).appendList(to: &writer) }
    }

    /// The changeset in a dialect: the member `changes` of an answer. O(operations), but `diffable` lists all ids.
    public func json(_ dialect: Dialect, staging: Staging = .safe, content: ContentStyle = .full) -> [UInt8] {
        var writer = JSONWriter(capacity: 64 * counts.total + 256)
        write(dialect, staging: staging, content: content, into: &writer)
        return writer.bytes()
    }

    /// Writes what `json(_:staging:content:)` returns.
    public func write(
        _ dialect: Dialect, staging: Staging = .safe, content: ContentStyle = .full, into writer: inout JSONWriter
    ) {
        old.withViews(of: new) { old, new in
            let changeset = ChangesetView(change: self, old: old, new: new, style: content)
            switch dialect {
            case .keyed: changeset.writeKeyed(into: &writer)
            case .indexed: changeset.writeIndexed(into: &writer)
            case .staged: changeset.writeStaged(staging, into: &writer)
            case .diffable: changeset.writeDiffable(into: &writer)
            case .sequential: changeset.writeSequential(into: &writer)
            case .counts: changeset.writeCounts(into: &writer)
            case .jsonPatch: changeset.writeJSONPatch(into: &writer)
            }
        }
    }
}

// For readers that show only how many changes there are: the lengths of the lists of `indexed`.

extension ChangesetView {
    fileprivate func writeCounts(into writer: inout JSONWriter) {
        writer.append("{")
        for (name, counts): (StaticString, OperationCounts) in [
            ("\"sections\":{", change.sectionCounts), ("\"items\":{", change.itemCounts),
        ] where counts.total > 0 {
            writer.separate()
            writer.append(name)
            for (name, count): (StaticString, Int) in [
                ("\"deleted\":", counts.deletions), ("\"inserted\":", counts.insertions),
                ("\"moved\":", counts.moves), ("\"updated\":", counts.updates),
            ] where count > 0 {
                writer.separate()
                writer.emit(name, count)
            }
            writer.append("}")
        }
        writer.append("}")
    }
}
