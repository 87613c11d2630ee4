import CDiffZlib

/// Compresses with deflate (RFC 1951).
final class Deflater {
    /// At a fixed address, which zlib stores.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let format: Format
    private var level: Int32

    enum Format {
        /// A whole body as one gzip member, at level 1: from there each further percent of size costs twice the time.
        case gzip
        /// Pieces of a stream, without a header.
        case pieces
    }

    init(_ format: Format = .gzip) {
        self.format = format
        level = format == .gzip ? 1 : 9
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        // Window bits plus 16 mean gzip, negative ones no header.
        let window: Int32 = format == .gzip ? 15 + 16 : -15
        let status = deflateInit2_(stream, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        precondition(status == Z_OK, "zlib has no memory")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// `body` as a gzip member, or nil if that is not smaller.
    func compressed(_ body: ArraySlice<UInt8>) -> [UInt8]? {
        precondition(format == .gzip)
        deflateReset(stream)
        let output = run(body, room: body.count, flush: Z_FINISH)
        // A much smaller result is copied, to free the unused room.
        return output.isEmpty ? nil : output.count > output.capacity / 2 ? output : output.map { $0 }
    }

    /// A piece of a stream that ends on a whole octet, so that the peer can inflate it at once.
    ///
    /// - Parameters:
    ///   - tail: the octets of the stream before the piece, of which it may refer to the last 32 KiB.
    ///   - level: from 1, fast, to 9, small.
    func flushed(_ piece: ArraySlice<UInt8>, behind tail: [UInt8] = [], level: Int32) -> [UInt8] {
        precondition(format == .pieces)
        deflateReset(stream)
        if level != self.level {
            deflateParams(stream, level, Z_DEFAULT_STRATEGY)
            self.level = level
        }
        if !tail.isEmpty { deflateSetDictionary(stream, tail, UInt32(tail.count)) }
        // The bound is for a whole body; a flush appends an empty block.
        let room = Int(deflateBound(stream, UInt(piece.count))) + 16
        return run(piece, room: room, flush: Z_SYNC_FLUSH)
    }

    /// The output; empty if it does not fit.
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
