/// Ids, contents and kinds, one behind the other, as a state that is put together from others needs them.
struct TokenBuffer {
    private var bytes: [UInt8] = []

    /// A buffer with room for `capacity` bytes before it grows.
    init(capacity: Int) { bytes.reserveCapacity(capacity + JSONScanner.zeros.count) }

    /// Bytes so far.
    var count: Int { bytes.count }

    /// Appends an id as it was written; returns where its text starts.
    @inline(__always)
    mutating func append(_ id: IDText) -> Int {
        bytes.append(contentsOf: id.token)
        if id.flags.contains(.integerID) { return bytes.count - id.count }
        guard id.flags.contains(.escapedID) else { return bytes.count - id.count - 1 }
        bytes.append(UInt8(truncatingIfNeeded: id.token.count))
        bytes.append(UInt8(truncatingIfNeeded: id.token.count >> 8))
        bytes.append(contentsOf: id.text)
        return bytes.count - id.count
    }

    /// Appends a JSON value; returns where it starts. A cursor that reads a number stops at the comma behind it.
    @inline(__always)
    mutating func append(value: UnsafeRawBufferPointer) -> Int {
        bytes.append(contentsOf: value)
        bytes.append(UInt8(ascii: ","))
        return bytes.count - value.count - 1
    }

    /// The bytes and their padding, without room to spare.
    consuming func padded() -> [UInt8] {
        bytes.append(contentsOf: JSONScanner.zeros)
        if bytes.capacity - bytes.count <= bytes.count / 64 { return bytes }
        return Array(unsafeUninitializedCapacity: bytes.count) { room, count in
            (_, count) = room.initialize(from: bytes)
        }
    }
}
