/// The group of a row, alike for a shape's `groupAt` and a view's `group`.
///
/// The section's id is the value's text, so `1` and `"1"` are one group, and `1` and `1.0` are two. Its content is
/// `{"group":value}` as in its first row, so it has a header wherever contents are shown, and an app can tell a number
/// from a string.
package struct GroupValue {
    /// What the section's content says of the group, if this is its first row.
    package enum Form: UInt8, Sendable {
        /// Null: the row has no group.
        case missing
        /// Null: its value is one of which no id can be made.
        case unusable
        /// A string: the value, or the first scalars of its text.
        case string
        /// A number, true or false.
        case literal
    }

    package let form: Form
    /// The text of the section's id.
    package let id: UnsafeRawBufferPointer

    /// - Parameter text: not of a string with escapes.
    private init(_ form: Form, _ text: UnsafeRawBufferPointer, prefix: Int?) {
        let id = UnsafeRawBufferPointer(rebasing: text.prefix(ofScalars: prefix ?? text.count))
        let isUsable = id.canBeID
        self.form = text.isEmpty ? .missing : !isUsable ? .unusable : prefix == nil ? form : .string
        self.id = isUsable ? id : Self.none
    }

    private init(_ form: Form) { (self.form, id) = (form, Self.none) }

    /// Calls `body` with the group that a value names.
    ///
    /// - Parameter prefix: how many Unicode scalars of its text are the id; nil for all.
    package static func of<Result>(
        _ value: OrderedValue, prefix: Int?, _ body: (GroupValue) throws -> Result
    ) rethrows -> Result {
        switch value.rank {
        case .absent, .null: return try body(GroupValue(.missing))
        case .container: return try body(GroupValue(.unusable))
        case .no: return try body(GroupValue(.literal, text(of: "false"), prefix: prefix))
        case .yes: return try body(GroupValue(.literal, text(of: "true"), prefix: prefix))
        case .number: return try body(GroupValue(.literal, value.text, prefix: prefix))
        case .string where value.isEscaped:
            return try Array(value.string.text).withUnsafeBytes { try body(GroupValue(.string, $0, prefix: prefix)) }
        case .string: return try body(GroupValue(.string, value.text, prefix: prefix))
        }
    }

    /// The id of the section of rows without a group.
    static var none: UnsafeRawBufferPointer { text(of: "none") }

    /// The most bytes that a content takes besides the text of the id, if that needs no escapes.
    static let headerBytes = #"{"group":""}"#.utf8.count

    private static func text(of literal: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
    }
}

extension TokenBuffer {
    /// Appends the content of a section that a group makes; returns where it is.
    package mutating func append(headerOf id: UnsafeRawBufferPointer, _ form: GroupValue.Form) -> Range<Int>? {
        append { writer in
            writer.append("{\"group\":")
            switch form {
            case .missing, .unusable: writer.append("null")
            case .string: writer.append(string: id)
            case .literal: writer.append(id)
            }
            writer.append("}")
            return true
        }
    }
}
