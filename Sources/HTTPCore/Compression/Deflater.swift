import CDiffZlib
import DiffClock

/// Compresses with deflate (RFC 1951).
final class Deflater {
    /// At a fixed address: zlib keeps a pointer to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let format: Format
    private var level: Int32

    enum Format {
        /// A whole body as one gzip member, at level 1: beyond that, each further percent of size costs twice the time.
        case gzip
        /// Pieces of a stream, without a header.
        case pieces
    }

    /// - Parameter level: from 1 (fastest) to 9 (smallest); nil for that of the format.
    init(_ format: Format = .gzip, level: Int32? = nil) {
        self.format = format
        self.level = level ?? (format == .gzip ? 1 : 9)
        stream.initialize(to: z_stream())
        let size = Int32(MemoryLayout<z_stream>.size)
        // Window bits plus 16 mean gzip, negative ones no header.
        let window: Int32 = format == .gzip ? 15 + 16 : -15
        let status = deflateInit2_(stream, self.level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
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

    /// Compresses a piece of a stream up to a whole octet, so that the peer can inflate it at once. It may refer to the
    /// last 32 KiB of `tail`, the octets before it.
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

// MARK: - Positions in a stream
//
// A stream of events is one gzip member (RFC 1952), flushed after each event. A compressor per stream would cost 16 KiB
// to 256 KiB each, and repeat the same work for a thousand readers of a list. After a flush, a piece depends only on
// the octets just before it. So the piece from one position to the next is compressed once, for every stream there.

/// The position in a compressed stream, shared by all that have sent the same octets: what later output depends on.
final class GzipPosition: Sendable {
    private let tail: [UInt8]
    /// Checksum and count of all octets, for the member's trailer (RFC 1952 §2.3.1).
    private let sum, count: UInt32
    /// The compressed piece that led here, for other streams; nil if it is too large to keep.
    private let piece: SharedBody?
    /// The length of that piece, uncompressed.
    private let length: Int
    private let budget: MemoryBudget
    /// The latest position reached from here; nil once no stream is there.
    private let next = Locked(Next())

    private struct Next {
        weak var position: GzipPosition?
    }

    /// The longest tail, in bytes; a larger piece is compressed without one.
    static let maxTail = 8 * 1024
    /// The largest piece kept for other streams, in bytes.
    private static let maxKeptPiece = 4 * 1024

    private init(
        _ tail: [UInt8], sum: UInt32, count: UInt32, _ piece: SharedBody?, of length: Int, _ budget: MemoryBudget
    ) {
        (self.tail, self.sum, self.count) = (tail, sum, count)
        (self.piece, self.length, self.budget) = (piece, length, budget)
        budget.charge(tail.capacity)
    }

    deinit { budget.release(tail.capacity) }

    static let start = GzipPosition([], sum: 0, count: 0, nil, of: 0, MemoryBudget())
    /// The member's header: no time, no name, unknown system.
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]

    /// The position after further octets, which must not be none, and the piece that leads there.
    ///
    /// - Parameter shared: the same octets as a shared body, if streams at other positions send them too.
    func advanced(
        by bytes: ArraySlice<UInt8>, of shared: SharedBody?, with deflater: Deflater, in budget: MemoryBudget
    ) -> (position: GzipPosition, piece: SharedBody) {
        let isLarge = bytes.count > Self.maxTail
        if let known = next.withLock({ $0.position }), let piece = known.piece, known.isReached(by: bytes) {
            return (known, piece)
        }
        let piece =
            if isLarge, let shared {
                shared.deflated(with: deflater)
            } else {
                SharedBody(
                    partOfStream: deflater.flushed(bytes, behind: isLarge ? [] : tail, level: isLarge ? 1 : 9),
                    in: budget)
            }
        let sum = bytes.withUnsafeBufferPointer { bytes in
            UInt32(crc32_z(UInt(self.sum), bytes.baseAddress, bytes.count))
        }
        let isKept = !isLarge && piece.count <= Self.maxKeptPiece
        // When memory is short, no tail is kept, and the next piece is larger.
        let position = GzipPosition(
            budget.inUse > budget.limit / 2 ? [] : tail(behind: bytes), sum: sum,
            count: count &+ UInt32(truncatingIfNeeded: bytes.count), isKept ? piece : nil, of: bytes.count, budget)
        if isKept { next.withLock { $0.position = position } }
        return (position, piece)
    }

    private func tail(behind bytes: ArraySlice<UInt8>) -> [UInt8] {
        var both: [UInt8] = []
        both.reserveCapacity(min(tail.count + bytes.count, Self.maxTail))
        both += tail.suffix(max(0, Self.maxTail - bytes.count))
        both += bytes.suffix(Self.maxTail)
        return both
    }

    /// Whether these octets led here from the previous position.
    private func isReached(by bytes: ArraySlice<UInt8>) -> Bool {
        length == bytes.count && tail.count >= length && tail.suffix(length).elementsEqual(bytes)
    }

    /// The end of the member: an empty last block, then checksum and count.
    var end: [UInt8] {
        [0x03, 0x00]
            + [sum, count].flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }
}

/// A compressible answer once its coding is chosen (RFC 9110 §8.4, §8.8.3.3, §12.5.3, §12.5.5).
extension Response {
    /// The same answer with `Accept-Encoding` in `Vary`.
    func varying() -> Response {
        var response = self
        guard let index = fields.firstIndex(where: { $0.name.lowercased() == "vary" }) else {
            response.fields.append(Field("Vary", "Accept-Encoding"))
            return response
        }
        let names = FieldList.elements(fields[index].value).map { $0.lowercased() }
        if !names.contains("accept-encoding"), !names.contains("*") {
            response.fields[index].value += ", Accept-Encoding"
        }
        return response
    }

    /// The same answer with a gzip body; uncompressed if that is nil, because gzip was not smaller.
    func encoded(_ body: Body?) -> Response {
        var response = varying()
        response.isCompressible = false
        guard let body else { return response }
        response.body = body
        response.fields.append(Field("Content-Encoding", "gzip"))
        return response.taggedGzip()
    }

    /// The same answer with the entity tag of its gzip form: a strong tag identifies one sequence of octets.
    func taggedGzip() -> Response {
        var response = self
        if let index = fields.firstIndex(where: { $0.name.lowercased() == "etag" }) {
            let tag = fields[index].value
            let isStrong = tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count > 1
            if isStrong { response.fields[index].value = "\(tag.dropLast());gzip\"" }
        }
        return response
    }
}
