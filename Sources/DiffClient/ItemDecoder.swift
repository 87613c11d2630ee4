import Foundation
import SnapshotKit

/// A row with its content as a value.
public struct LiveRow<Item: Sendable>: Sendable, Identifiable {
    /// The item's id.
    public let id: ElementID
    /// The item's content, decoded.
    public let item: Item
    /// The type of cell.
    public let kind: String?
    /// Ancestors within the section.
    public let level: Int
    /// The item that this one is a child of.
    public let parent: ElementID?
    /// Whether its children are rows too.
    public let isExpanded: Bool
    /// Its direct children, hidden ones included.
    public let childCount: Int

    init(_ row: RowList.Row, _ item: Item) {
        (id, self.item, kind) = (row.id, item, row.kind)
        (level, parent, isExpanded, childCount) = (row.level, row.parent, row.isExpanded, row.childCount)
    }
}

extension LiveRow: Equatable where Item: Equatable {}
extension LiveRow: Hashable where Item: Hashable {}

/// A section with rows whose contents are values.
public struct LiveSection<Item: Sendable>: Sendable, Identifiable {
    /// The section's id.
    public let id: ElementID
    /// What its header shows.
    public let content: JSONText?
    /// Whether its items are rows.
    public let isExpanded: Bool
    /// Its rows, in order.
    public let rows: [LiveRow<Item>]
}

extension LiveSection: Equatable where Item: Equatable {}

/// Decodes the contents of a list's rows, each once: a content that stays the same is not decoded again.
///
/// ```swift
/// var decoder = ItemDecoder<Fire>()
/// for try await update in client.updates {
///     let sections = decoder.sections(of: update.list)
/// }
/// ```
public struct ItemDecoder<Item: Decodable & Sendable> {
    private let decoder: JSONDecoder
    private var known: [ElementID: (content: JSONText?, item: Result<Item, any Error>)] = [:]
    /// Rows of the last list whose contents are no `Item`, with what is wrong with them. They are in no section.
    public private(set) var failures: [ElementID: any Error] = [:]
    /// How many contents were decoded so far.
    private(set) var count = 0

    /// A decoder that has seen nothing.
    public init(_ decoder: JSONDecoder = JSONDecoder()) { self.decoder = decoder }

    /// The rows of a list, with decoded contents. A row without content is decoded from `null`, so it needs an optional
    /// `Item`. O(rows), and what the decoder takes for contents that changed.
    public mutating func sections(of list: RowList) -> [LiveSection<Item>] {
        var current: [ElementID: (content: JSONText?, item: Result<Item, any Error>)] = [:]
        failures = [:]
        let sections = list.sections.map { section in
            let rows = section.rows.compactMap { row -> LiveRow<Item>? in
                let item = self.item(of: row)
                current[row.id] = (row.content, item)
                switch item {
                case .success(let item): return LiveRow(row, item)
                case .failure(let error):
                    failures[row.id] = error
                    return nil
                }
            }
            return LiveSection(id: section.id, content: section.content, isExpanded: section.isExpanded, rows: rows)
        }
        known = current
        return sections
    }

    private mutating func item(of row: RowList.Row) -> Result<Item, any Error> {
        if let known = known[row.id], known.content == row.content { return known.item }
        count += 1
        return Result { try decoder.decode(Item.self, from: Data(row.content?.bytes ?? Array("null".utf8))) }
    }
}
