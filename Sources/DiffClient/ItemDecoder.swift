import Foundation
import SnapshotKit

/// A row with decoded content.
public struct LiveRow<Item: Sendable>: Sendable, Identifiable {
    /// The item's id.
    public let id: ElementID
    /// The decoded content.
    public let item: Item
    /// The type of cell.
    public let kind: String?
    /// The number of ancestors within the section.
    public let level: Int
    /// The parent's id, if it has one.
    public let parent: ElementID?
    /// Whether its children are rows, too.
    public let isExpanded: Bool
    /// The number of direct children, including hidden ones.
    public let childCount: Int

    init(_ row: RowList.Row, _ item: Item) {
        (id, self.item, kind) = (row.id, item, row.kind)
        (level, parent, isExpanded, childCount) = (row.level, row.parent, row.isExpanded, row.childCount)
    }
}

extension LiveRow: Equatable where Item: Equatable {}
extension LiveRow: Hashable where Item: Hashable {}

/// A section with decoded rows.
public struct LiveSection<Item: Sendable>: Sendable, Identifiable {
    /// The section's id.
    public let id: ElementID
    /// The content of its header.
    public let content: JSONText?
    /// Whether its items are rows.
    public let isExpanded: Bool
    /// Its rows, in order.
    public let rows: [LiveRow<Item>]
}

extension LiveSection: Equatable where Item: Equatable {}

/// Decodes the contents of a list's rows. Contents that stay the same are not decoded again.
///
/// ```swift
/// var decoder = ItemDecoder<Fire>()
/// for try await update in client.updates {
///     let sections = decoder.sections(of: update.list)
/// }
/// ```
///
/// For a diffable data source, `decode(_:)` prepares an update, and cells get their rows by id.
public struct ItemDecoder<Item: Decodable & Sendable> {
    private let decoder: JSONDecoder
    private var known: [ElementID: (content: JSONText?, row: Result<LiveRow<Item>, any Error>)] = [:]
    /// Errors of rows that are missing from the last sections because their contents are not an `Item`.
    public private(set) var failures: [ElementID: any Error] = [:]
    /// How many contents have been decoded.
    private(set) var count = 0

    /// A decoder without known contents.
    public init(_ decoder: JSONDecoder = JSONDecoder()) { self.decoder = decoder }

    /// The row with an id in the last list; nil if there is none, or if its content is not an `Item`.
    public subscript(id: some ElementIDConvertible) -> LiveRow<Item>? { try? known[id.elementID]?.row.get() }

    /// Decodes the rows of an update of a client whose `form` is `.diffable`. Returns the update without those whose
    /// contents are not an `Item`, so that the data source shown it finds all of its rows here.
    ///
    /// ```swift
    /// dataSource.show(fires.decode(update), in: collectionView)
    /// ```
    public mutating func decode(_ update: ListUpdate) -> ListUpdate {
        let before = self
        var (list, change) = (update.list, update.change)
        _ = sections(of: list)
        for index in list.sections.indices { list.sections[index].rows.removeAll { self[$0.id] == nil } }
        if case .diffable(let arrangement) = change {
            // What was not shown before cannot be drawn again.
            change = .diffable(
                ListArrangement(
                    list: list, reload: arrangement.reload.filter { before[$0] != nil },
                    reconfigure: arrangement.reconfigure.filter { before[$0] != nil },
                    reloadSections: arrangement.reloadSections, reconfigureSections: arrangement.reconfigureSections))
        }
        return ListUpdate(list: list, revision: update.revision, change: change, followed: update.followed)
    }

    /// The sections of a list with decoded contents. A row without content is decoded from `null`, which requires an
    /// optional `Item`. O(rows), plus decoding contents that have changed.
    public mutating func sections(of list: RowList) -> [LiveSection<Item>] {
        let before = known
        (known, failures) = ([:], [:])
        return list.sections.map { section in
            let rows = section.rows.compactMap { row -> LiveRow<Item>? in
                let same = before[row.id].flatMap { $0.content == row.content ? $0.row.map(\.item) : nil }
                let decoded = (same ?? decoded(row.content)).map { LiveRow(row, $0) }
                known[row.id] = (row.content, decoded)
                if case .failure(let error) = decoded { failures[row.id] = error }
                return try? decoded.get()
            }
            return LiveSection(id: section.id, content: section.content, isExpanded: section.isExpanded, rows: rows)
        }
    }

    private mutating func decoded(_ content: JSONText?) -> Result<Item, any Error> {
        count += 1
        return Result { try decoder.decode(Item.self, from: Data(content?.bytes ?? Array("null".utf8))) }
    }
}

// MARK: - Contents

extension JSONText {
    /// Decodes a content.
    ///
    /// ```swift
    /// let mail = try row.content?.decoded(as: Mail.self)
    /// ```
    public func decoded<Value: Decodable>(as type: Value.Type, by decoder: JSONDecoder = JSONDecoder()) throws -> Value
    {
        try decoder.decode(type, from: Data(bytes))
    }

    /// Encodes a value as content.
    public init(encoding value: some Encodable, by encoder: JSONEncoder = JSONEncoder()) throws {
        try self.init([UInt8](encoder.encode(value)))
    }
}
