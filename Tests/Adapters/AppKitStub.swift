// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of AppKit: the declarations that the adapters use, without any behaviour. It type-checks them where there
// is no SDK, and says nothing about how they run.

@_exported import Foundation

@MainActor open class NSResponderStub {
    public init() {}
}

@MainActor public final class NSWindow: NSResponderStub {}

@MainActor open class NSView: NSResponderStub {
    public var window: NSWindow? { nil }
}

@MainActor open class NSCollectionViewLayout: NSResponderStub {
    public func invalidateLayout() {}
}

@MainActor open class NSCollectionView: NSView {
    public typealias SupplementaryElementKind = String
    public nonisolated static let elementKindSectionHeader = "header"
    public nonisolated static let elementKindSectionFooter = "footer"
    public var collectionViewLayout: NSCollectionViewLayout?
    public func reloadData() {}
    public func performBatchUpdates(_ updates: (() -> Void)?, completionHandler: ((Bool) -> Void)? = nil) {}
    public func deleteSections(_ sections: IndexSet) {}
    public func insertSections(_ sections: IndexSet) {}
    public func reloadSections(_ sections: IndexSet) {}
    public func moveSection(_ section: Int, toSection: Int) {}
    public func deleteItems(at paths: Set<IndexPath>) {}
    public func insertItems(at paths: Set<IndexPath>) {}
    public func reloadItems(at paths: Set<IndexPath>) {}
    public func moveItem(at path: IndexPath, to: IndexPath) {}
    public func indexPathsForVisibleSupplementaryElements(ofKind kind: String) -> Set<IndexPath> { [] }
    public func supplementaryView(forElementKind kind: String, at path: IndexPath) -> NSView? { nil }
}

@MainActor public protocol NSTableViewDataSource: AnyObject {
    func numberOfRows(in tableView: NSTableView) -> Int
}

@MainActor open class NSTableView: NSView {
    public struct AnimationOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let effectFade = AnimationOptions(rawValue: 1)
    }

    public var numberOfColumns: Int { 0 }
    public func reloadData() {}
    public func reloadData(forRowIndexes rowIndexes: IndexSet, columnIndexes: IndexSet) {}
    public func beginUpdates() {}
    public func endUpdates() {}
    public func insertRows(at indexes: IndexSet, withAnimation animationOptions: AnimationOptions = []) {}
    public func removeRows(at indexes: IndexSet, withAnimation animationOptions: AnimationOptions = []) {}
    public func moveRow(at oldIndex: Int, to newIndex: Int) {}
}

public struct NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>: Sendable
where SectionIdentifierType: Hashable & Sendable, ItemIdentifierType: Hashable & Sendable {
    public init() {}
    public var itemIdentifiers: [ItemIdentifierType] { [] }
    public mutating func appendSections(_ sections: [SectionIdentifierType]) {}
    public mutating func appendItems(_ items: [ItemIdentifierType], toSection: SectionIdentifierType? = nil) {}
    public mutating func reloadItems(_ items: [ItemIdentifierType]) {}
    public mutating func reloadSections(_ sections: [SectionIdentifierType]) {}
}

extension IndexPath {
    public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
    public var section: Int { self[0] }
    public var item: Int { self[1] }
}
