// The server's stages obey the rules of performBatchUpdates, and `RowList` refuses those that UIKit would crash on.
// What remains is a batch per stage, inside which the list is adopted, and filling changed headers in place, since
// reloading their section would replace all of its cells.

#if canImport(UIKit) && !os(watchOS)
    import SnapshotKit
    import UIKit

    extension UICollectionView {
        /// Fills a visible header or footer: the view, its kind, and its index path.
        public typealias Filling = (UICollectionReusableView, String, IndexPath) -> Void

        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - adopt: sets the data source's list. Called once per stage, inside the batch.
        ///   - fill: fills a header or footer again after its section's content has changed. The section's cells are
        ///     not affected.
        public func show(
            _ update: ListUpdate, adopt: @escaping (RowList) -> Void, fill: @escaping Filling = { _, _, _ in }
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
            deleteItems(at: items.deleted.map(\.indexPath))
            insertItems(at: items.inserted.map(\.indexPath))
            for move in items.moved { moveItem(at: move.from.indexPath, to: move.to.indexPath) }
            reloadItems(at: items.updated.filter { $0.redraw == .reload }.map(\.at.indexPath))
            reconfigureItems(at: items.updated.filter { $0.redraw == .reconfigure }.map(\.at.indexPath))
        }

        fileprivate func fill(_ sections: IndexSet, by fill: Filling) {
            guard !sections.isEmpty else { return }
            for kind in [Self.elementKindSectionHeader, Self.elementKindSectionFooter] {
                for path in indexPathsForVisibleSupplementaryElements(ofKind: kind)
                where sections.contains(path.section) {
                    if let view = supplementaryView(forElementKind: kind, at: path) { fill(view, kind, path) }
                }
            }
            // The layout may depend on a section's content, too.
            collectionViewLayout.invalidateLayout()
        }
    }

    extension UITableView {
        /// Fills a visible header or footer: the view, and its section.
        public typealias Filling = (UITableViewHeaderFooterView, Int) -> Void

        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - animation: for rows and sections that are inserted, deleted or reloaded.
        ///   - adopt: sets the data source's list. Called once per stage, inside the batch.
        ///   - fill: fills a header or footer again after its section's content has changed. The section's cells are
        ///     not affected.
        public func show(
            _ update: ListUpdate, with animation: RowAnimation = .automatic, adopt: @escaping (RowList) -> Void,
            fill: @escaping Filling = { _, _ in }
        ) {
            update.show(
                isOnScreen: window != nil, adopt: adopt, reload: { reloadData() }, batch: { performBatchUpdates($0) }
            ) {
                self.perform($0, with: animation)
                self.fill($0.sections.updated(.reconfigure), by: fill)
            }
        }

        private func perform(_ batch: IndexBatch, with animation: RowAnimation) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted), with: animation)
            insertSections(IndexSet(sections.inserted), with: animation)
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(sections.updated(.reload), with: animation)
            deleteRows(at: items.deleted.map(\.indexPath), with: animation)
            insertRows(at: items.inserted.map(\.indexPath), with: animation)
            for move in items.moved { moveRow(at: move.from.indexPath, to: move.to.indexPath) }
            reloadRows(at: items.updated.filter { $0.redraw == .reload }.map(\.at.indexPath), with: animation)
            reconfigureRows(at: items.updated.filter { $0.redraw == .reconfigure }.map(\.at.indexPath))
        }

        fileprivate func fill(_ sections: IndexSet, by fill: Filling) {
            for section in sections {
                for view in [headerView(forSection: section), footerView(forSection: section)] {
                    if let view { fill(view, section) }
                }
            }
        }
    }

    extension UICollectionViewDiffableDataSource
    where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// Shows an update of a client whose `form` is `.diffable`. Adopt `update.list` first: the cell provider finds
        /// contents in it by id.
        ///
        /// - Parameters:
        ///   - view: the view of this data source.
        ///   - fill: fills a header or footer again after its section's content has changed.
        public func show(
            _ update: ListUpdate, in view: UICollectionView, fill: @escaping UICollectionView.Filling = { _, _, _ in }
        ) {
            let snapshot = NSDiffableDataSourceSnapshot(update)
            // A reset does not say what has changed in rows that stay, so all cells are replaced.
            if case .reset = update.change { return applySnapshotUsingReloadData(snapshot) }
            apply(snapshot, animatingDifferences: true)
            view.fill(update.sectionsToFill, by: fill)
        }
    }

    extension UITableViewDiffableDataSource where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// Shows an update of a client whose `form` is `.diffable`. Adopt `update.list` first: the cell provider finds
        /// contents in it by id.
        ///
        /// - Parameters:
        ///   - view: the view of this data source.
        ///   - fill: fills a header or footer again after its section's content has changed.
        public func show(
            _ update: ListUpdate, in view: UITableView, fill: @escaping UITableView.Filling = { _, _ in }
        ) {
            let snapshot = NSDiffableDataSourceSnapshot(update)
            if case .reset = update.change { return applySnapshotUsingReloadData(snapshot) }
            apply(snapshot, animatingDifferences: true)
            view.fill(update.sectionsToFill, by: fill)
        }
    }
#endif
