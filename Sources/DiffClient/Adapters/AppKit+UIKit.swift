// Shared by AppKit and UIKit.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit
#elseif canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

#if canImport(AppKit) && !targetEnvironment(macCatalyst) || canImport(UIKit) && !os(watchOS)
    import SnapshotKit

    extension NSDiffableDataSourceSnapshot where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// The rows of an update of a client whose `form` is `.diffable`, and which of them to draw again. Adopt
        /// `update.list` first: the provider of items or cells finds contents in it by id. A reset does not say what
        /// has changed in rows that stay: reload the view's data too, or apply the snapshot by reloading. A snapshot
        /// cannot name headers to be filled again: those are in the arrangement's `reconfigureSections`.
        public init(_ update: ListUpdate) {
            self.init()
            appendSections(update.list.sections.map(\.id))
            for section in update.list.sections { appendItems(section.rows.map(\.id), toSection: section.id) }
            guard case .diffable(let arrangement) = update.change else { return }
            #if canImport(AppKit) && !targetEnvironment(macCatalyst)
                reloadItems(arrangement.reload + arrangement.reconfigure)
            #else
                reloadItems(arrangement.reload)
                reconfigureItems(arrangement.reconfigure)
            #endif
            reloadSections(arrangement.reloadSections)
        }
    }

    extension ListUpdate {
        /// Shows the update in a view: a batch for each stage, or a reload if there are none or it is off screen.
        @MainActor
        func show(
            isOnScreen: Bool, adopt: @escaping (RowList) -> Void, reload: () -> Void,
            batch: (@escaping () -> Void) -> Void, perform: @escaping (IndexBatch) -> Void
        ) {
            guard case .staged(let stages) = change, isOnScreen else {
                adopt(list)
                return reload()
            }
            for stage in stages {
                batch {
                    adopt(stage.list)
                    perform(stage.batch)
                }
            }
        }

        /// The sections whose headers are to be filled again, by index in `list`.
        var sectionsToFill: IndexSet {
            guard case .diffable(let arrangement) = change else { return [] }
            let ids = Set(arrangement.reconfigureSections)
            return IndexSet(list.sections.indices.filter { ids.contains(list.sections[$0].id) })
        }
    }

    extension IndexBatch.Operations where Index == Int {
        /// The sections to be drawn again in this way.
        func updated(_ redraw: Marks.Redraw) -> IndexSet { IndexSet(updated.filter { $0.redraw == redraw }.map(\.at)) }
    }

    extension ItemPath {
        /// The path as AppKit and UIKit have it.
        public var indexPath: IndexPath { IndexPath(item: row, section: section) }
    }
#endif
