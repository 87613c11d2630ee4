/// The place of a row: the index of its section, and its own among that section's rows, both from zero. Rows are
/// visible items only, depth first.
public struct ItemPath: Hashable, Sendable {
    /// Index of the section.
    public var section: Int
    /// Index among the section's rows.
    public var row: Int

    /// A path from two indexes.
    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }
}

extension ItemPath: Comparable, CustomStringConvertible {
    /// In the order shown.
    public static func < (one: ItemPath, other: ItemPath) -> Bool {
        (one.section, one.row) < (other.section, other.row)
    }

    /// As JSON: `[section,row]`.
    public var description: String { "[\(section),\(row)]" }
}

extension JSONWriter {
    /// `[section,row]`.
    @inline(__always)
    mutating func append(path section: Int, _ row: Int) {
        append(byte: UInt8(ascii: "["))
        append(section)
        append(byte: UInt8(ascii: ","))
        append(row)
        append(byte: UInt8(ascii: "]"))
    }
}
