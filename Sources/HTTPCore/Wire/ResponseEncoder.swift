/// Writes heads and chunks of answers, to a buffer that may hold earlier answers of the connection.
enum ResponseEncoder {
    /// How the end of the body is marked (RFC 9112 §6.3).
    enum Framing {
        /// No length: there is no body, or the end of the connection ends it.
        case none
        case length(Int)
        case chunked
    }

    /// What the answer says about the connection. HTTP/1.1 keeps it open by default, HTTP/1.0 does not.
    enum Persistence { case implicit, keepAlive, close }

    static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    static func appendHead(
        status: Int, fields: [Field], framing: Framing, persistence: Persistence, date: [UInt8], id: RequestID,
        to buffer: OutputBuffer
    ) {
        // Every answer forbids sniffing its type (Fetch Standard, "nosniff").
        if status == 200 {
            buffer.append("HTTP/1.1 200 OK\r\nX-Content-Type-Options: nosniff\r\n")
        } else {
            buffer.append("HTTP/1.1 ")
            buffer.append(decimal: status)
            buffer.append(" ")
            buffer.append(reason(status))
            buffer.append("\r\nX-Content-Type-Options: nosniff\r\n")
        }
        buffer.append(date)
        buffer.append("X-Request-Id: ")
        id.append(to: buffer)
        buffer.append("\r\n")
        switch framing {
        case .none: break
        case .length(let count):
            buffer.append("Content-Length: ")
            buffer.append(decimal: count)
            buffer.append("\r\n")
        case .chunked: buffer.append("Transfer-Encoding: chunked\r\n")
        }
        switch persistence {
        case .implicit: break
        case .keepAlive: buffer.append("Connection: keep-alive\r\n")
        case .close: buffer.append("Connection: close\r\n")
        }
        fields.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                buffer.append(text: fields[index].name)
                buffer.append(": ")
                buffer.append(fieldValue: fields[index].value)
                buffer.append("\r\n")
            }
        }
        buffer.append("\r\n")
    }

    /// Appends a chunk, which must not be empty: that would end the body.
    static func append(chunk: [UInt8], to buffer: OutputBuffer) {
        buffer.append(text: String(chunk.count, radix: 16))
        buffer.append("\r\n")
        buffer.append(chunk)
        buffer.append("\r\n")
    }

    static let lastChunk: StaticString = "0\r\n\r\n"

    /// The reason phrase (RFC 9110 §15); empty for a status that is not in use here.
    static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}

/// A growing buffer that answers are written into. Not an array, because an answer is some fifteen small appends, each
/// of which would pay for a uniqueness check and a call: an eighth of the time of pipelined requests.
final class OutputBuffer {
    private(set) var base: UnsafeMutableRawPointer
    private(set) var count = 0
    private(set) var capacity: Int

    init(capacity: Int = 4096) {
        base = .allocate(byteCount: capacity, alignment: 16)
        self.capacity = capacity
    }

    deinit { base.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    func removeAll() { count = 0 }

    @inline(__always)
    func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    @inline(__always)
    func append(_ literal: StaticString) {
        append(UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
    }

    @inline(__always)
    func append(text: String) {
        // Native strings are contiguous, and all strings here are native.
        if text.utf8.withContiguousStorageIfAvailable({ append(UnsafeRawBufferPointer($0)) }) == nil {
            append(Array(text.utf8))
        }
    }

    /// Appends `text`, replacing octets that a field value may not have by spaces.
    func append(fieldValue text: String) {
        let start = count
        append(text: text)
        guard bytes.slice(start, count).hasControls else { return }
        let value = UnsafeMutableRawBufferPointer(start: base + start, count: count - start)
        for index in value.indices where !value[index].isFieldContent { value[index] = .space }
    }

    /// Appends a non-negative number in decimal.
    func append(decimal number: Int) {
        reserve(20)
        var digits = 1
        var power = 10
        while digits < 19, number >= power {
            digits += 1
            if digits < 19 { power *= 10 }
        }
        var rest = number
        for offset in (count..<count + digits).reversed() {
            base.storeBytes(of: UInt8(truncatingIfNeeded: rest % 10) &+ 0x30, toByteOffset: offset, as: UInt8.self)
            rest /= 10
        }
        count += digits
    }

    /// Appends all 16 hexadecimal digits of a number, eight at a time: a nibble gets a byte, which becomes its digit.
    func append(digits number: UInt64) {
        reserve(16)
        for half in [number >> 32, number & 0xFFFF_FFFF] {
            var nibbles = (half | half << 16) & 0x0000_FFFF_0000_FFFF
            nibbles = (nibbles | nibbles << 8) & 0x00FF_00FF_00FF_00FF
            nibbles = (nibbles | nibbles << 4) & 0x0F0F_0F0F_0F0F_0F0F
            // 1 in the byte of each nibble from 10 on: with 6 more it carries.
            let letters = (nibbles + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
            let digits = nibbles + 0x3030_3030_3030_3030 + letters * 39
            base.storeBytes(of: digits.bigEndian, toByteOffset: count, as: UInt64.self)
            count += 8
        }
    }

    @inline(__always)
    private func reserve(_ room: Int) {
        if capacity - count < room { grow(room) }
    }

    @inline(never)
    private func grow(_ room: Int) {
        let larger = max(capacity * 2, count + room)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        moved.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = moved
        capacity = larger
    }
}
