// As for UIKit, with AppKit's types.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit
    import SnapshotKit

    extension NSCollectionView {
        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - adopt: sets the data source's list. Called once per stage, inside the batch.
        ///   - fill: fills a visible header or footer again after its section's content has changed, given the view,
        ///     its kind and its index path. The section's items are not affected.
        public func show(
            _ update: ListUpdate, adopt: @escaping (RowList) -> Void,
            fill: @escaping (NSView, SupplementaryElementKind, IndexPath) -> Void = { _, _, _ in }
        ) {
            update.show(
                isOnScreen: window != nil, adopt: adopt, reload: { reloadData() }, batch: { performBatchUpdates($0) }
            ) {
                self.perform($0)
                self.fill($0.sections.updated(.reconfigure), by: fill)
            }
        }

        private func perform(_ batch: IndexBatch) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted))
            insertSections(IndexSet(sections.inserted))
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(sections.updated(.reload))
            deleteItems(at: Set(items.deleted.map(\.indexPath)))
            insertItems(at: Set(items.inserted.map(\.indexPath)))
            for move in items.moved { moveItem(at: move.from.indexPath, to: move.to.indexPath) }
            reloadItems(at: Set(items.updated.map(\.at.indexPath)))
        }

        private func fill(_ sections: IndexSet, by fill: (NSView, SupplementaryElementKind, IndexPath) -> Void) {
            guard !sections.isEmpty else { return }
            for kind in [Self.elementKindSectionHeader, Self.elementKindSectionFooter] {
                for path in indexPathsForVisibleSupplementaryElements(ofKind: kind)
                where sections.contains(path.section) {
                    if let view = supplementaryView(forElementKind: kind, at: path) { fill(view, kind, path) }
                }
            }
            // The layout may depend on a section's content, too.
            collectionViewLayout?.invalidateLayout()
        }
    }
#endif
