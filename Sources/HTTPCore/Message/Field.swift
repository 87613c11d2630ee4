/// A field line of an answer.
///
/// Control characters such as CR, LF and NUL are written as spaces, so that a value that came from a client cannot add
/// a field or an answer.
public struct Field: Sendable, Hashable {
    /// The name as it is written.
    public var name: String
    /// The value without blanks around it.
    public var value: String

    /// A field line.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The position of a field line in the bytes of a request's head. 32 bits suffice for a head within its limit.
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
