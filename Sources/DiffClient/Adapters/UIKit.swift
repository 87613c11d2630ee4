// The rules of performBatchUpdates are kept by the server, which stages, and by SnapshotKit, which refuses stages that
// UIKit would crash on. What is left to do here: one batch a stage, and the model set inside it.

#if canImport(UIKit) && !os(watchOS)
    import SnapshotKit
    import UIKit

    extension UICollectionView {
        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameter adopt: sets what the data source answers from. It is called once a stage, inside the batch.
        public func show(_ update: ListUpdate, adopt: @escaping (RowList) -> Void) {
            guard case .staged(let stages) = update.change, window != nil else {
                adopt(update.list)
                reloadData()
                return
            }
            for stage in stages {
                performBatchUpdates {
                    adopt(stage.list)
                    self.perform(stage.batch)
                }
            }
        }

        private func perform(_ batch: IndexBatch) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted))
            insertSections(IndexSet(sections.inserted))
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(IndexSet(sections.updated.map(\.at)))
            deleteItems(at: items.deleted.map(\.indexPath))
            insertItems(at: items.inserted.map(\.indexPath))
            for move in items.moved { moveItem(at: move.from.indexPath, to: move.to.indexPath) }
            reloadItems(at: items.updated.filter { $0.redraw == .reload }.map(\.at.indexPath))
            reconfigureItems(at: items.updated.filter { $0.redraw != .reload }.map(\.at.indexPath))
        }
    }

    extension UITableView {
        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - animation: for what comes, goes, or is made anew.
        ///   - adopt: sets what the data source answers from. It is called once a stage, inside the batch.
        public func show(
            _ update: ListUpdate, with animation: RowAnimation = .automatic, adopt: @escaping (RowList) -> Void
        ) {
            guard case .staged(let stages) = update.change, window != nil else {
                adopt(update.list)
                reloadData()
                return
            }
            for stage in stages {
                performBatchUpdates {
                    adopt(stage.list)
                    self.perform(stage.batch, with: animation)
                }
            }
        }

        private func perform(_ batch: IndexBatch, with animation: RowAnimation) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted), with: animation)
            insertSections(IndexSet(sections.inserted), with: animation)
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(IndexSet(sections.updated.map(\.at)), with: animation)
            deleteRows(at: items.deleted.map(\.indexPath), with: animation)
            insertRows(at: items.inserted.map(\.indexPath), with: animation)
            for move in items.moved { moveRow(at: move.from.indexPath, to: move.to.indexPath) }
            reloadRows(at: items.updated.filter { $0.redraw == .reload }.map(\.at.indexPath), with: animation)
            reconfigureRows(at: items.updated.filter { $0.redraw != .reload }.map(\.at.indexPath))
        }
    }

    extension UICollectionViewDiffableDataSource
    where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// Shows an update of a client whose `form` is `.diffable`. The cell provider finds contents by id in
        /// `update.list`, which has to be adopted first.
        public func show(_ update: ListUpdate) {
            let snapshot = NSDiffableDataSourceSnapshot(update)
            // What a reset changed of the rows that were there before, nobody said: all cells are made anew.
            guard case .reset = update.change else { return apply(snapshot, animatingDifferences: true) }
            applySnapshotUsingReloadData(snapshot)
        }
    }

    extension UITableViewDiffableDataSource where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// Shows an update of a client whose `form` is `.diffable`. The cell provider finds contents by id in
        /// `update.list`, which has to be adopted first.
        public func show(_ update: ListUpdate) {
            let snapshot = NSDiffableDataSourceSnapshot(update)
            guard case .reset = update.change else { return apply(snapshot, animatingDifferences: true) }
            applySnapshotUsingReloadData(snapshot)
        }
    }
#endif
