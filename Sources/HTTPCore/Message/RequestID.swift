/// The id of an exchange, sent as `X-Request-Id` so that a client can quote what a log says.
struct RequestID {
    /// The request, whose own id takes precedence; nil if its head was never complete.
    let head: RequestHead?
    let made: UInt64

    /// Writes the id: that of the request, or 16 hexadecimal digits.
    @inline(__always)
    func append(to buffer: OutputBuffer) {
        guard let head, head.withOwnID({ buffer.append($0) }) else { return buffer.append(digits: made) }
    }

    var text: String {
        let buffer = OutputBuffer(capacity: 128)
        append(to: buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }
}

/// Generates ids without asking the system: a counter between two private keys (Even and Mansour 1997), mixed as in
/// SplitMix64 (Steele, Lea and Flood 2014). No two of a loop are the same, and none tells how many came before it.
struct RequestIDs {
    private var count: UInt64 = 0
    private let keys = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    mutating func next() -> UInt64 {
        count &+= 1
        var mixed = count ^ keys.0
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31 ^ keys.1
    }
}

extension RequestHead {
    /// Calls `body` with the value of `X-Request-Id` if it was sent once, as 1 to 128 visible octets of ASCII, and
    /// returns whether it was.
    @inline(__always)
    @discardableResult
    func withOwnID(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
        var count = 0
        forEach("x-request-id") { _ in
            count += 1
            return true
        }
        guard count == 1 else { return false }
        var isValid = false
        forEach("x-request-id") { value in
            isValid = (1...128).contains(value.count) && value.allSatisfy { (0x21...0x7E).contains($0) }
            if isValid { body(value) }
            return false
        }
        return isValid
    }
}
