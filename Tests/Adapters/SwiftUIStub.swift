// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// A stub of SwiftUI: the declarations that the adapters use, without any behaviour.

public struct Animation: Sendable {
    public static let `default` = Animation()
}

public func withAnimation<Result>(_ animation: Animation?, _ body: () throws -> Result) rethrows -> Result {
    try body()
}

public struct ReorderableSingleCollectionIdentifier: Hashable, Sendable {}

public struct ReorderDifference<ItemID, CollectionID> {
    public struct Destination {
        @frozen public enum Position { case before(ItemID), end }

        public var position: Position
        public var collectionID: CollectionID
    }

    public var sources: [ItemID]
    public var destination: Destination
}
