/// Which rows of a list a reader shows: an anchor row, and some rows before and after it, over all sections in order.
public struct StateWindow: Sendable, Hashable {
    /// The choice of the anchor row.
    public enum Anchor: Sendable, Hashable {
        /// Always the first row.
        case start
        /// Always the last row.
        case end
        /// Always the row with this number, from zero; beyond the last one, the last.
        case row(Int)
        /// The item whose id has this text, wherever it is.
        case around(ElementID)
    }

    /// The anchor row.
    public var anchor: Anchor
    /// Rows before the anchor.
    public var before: Int
    /// Rows after the anchor.
    public var after: Int

    /// The largest number of rows before the anchor, and after it.
    public static let maxRows = (WindowPosition.maxRows - 1) / 2

    /// A window. Default: 50 rows after the anchor, or before it if that is the last row.
    ///
    /// - Precondition: both numbers are 0...`maxRows`.
    public init(_ anchor: Anchor, before: Int? = nil, after: Int? = nil) {
        self.anchor = anchor
        self.before = before ?? (anchor == .end ? 50 : 0)
        self.after = after ?? (anchor == .end ? 0 : 50)
        precondition((0...Self.maxRows).contains(self.before) && (0...Self.maxRows).contains(self.after))
    }

    /// A query's parameters for a window, by name.
    public enum Parameter: String, Sendable, CaseIterable { case at, around, before, after }

    /// Why parameters do not describe a window.
    public struct Failure: Error, Equatable {
        /// The parameter at fault.
        public let parameter: Parameter
        /// A readable sentence.
        public let detail: String
    }

    /// The window that parameters describe; nil if there are none.
    public init?(_ value: (Parameter) -> String?) throws(Failure) {
        let numbers = (before: try Self.number(.before, value(.before)), after: try Self.number(.after, value(.after)))
        switch (value(.at), value(.around)) {
        case (nil, nil):
            guard numbers.before == nil, numbers.after == nil else {
                throw Failure(
                    parameter: numbers.before == nil ? .after : .before,
                    detail: "a window needs an anchor: at or around")
            }
            return nil
        case (_?, _?): throw Failure(parameter: .around, detail: "a window takes one anchor: at or around, not both")
        case (nil, let id?): self.init(.around(ElementID(id)), before: numbers.before, after: numbers.after)
        case (let at?, nil): self.init(try Self.anchor(at), before: numbers.before, after: numbers.after)
        }
    }

    private static func anchor(_ text: String) throws(Failure) -> Anchor {
        switch text {
        case "start": return .start
        case "end": return .end
        default:
            guard let row = text.wholeNumber else {
                throw Failure(parameter: .at, detail: "at must be start, end or a row number, 0 or more")
            }
            return .row(row)
        }
    }

    private static func number(_ parameter: Parameter, _ text: String?) throws(Failure) -> Int? {
        guard let text else { return nil }
        guard let number = text.wholeNumber, number <= maxRows else {
            throw Failure(
                parameter: parameter, detail: "\(parameter.rawValue) must be a whole number from 0 to \(maxRows)")
        }
        return number
    }
}

/// The position of a window in the list it is part of, for asking again; as text `above.rows.anchor`.
public struct WindowPosition: Sendable, Hashable, CustomStringConvertible {
    /// Rows of a window at most: 1,000 before the anchor, the anchor itself, and 1,000 after it.
    package static let maxRows = 2_001

    // Eight bytes, since it accompanies each revision.
    private let rowsAbove: UInt32
    private let rowCount: UInt16
    private let anchorRow: UInt16

    /// Rows before the first.
    public var above: Int { Int(rowsAbove) }
    /// The number of rows.
    public var rows: Int { Int(rowCount) }
    /// The anchor row, counted from the first of all; 0 without rows.
    public var anchor: Int { above + Int(anchorRow) }

    /// A position; nil if the anchor is not one of its rows.
    public init?(above: Int, rows: Int, anchor: Int) {
        guard above >= 0, rows >= 0, rows <= Self.maxRows, above <= Int(Int32.max),
            rows == 0 ? above == 0 && anchor == 0 : (above..<above + rows).contains(anchor)
        else { return nil }
        rowsAbove = UInt32(truncatingIfNeeded: above)
        (rowCount, anchorRow) = (UInt16(truncatingIfNeeded: rows), UInt16(truncatingIfNeeded: anchor - above))
    }

    /// Reads what `description` wrote; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.wholeNumber }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        self.init(above: numbers[0], rows: numbers[1], anchor: numbers[2])
    }

    /// Three numbers separated by points.
    public var description: String { "\(above).\(rows).\(anchor)" }
}

extension StringProtocol {
    /// Digits as a number, clamped to `Int.max`. Nil for anything else.
    package var wholeNumber: Int? {
        guard !isEmpty, utf8.allSatisfy(\.isDigit) else { return nil }
        return Int(self) ?? .max
    }
}
