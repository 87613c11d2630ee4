// Ids in a program's own types, where edits take them. DiffClient's `ListID` also reads them back.

/// One id, or several in an array or a set.
public protocol ListIDs: Sendable {
    /// The ids, in order; as a sibling, nil is the end or the start.
    var elementIDs: [ElementID?] { get }
}

/// A type whose values are ids: `ElementID`, `String`, `Int`, `Int64`, or one of your own with such a raw value.
public protocol ElementIDConvertible: ListIDs {
    /// The id in the type that lists use.
    var elementID: ElementID { get }
}

extension ElementIDConvertible {
    /// This id alone.
    public var elementIDs: [ElementID?] { [elementID] }
}

extension Optional: ListIDs where Wrapped: ListIDs {
    /// The ids, or nil as one of them.
    public var elementIDs: [ElementID?] { self?.elementIDs ?? [nil] }
}

extension Array: ListIDs where Element: ListIDs {
    /// The ids, in order.
    public var elementIDs: [ElementID?] { flatMap(\.elementIDs) }
}

extension Set: ListIDs where Element: ListIDs {
    /// The ids, in any order.
    public var elementIDs: [ElementID?] { flatMap(\.elementIDs) }
}

extension ElementID: ElementIDConvertible {
    /// This id.
    public var elementID: ElementID { self }
}

extension String: ElementIDConvertible {
    /// An id with this text.
    public var elementID: ElementID { ElementID(self) }
}

extension ElementIDConvertible where Self: FixedWidthInteger {
    /// An id with these digits.
    public var elementID: ElementID { ElementID(self) }
}

extension Int: ElementIDConvertible {}
extension Int64: ElementIDConvertible {}

extension ElementIDConvertible where Self: RawRepresentable, RawValue: ElementIDConvertible {
    /// The raw value's id.
    public var elementID: ElementID { rawValue.elementID }
}
