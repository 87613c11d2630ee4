// As for UIKit, with AppKit's names: sets of index paths.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit
    import SnapshotKit

    extension NSCollectionView {
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
            deleteItems(at: Set(items.deleted.map(\.indexPath)))
            insertItems(at: Set(items.inserted.map(\.indexPath)))
            for move in items.moved { moveItem(at: move.from.indexPath, to: move.to.indexPath) }
            reloadItems(at: Set(items.updated.map(\.at.indexPath)))
        }
    }
#endif
