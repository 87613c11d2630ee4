/// One field line of an answer.
///
/// Octets that would end the line (CR, LF, NUL and other controls) are written as spaces: a value that came from a
/// client cannot add a field or an answer of its own.
public struct Field: Sendable, Hashable {
    /// The name, in the spelling that is to be written.
    public var name: String
    /// The value without blanks around it.
    public var value: String

    /// A field line.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Where one field line of a request stands in the bytes of its head.
///
/// 32 bits are enough: a head is never longer than its limit.
struct FieldSpan: Sendable, Equatable {
    var nameStart: UInt32
    var nameEnd: UInt32
    var valueStart: UInt32
    var valueEnd: UInt32

    func name(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer { bytes.slice(Int(nameStart), Int(nameEnd)) }

    func value(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        bytes.slice(Int(valueStart), Int(valueEnd))
    }
}
