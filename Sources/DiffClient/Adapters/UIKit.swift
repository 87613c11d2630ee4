// The rules of performBatchUpdates are kept by the server, which stages, and by SnapshotKit, which refuses stages that
// UIKit would crash on. What is left to do here: one batch a stage, the model set inside it, and headers whose section
// changed filled again where they are, since to reload their section would make every cell of it anew.

#if canImport(UIKit) && !os(watchOS)
    import SnapshotKit
    import UIKit

    extension UICollectionView {
        /// Fills a header or footer that is on the screen: the view, its kind, and its index path.
        public typealias Filling = (UICollectionReusableView, String, IndexPath) -> Void

        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - adopt: sets what the data source answers from. It is called once a stage, inside the batch.
        ///   - fill: fills a header or footer again, in place, when its section's content changed. The section's cells
        ///     are left alone.
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
            // A section's content may say how it is laid out, too.
            collectionViewLayout.invalidateLayout()
        }
    }

    extension UITableView {
        /// Fills a header or footer that is on the screen: the view, and its section.
        public typealias Filling = (UITableViewHeaderFooterView, Int) -> Void

        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - animation: for what comes, goes, or is made anew.
        ///   - adopt: sets what the data source answers from. It is called once a stage, inside the batch.
        ///   - fill: fills a header or footer again, in place, when its section's content changed. The section's cells
        ///     are left alone.
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
        /// Shows an update of a client whose `form` is `.diffable`. The cell provider finds contents by id in
        /// `update.list`, which has to be adopted first.
        ///
        /// - Parameters:
        ///   - view: the one whose data source this is.
        ///   - fill: fills a header or footer again, in place, when its section's content changed.
        public func show(
            _ update: ListUpdate, in view: UICollectionView, fill: @escaping UICollectionView.Filling = { _, _, _ in }
        ) {
            let snapshot = NSDiffableDataSourceSnapshot(update)
            // What a reset changed of the rows that were there before, nobody said: all cells are made anew.
            if case .reset = update.change { return applySnapshotUsingReloadData(snapshot) }
            apply(snapshot, animatingDifferences: true)
            view.fill(update.sectionsToFill, by: fill)
        }
    }

    extension UITableViewDiffableDataSource where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// Shows an update of a client whose `form` is `.diffable`. The cell provider finds contents by id in
        /// `update.list`, which has to be adopted first.
        ///
        /// - Parameters:
        ///   - view: the one whose data source this is.
        ///   - fill: fills a header or footer again, in place, when its section's content changed.
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
