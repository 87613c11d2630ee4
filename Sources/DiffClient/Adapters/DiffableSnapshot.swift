// What AppKit and UIKit have alike.

#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit
#elseif canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

#if canImport(AppKit) && !targetEnvironment(macCatalyst) || canImport(UIKit) && !os(watchOS)
    import SnapshotKit

    extension NSDiffableDataSourceSnapshot where SectionIdentifierType == ElementID, ItemIdentifierType == ElementID {
        /// The rows of an update of a client whose `form` is `.diffable`, and what of them is to be drawn again. The
        /// provider of items or cells finds contents by id in `update.list`, which has to be adopted first. What a
        /// reset changed of the rows that were there before, nobody said: call the view's `reloadData` too, or apply
        /// the snapshot by reloading.
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

    extension ItemPath {
        /// As AppKit and UIKit write it.
        public var indexPath: IndexPath { IndexPath(item: row, section: section) }
    }
#endif
