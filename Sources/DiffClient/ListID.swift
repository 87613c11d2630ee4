// Ids in an app's own types. The server compares ids byte by byte, so an id of another type must have one spelling:
// what is read from a list is written back unchanged, or is not read at all.

import Foundation
import SnapshotKit

/// A type of ids: `ElementID`, `String`, `Int`, `Int64`, `UUID`, or one of your own with such a raw value.
///
/// ```swift
/// struct FireID: RawRepresentable, ListID { var rawValue: Int }
///
/// try await fires.edit(.remove(FireID(rawValue: 17)))
/// let ids = fires.rows.compactMap { FireID(id: $0.id) }
/// ```
public protocol ListID: ElementIDConvertible {
    /// The id in this type; nil if it is no such value, or if `elementID` would spell it differently.
    init?(id: ElementID)
}

// MARK: - Types of ids

extension ElementID: ListID {
    /// The same id.
    public init?(id: ElementID) { self = id }
}

extension String: ListID {
    /// The id's text; nil if it is not in Unicode's form C, since Swift might consider it equal to another id.
    public init?(id: ElementID) {
        let text = id.text
        guard ElementID(text.precomposedStringWithCanonicalMapping) == id else { return nil }
        self = text
    }
}

extension ListID where Self: FixedWidthInteger {
    /// The number that the id writes, as an integer or as a string.
    public init?(id: ElementID) {
        guard let number = Self(id.text), ElementID(number) == id else { return nil }
        self = number
    }
}

extension Int: ListID {}
extension Int64: ListID {}

extension UUID: ListID {
    /// The UUID in lowercase, as RFC 9562 has it and most backends write it.
    ///
    /// Swift's `Codable` writes uppercase. So post `NewElement(uuid, …)`, or `elementID` as a member of your own type;
    /// in a list with ids in uppercase, use `uuidString` as id.
    public var elementID: ElementID { ElementID(uuidString.lowercased()) }

    /// The UUID that the id writes; nil if it has uppercase letters.
    public init?(id: ElementID) {
        guard let uuid = UUID(uuidString: id.text), uuid.elementID == id else { return nil }
        self = uuid
    }
}

extension ListID where Self: RawRepresentable, RawValue: ListID {
    /// The value with the id as its raw value.
    public init?(id: ElementID) {
        guard let value = RawValue(id: id) else { return nil }
        self.init(rawValue: value)
    }
}
