import CDiffZlib

/// Compresses with deflate (RFC 1951), one piece after the other.
final class Deflater {
    /// At an address of its own: zlib remembers it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let format: Format
    private var level: Int32

    /// What is made.
    enum Format {
        /// A whole body: one gzip member. Level 1: behind it each further percent of size costs twice the time.
        case gzip
        /// Pieces of one stream, without a header: whoever sends them sees to that.
        case pieces
    }

    init?(_ format: Format = .gzip) {
        self.format = format
        level = format == .gzip ? 1 : 9
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        // 16 more than the window's bits means gzip, less than none means no header.
        let window: Int32 = format == .gzip ? 15 + 16 : -15
        guard deflateInit2_(stream, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else { return nil }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// `body` as one gzip member, or nil if that would not be smaller.
    func compressed(_ body: ArraySlice<UInt8>) -> [UInt8]? {
        precondition(format == .gzip)
        deflateReset(stream)
        let output = run(body, room: body.count, flush: Z_FINISH)
        // Copied where it is much smaller, so that no more than what was written stays.
        return output.isEmpty ? nil : output.count > output.capacity / 2 ? output : output.map { $0 }
    }

    /// A piece of a stream, which ends on a whole octet, and which the peer can inflate as soon as it has come.
    ///
    /// - Parameters:
    ///   - tail: the octets of the stream before the piece, which it may refer to; the last 32 KiB count.
    ///   - level: 1 is fast, 9 is small.
    func flushed(_ piece: ArraySlice<UInt8>, behind tail: [UInt8] = [], level: Int32) -> [UInt8] {
        precondition(format == .pieces)
        deflateReset(stream)
        if level != self.level {
            deflateParams(stream, level, Z_DEFAULT_STRATEGY)
            self.level = level
        }
        if !tail.isEmpty { deflateSetDictionary(stream, tail, UInt32(tail.count)) }
        // The bound is of a whole body; a flush puts an empty block behind it.
        let room = Int(deflateBound(stream, UInt(piece.count))) + 16
        return run(piece, room: room, flush: Z_SYNC_FLUSH)
    }

    /// What comes of the input; nothing if it does not fit.
    private func run(_ input: ArraySlice<UInt8>, room: Int, flush: Int32) -> [UInt8] {
        input.withUnsafeBufferPointer { input in
            [UInt8](unsafeUninitializedCapacity: room) { output, count in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                let status = deflate(stream, flush)
                let isDone = flush == Z_FINISH ? status == Z_STREAM_END : stream.pointee.avail_out > 0
                count = isDone ? output.count - Int(stream.pointee.avail_out) : 0
            }
        }
    }
}
