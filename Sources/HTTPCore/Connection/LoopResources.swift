import CDiffSystem

/// What the connections of a loop share. Confined to the loop.
final class LoopResources {
    /// The buffer for reads. It fits the largest head kept from a connection's earlier reads, plus one more read.
    let scratch = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 2 * MessageLimits.largest + Connection.headReadBytes, alignment: 64)
    private(set) lazy var deflater = Deflater()
    private(set) lazy var pieces = Deflater(.pieces)
    var date = DateField()
    var requestIDs = RequestIDs()
    private var spareBuffers: [OutputBuffer] = []
    private var spareInput: [[UInt8]] = []

    /// How many empty buffers of each kind are kept, and how large they may be.
    private static let spares = 64
    private static let largestSpare = 64 * 1024

    deinit { scratch.deallocate() }

    func takeBuffer() -> OutputBuffer { spareBuffers.popLast() ?? OutputBuffer() }

    func recycle(_ buffer: OutputBuffer) {
        guard buffer.capacity <= Self.largestSpare, spareBuffers.count < Self.spares else { return }
        buffer.removeAll()
        spareBuffers.append(buffer)
    }

    func takeArray() -> [UInt8] { spareInput.popLast() ?? [] }

    func recycle(_ array: consuming [UInt8]) {
        guard array.capacity <= Self.largestSpare, spareInput.count < Self.spares else { return }
        array.removeAll(keepingCapacity: true)
        spareInput.append(array)
    }
}

/// The Date field line in the only form that a server may write (RFC 9110 §5.6.7), formatted once a second.
struct DateField: Sendable {
    private var formatted: [UInt8] = []
    private var second: Int = .min

    /// The line for a time in seconds since 1970.
    @inline(__always)
    mutating func line(at now: Int) -> [UInt8] {
        if now != second { (second, formatted) = (now, Self.line(now)) }
        return formatted
    }

    /// English names of days and months, whatever the process's locale.
    private nonisolated(unsafe) static let locale = newlocale(1 << LC_TIME, "C", nil)

    static func line(_ seconds: Int) -> [UInt8] {
        var (time, parts) = (time_t(seconds), tm())
        gmtime_r(&time, &parts)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { line in
            let format = "Date: %a, %d %b %Y %H:%M:%S GMT\r\n"
            let count = strftime_l(line.baseAddress!, line.count, format, &parts, locale!)
            return line[..<count].map { UInt8(bitPattern: $0) }
        }
    }
}
