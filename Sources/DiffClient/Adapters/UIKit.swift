#if canImport(UIKit) && !os(watchOS)
    import SnapshotKit
    import UIKit

    extension UITableView {
        /// Fills a visible header or footer: the view, and its section.
        public typealias Filling = (UITableViewHeaderFooterView, Int) -> Void

        /// Shows an update of a client whose `form` is `.staged`, as a collection view does. The animation is for rows
        /// and sections that are inserted, deleted or reloaded.
        public func show(
            _ update: ListUpdate, with animation: RowAnimation = .automatic, adopt: @escaping (RowList) -> Void,
            fill: @escaping Filling = { _, _ in }
        ) {
            guard let stages = update.stages(in: window) else {
                adopt(update.list)
                return reloadData()
            }
            for stage in stages {
                performBatchUpdates {
                    adopt(stage.list)
                    self.perform(stage.batch, with: animation)
                    self.fill(IndexSet(stage.batch.sections.updated(.reconfigure)), by: fill)
                }
            }
        }

        private func perform(_ batch: IndexBatch, with animation: RowAnimation) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted), with: animation)
            insertSections(IndexSet(sections.inserted), with: animation)
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(IndexSet(sections.updated(.reload)), with: animation)
            deleteRows(at: items.deleted.map(\.indexPath), with: animation)
            insertRows(at: items.inserted.map(\.indexPath), with: animation)
            for move in items.moved { moveRow(at: move.from.indexPath, to: move.to.indexPath) }
            reloadRows(at: items.updated(.reload).map(\.indexPath), with: animation)
            reconfigureRows(at: items.updated(.reconfigure).map(\.indexPath))
        }

        fileprivate func fill(_ sections: IndexSet, by fill: Filling) {
            for section in sections {
                for case let view? in [headerView(forSection: section), footerView(forSection: section)] {
                    fill(view, section)
                }
            }
        }
    }

    extension UICollectionViewDiffableDataSource where SectionIdentifierType: ListID, ItemIdentifierType: ListID {
        /// Shows an update of a client whose `form` is `.diffable`. Adopt `update.list` first: the cell provider finds
        /// contents in it by id.
        ///
        /// - Parameters:
        ///   - view: the view of this data source.
        ///   - fill: fills a header or footer again after its section's content has changed.
        public func show(
            _ update: ListUpdate, in view: UICollectionView, fill: @escaping UICollectionView.Filling = { _, _, _ in }
        ) {
            let snapshot = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>(update)
            guard let headers = update.changedHeaders else { return applySnapshotUsingReloadData(snapshot) }
            apply(snapshot, animatingDifferences: true)
            view.fill(headers, by: fill)
        }
    }

    extension UITableViewDiffableDataSource where SectionIdentifierType: ListID, ItemIdentifierType: ListID {
        /// Shows an update of a client whose `form` is `.diffable`, as the data source of a collection view does.
        public func show(
            _ update: ListUpdate, in view: UITableView, fill: @escaping UITableView.Filling = { _, _ in }
        ) {
            let snapshot = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>(update)
            guard let headers = update.changedHeaders else { return applySnapshotUsingReloadData(snapshot) }
            apply(snapshot, animatingDifferences: true)
            view.fill(headers, by: fill)
        }
    }

    extension ListUpdate {
        /// The sections whose headers are to be filled again. Nil after a reset, which does not say what has changed in
        /// rows that stay, so all cells are to be replaced.
        fileprivate var changedHeaders: IndexSet? {
            if case .reset = change { return nil }
            guard case .diffable(let arrangement) = change else { return [] }
            let ids = Set(arrangement.reconfigureSections)
            return IndexSet(list.sections.indices.filter { ids.contains(list.sections[$0].id) })
        }
    }
#endif
