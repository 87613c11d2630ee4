// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of UIKit: the declarations that the adapters use, without any behaviour. It type-checks them where there
// is no SDK, and says nothing about how they run.

@_exported import Foundation

@MainActor open class UIResponderStub {
    public init() {}
}

@MainActor public final class UIWindow: UIResponderStub {}

@MainActor open class UIView: UIResponderStub {
    public var window: UIWindow? { nil }
}

@MainActor open class UIViewController: UIResponderStub {
    public var title: String?
    override public init() {}
    public required init?(coder: NSCoder) {}
    open func viewDidLoad() {}
}

@MainActor public final class UIApplication: UIResponderStub {
    public nonisolated static let willEnterForegroundNotification = Notification.Name("willEnterForeground")
}

@MainActor open class UICollectionReusableView: UIView {}
@MainActor open class UICollectionViewCell: UICollectionReusableView {
    public var contentConfiguration: (any UIContentConfiguration)?
}
@MainActor open class UICollectionViewListCell: UICollectionViewCell {
    public func defaultContentConfiguration() -> UIListContentConfiguration { UIListContentConfiguration() }
}
@MainActor open class UICollectionViewLayout: UIResponderStub {
    public func invalidateLayout() {}
}
@MainActor open class UICollectionViewCompositionalLayout: UICollectionViewLayout {
    public static func list(using configuration: UICollectionLayoutListConfiguration)
        -> UICollectionViewCompositionalLayout
    { UICollectionViewCompositionalLayout() }
}
public struct UICollectionLayoutListConfiguration: Sendable {
    public enum Appearance: Sendable { case plain }
    public init(appearance: Appearance) {}
}
@MainActor public protocol UIContentConfiguration {}
@MainActor public struct UIListContentConfiguration: UIContentConfiguration {
    public var text: String?
}

@MainActor open class UICollectionView: UIView {
    public nonisolated static let elementKindSectionHeader = "header"
    public nonisolated static let elementKindSectionFooter = "footer"
    public var collectionViewLayout = UICollectionViewLayout()
    public func reloadData() {}
    public func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
    public func deleteSections(_ sections: IndexSet) {}
    public func insertSections(_ sections: IndexSet) {}
    public func reloadSections(_ sections: IndexSet) {}
    public func moveSection(_ section: Int, toSection: Int) {}
    public func deleteItems(at paths: [IndexPath]) {}
    public func insertItems(at paths: [IndexPath]) {}
    public func reloadItems(at paths: [IndexPath]) {}
    public func reconfigureItems(at paths: [IndexPath]) {}
    public func moveItem(at path: IndexPath, to: IndexPath) {}
    public func indexPathsForVisibleSupplementaryElements(ofKind kind: String) -> [IndexPath] { [] }
    public func supplementaryView(forElementKind kind: String, at path: IndexPath) -> UICollectionReusableView? { nil }

    public struct CellRegistration<Cell: UICollectionViewCell, Item> {
        public typealias Handler = (_ cell: Cell, _ indexPath: IndexPath, _ itemIdentifier: Item) -> Void
        public init(handler: @escaping Handler) {}
    }

    public func dequeueConfiguredReusableCell<Cell: UICollectionViewCell, Item>(
        using registration: CellRegistration<Cell, Item>, for path: IndexPath, item: Item?
    ) -> Cell { fatalError("a stub") }
}

@MainActor open class UICollectionViewController: UIViewController {
    public init(collectionViewLayout: UICollectionViewLayout) { super.init() }
    public required init?(coder: NSCoder) { super.init(coder: coder) }
    public var collectionView: UICollectionView! { nil }
}

@MainActor open class UITableViewHeaderFooterView: UIView {}

@MainActor open class UITableView: UIView {
    public enum RowAnimation: Int { case fade, automatic }
    public func reloadData() {}
    public func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
    public func deleteSections(_ sections: IndexSet, with animation: RowAnimation) {}
    public func insertSections(_ sections: IndexSet, with animation: RowAnimation) {}
    public func reloadSections(_ sections: IndexSet, with animation: RowAnimation) {}
    public func moveSection(_ section: Int, toSection: Int) {}
    public func deleteRows(at paths: [IndexPath], with animation: RowAnimation) {}
    public func insertRows(at paths: [IndexPath], with animation: RowAnimation) {}
    public func reloadRows(at paths: [IndexPath], with animation: RowAnimation) {}
    public func reconfigureRows(at paths: [IndexPath]) {}
    public func moveRow(at path: IndexPath, to: IndexPath) {}
    public func headerView(forSection section: Int) -> UITableViewHeaderFooterView? { nil }
    public func footerView(forSection section: Int) -> UITableViewHeaderFooterView? { nil }
}

public struct NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>: Sendable
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public init() {}
    public var itemIdentifiers: [ItemIdentifierType] { [] }
    public mutating func appendSections(_ sections: [SectionIdentifierType]) {}
    public mutating func appendItems(_ items: [ItemIdentifierType], toSection: SectionIdentifierType? = nil) {}
    public mutating func reloadItems(_ items: [ItemIdentifierType]) {}
    public mutating func reconfigureItems(_ items: [ItemIdentifierType]) {}
    public mutating func reloadSections(_ sections: [SectionIdentifierType]) {}
}

@MainActor
open class UICollectionViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public typealias Snapshot = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>
    public typealias CellProvider = (UICollectionView, IndexPath, ItemIdentifierType) -> UICollectionViewCell?
    public init(collectionView: UICollectionView, cellProvider: @escaping CellProvider) {}
    public var reorderingHandlers = ReorderingHandlers()

    public struct ReorderingHandlers {
        public var canReorderItem: ((ItemIdentifierType) -> Bool)?
        public var didReorder: ((NSDiffableDataSourceTransaction<SectionIdentifierType, ItemIdentifierType>) -> Void)?
    }
    public func apply(_ snapshot: Snapshot, animatingDifferences: Bool = true, completion: (() -> Void)? = nil) {}
    public func applySnapshotUsingReloadData(_ snapshot: Snapshot, completion: (() -> Void)? = nil) {}
}

public struct NSDiffableDataSourceTransaction<SectionIdentifierType, ItemIdentifierType>
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public var sectionTransactions: [NSDiffableDataSourceSectionTransaction<SectionIdentifierType, ItemIdentifierType>]
    { [] }
}

public struct NSDiffableDataSourceSectionTransaction<SectionIdentifierType, ItemIdentifierType>
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public var sectionIdentifier: SectionIdentifierType
    public var finalSnapshot: NSDiffableDataSourceSectionSnapshot<ItemIdentifierType>
    public var difference: CollectionDifference<ItemIdentifierType>
}

public struct NSDiffableDataSourceSectionSnapshot<ItemIdentifierType>
where ItemIdentifierType: Hashable & Sendable {
    public var items: [ItemIdentifierType] { [] }
}

@MainActor
open class UITableViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public typealias Snapshot = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>
    public func apply(_ snapshot: Snapshot, animatingDifferences: Bool = true, completion: (() -> Void)? = nil) {}
    public func applySnapshotUsingReloadData(_ snapshot: Snapshot, completion: (() -> Void)? = nil) {}
}

extension IndexPath {
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
    public var section: Int { self[0] }
    public var item: Int { self[1] }
}
