import Foundation
import SnapshotKit

/// A view of a session: some sections, the items that pass tests, in another order, and the like.
///
/// Pointers are JSON Pointers (RFC 6901) to `/id`, `/kind`, `/expanded`, or to `/content` and below. The server refuses
/// a view that it does not understand, with status 400.
///
/// ```swift
/// client.view = try ListView(
///     where: [.at("/content/open", is: true)], order: [.at("/content/total", descending: true)], limit: 20)
/// ```
public struct ListView: Sendable, Equatable {
    let json: JSONText

    /// A view in JSON.
    public init(_ json: JSONText) { self.json = json }

    /// A view, applied in the order of its parameters. A nil parameter changes nothing.
    ///
    /// - Parameters:
    ///   - sections: only these sections.
    ///   - tests: only the items that pass all of them.
    ///   - order: how siblings are sorted.
    ///   - group: which sections the items go into.
    ///   - sectionOrder: how sections are sorted.
    ///   - emptySections: whether sections without items are shown; by default they are.
    ///   - collapsedSections: sections that are collapsed, whatever the list says.
    ///   - collapsedItems: items that are collapsed, whatever the list says.
    ///   - limit: the largest number of top-level items.
    ///   - fields: only these members of items' contents.
    ///   - sectionFields: only these members of sections' contents.
    ///   - listFields: only these members of the list's content.
    /// - Throws: the error of encoding a test's value, such as `EncodingError` for NaN.
    public init(
        sections: (any ListIDs)? = nil, where tests: [Test]? = nil, order: [Order]? = nil, group: Group? = nil,
        sectionOrder: [Order]? = nil, emptySections: Bool? = nil, collapsedSections: (any ListIDs)? = nil,
        collapsedItems: (any ListIDs)? = nil, limit: Int? = nil, fields: [String]? = nil,
        sectionFields: [String]? = nil, listFields: [String]? = nil
    ) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let collapsed = [String: AnyJSON]([
            "sections": collapsedSections?.elementIDs, "items": collapsedItems?.elementIDs,
        ])
        let members: [String: (any Encodable & Sendable)?] = [
            "sections": sections?.elementIDs, "where": tests?.map(\.members), "order": order, "group": group,
            "sectionOrder": sectionOrder, "emptySections": emptySections,
            "collapsed": collapsed.isEmpty ? nil : collapsed, "limit": limit, "fields": fields,
            "sectionFields": sectionFields, "listFields": listFields,
        ]
        json = try JSONText(encoding: [String: AnyJSON](members), by: encoder)
    }

    /// A key that siblings or sections are sorted by; the next one breaks ties.
    public struct Order: Encodable, Sendable {
        private let at: String
        private let descending: Bool

        /// By the value at a pointer.
        public static func at(_ pointer: String, descending: Bool = false) -> Order {
            Order(at: pointer, descending: descending)
        }
    }

    /// Which sections the items go into.
    public struct Group: Encodable, Sendable {
        private let at: String
        private let prefix: Int?

        /// By the values at a pointer, or by this many of their first characters.
        public static func at(_ pointer: String, prefix: Int? = nil) -> Group { Group(at: pointer, prefix: prefix) }
    }
}

// MARK: - Tests

extension ListView {
    /// A test of the value at a pointer into an item. With `fold`, strings are compared without regard to case. Values
    /// are as `Codable` writes them; for `/id`, give an id's `elementID`.
    public struct Test: Sendable {
        fileprivate let members: [String: AnyJSON]

        private init(_ pointer: String, _ name: String, _ value: (any Encodable & Sendable)?, _ folds: Bool = false) {
            members = ["at": AnyJSON(pointer), name: AnyJSON(value), "fold": folds ? AnyJSON(true) : nil]
                .compactMapValues { $0 }
        }

        private init(members: [String: AnyJSON]) { self.members = members }

        /// A value equal to this one; nil is null.
        public static func at(_ pointer: String, is value: (any Encodable & Sendable)?, fold: Bool = false) -> Test {
            Test(pointer, "is", value, fold)
        }

        /// Any other value, or none.
        public static func at(_ pointer: String, not value: (any Encodable & Sendable)?, fold: Bool = false) -> Test {
            Test(pointer, "not", value, fold)
        }

        /// A value equal to one of these.
        public static func at(_ pointer: String, in values: [some Encodable & Sendable], fold: Bool = false) -> Test {
            Test(pointer, "in", values, fold)
        }

        /// A number less than this one, or a string before it.
        public static func at(
            _ pointer: String, below value: some Comparable & Encodable & Sendable, fold: Bool = false
        ) -> Test { Test(pointer, "below", value, fold) }

        /// A number greater than this one, or a string after it.
        public static func at(
            _ pointer: String, above value: some Comparable & Encodable & Sendable, fold: Bool = false
        ) -> Test { Test(pointer, "above", value, fold) }

        /// A number or string that is not above this one.
        public static func at(
            _ pointer: String, atMost value: some Comparable & Encodable & Sendable, fold: Bool = false
        ) -> Test { Test(pointer, "atMost", value, fold) }

        /// A number or string that is not below this one.
        public static func at(
            _ pointer: String, atLeast value: some Comparable & Encodable & Sendable, fold: Bool = false
        ) -> Test { Test(pointer, "atLeast", value, fold) }

        /// A string that contains this one.
        public static func at(_ pointer: String, has part: String, fold: Bool = false) -> Test {
            Test(pointer, "has", part, fold)
        }

        /// A value that exists, or does not; null exists.
        public static func at(_ pointer: String, exists: Bool) -> Test { Test(pointer, "exists", exists) }

        /// At least one of these tests.
        public static func any(_ tests: [Test]) -> Test { Test(members: ["any": AnyJSON(tests.map(\.members))]) }
    }
}
