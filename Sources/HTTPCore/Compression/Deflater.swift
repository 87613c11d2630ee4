import CZlib

/// Makes gzip of whole bodies, one after the other. Level 1: behind it each further percent of size costs twice the
/// time.
final class Deflater {
    /// At an address of its own: zlib remembers it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init?() {
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        guard deflateInit2_(stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// `body` as one gzip member, or nil if that would not be smaller.
    func compressed(_ body: ArraySlice<UInt8>) -> [UInt8]? {
        deflateReset(stream)
        return body.withUnsafeBufferPointer { input in
            let output = [UInt8](unsafeUninitializedCapacity: body.count) { room, count in
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = room.baseAddress
                stream.pointee.avail_out = UInt32(room.count)
                let isDone = deflate(stream, Z_FINISH) == Z_STREAM_END
                count = isDone ? room.count - Int(stream.pointee.avail_out) : 0
            }
            // Copied where it is much smaller, so that no more than what was written stays.
            return output.isEmpty ? nil : output.count > output.capacity / 2 ? output : output.map { $0 }
        }
    }
}
