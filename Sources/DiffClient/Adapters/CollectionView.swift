// The server's stages obey the rules of performBatchUpdates, and `RowList` refuses stages that would crash UIKit. What
// remains is to run a batch per stage, to adopt the list inside it, and to fill changed headers in place, since
// reloading their section would replace all of its cells.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit

    typealias CollectionView = NSCollectionView

    extension NSCollectionView {
        /// Fills a visible header or footer: the view, its kind, and its index path.
        public typealias Filling = (NSView, SupplementaryElementKind, IndexPath) -> Void

        fileprivate typealias Paths = Set<IndexPath>
        fileprivate var itemLayout: NSCollectionViewLayout? { collectionViewLayout }
        /// Items cannot be filled again in place.
        fileprivate func reconfigureItems(at paths: Paths) { reloadItems(at: paths) }
    }
#elseif canImport(UIKit) && !os(watchOS)
    import UIKit

    typealias CollectionView = UICollectionView

    extension UICollectionView {
        /// Fills a visible header or footer: the view, its kind, and its index path.
        public typealias Filling = (UICollectionReusableView, String, IndexPath) -> Void

        fileprivate typealias Paths = [IndexPath]
        fileprivate var itemLayout: UICollectionViewLayout? { collectionViewLayout }
    }
#endif

#if canImport(AppKit) && !targetEnvironment(macCatalyst) || canImport(UIKit) && !os(watchOS)
    extension CollectionView {
        /// Shows an update of a client whose `form` is `.staged`.
        ///
        /// - Parameters:
        ///   - adopt: sets the data source's list. Called once per stage, inside the batch.
        ///   - fill: fills a header or footer again after its section's content has changed. The section's cells are
        ///     not affected.
        public func show(
            _ update: ListUpdate, adopt: @escaping (RowList) -> Void, fill: @escaping Filling = { _, _, _ in }
        ) {
            guard let stages = update.stages(in: window) else {
                adopt(update.list)
                return reloadData()
            }
            for stage in stages {
                performBatchUpdates {
                    adopt(stage.list)
                    self.perform(stage.batch)
                    self.fill(IndexSet(stage.batch.sections.updated(.reconfigure)), by: fill)
                }
            }
        }

        private func perform(_ batch: IndexBatch) {
            let (sections, items) = (batch.sections, batch.items)
            deleteSections(IndexSet(sections.deleted))
            insertSections(IndexSet(sections.inserted))
            for move in sections.moved { moveSection(move.from, toSection: move.to) }
            reloadSections(IndexSet(sections.updated(.reload)))
            deleteItems(at: Paths(items.deleted.map(\.indexPath)))
            insertItems(at: Paths(items.inserted.map(\.indexPath)))
            for move in items.moved { moveItem(at: move.from.indexPath, to: move.to.indexPath) }
            reloadItems(at: Paths(items.updated(.reload).map(\.indexPath)))
            reconfigureItems(at: Paths(items.updated(.reconfigure).map(\.indexPath)))
        }

        func fill(_ sections: IndexSet, by fill: Filling) {
            guard !sections.isEmpty else { return }
            for kind in [Self.elementKindSectionHeader, Self.elementKindSectionFooter] {
                for path in indexPathsForVisibleSupplementaryElements(ofKind: kind)
                where sections.contains(path.section) {
                    if let view = supplementaryView(forElementKind: kind, at: path) { fill(view, kind, path) }
                }
            }
            // The layout may depend on a section's content, too.
            itemLayout?.invalidateLayout()
        }
    }

    extension NSDiffableDataSourceSnapshot where SectionIdentifierType: ListID, ItemIdentifierType: ListID {
        /// The rows of an update of a client whose `form` is `.diffable`, and which of them to draw again. Leaves out
        /// sections and rows whose ids do not fit the data source's types; `ElementID` fits all. Adopt `update.list`
        /// first: the provider of items or cells finds contents in it by id. A reset does not say what has changed in
        /// rows that stay: reload the view's data too, or apply the snapshot by reloading. A snapshot cannot name
        /// headers to fill again: find them in the arrangement's `reconfigureSections`.
        public init(_ update: ListUpdate) {
            self.init()
            for section in update.list.sections {
                guard let id = SectionIdentifierType(id: section.id) else { continue }
                appendSections([id])
                appendItems(section.rows.compactMap { ItemIdentifierType(id: $0.id) }, toSection: id)
            }
            guard case .diffable(let arrangement) = update.change else { return }
            // A snapshot crashes on ids that it does not have.
            let shown = Set(itemIdentifiers)
            let rows = { (ids: [ElementID]) in ids.compactMap(ItemIdentifierType.init(id:)).filter(shown.contains) }
            #if canImport(AppKit) && !targetEnvironment(macCatalyst)
                reloadItems(rows(arrangement.reload + arrangement.reconfigure))
            #else
                reloadItems(rows(arrangement.reload))
                reconfigureItems(rows(arrangement.reconfigure))
            #endif
            reloadSections(arrangement.reloadSections.compactMap(SectionIdentifierType.init(id:)))
        }
    }

    extension ListUpdate {
        /// The batches that show the update; nil to reload instead, if there are no stages or the view is in no window.
        func stages(in window: AnyObject?) -> [ListStage]? {
            if window != nil, case .staged(let stages) = change { stages } else { nil }
        }
    }

    extension IndexBatch.Operations {
        /// The indexes of the updates to redraw this way.
        func updated(_ redraw: Marks.Redraw) -> [Index] { updated.filter { $0.redraw == redraw }.map(\.at) }
    }

    extension ItemPath {
        /// The path in the form that AppKit and UIKit use.
        public var indexPath: IndexPath { IndexPath(item: row, section: section) }
    }
#endif
