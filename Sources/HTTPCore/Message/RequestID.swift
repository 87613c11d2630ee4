/// The id of an exchange, sent as `X-Request-Id` so that a client can quote what a log says: the request's own id, or a
/// generated one. Nothing is copied before it is written.
struct RequestID {
    /// The request, whose own id takes precedence; nil if its head was never complete.
    let head: RequestHead?
    /// The generated id.
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

/// Generates ids without asking the system: a counter under SipHash (Aumasson and Bernstein 2012) with a key private to
/// the process. So an id reveals neither how many came before it nor which comes next.
struct RequestIDs {
    private var state = UInt64.random(in: 0 ... .max)

    mutating func next() -> UInt64 {
        state &+= 1
        var hasher = Hasher()
        hasher.combine(state)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

extension RequestHead {
    /// Calls `body` with the value of `X-Request-Id` if it was sent once, as 1 to 128 visible octets of ASCII.
    ///
    /// - Returns: whether there is one.
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
