import CDiffZlib

/// Inflates a gzip body (RFC 1952) while it arrives: several members in a row, and nothing else after a member.
///
/// Zlib gets room for one piece at a time, and a bomb is detected by its ratio, or else at the limit.
public final class Inflater {
    /// The result of a piece of input.
    public enum Outcome: Equatable {
        case more
        /// The inflated input did not fit.
        case tooLarge
        /// The body inflates to more than `maxRatio` times its size.
        case tooDense
        case malformed
    }

    /// At a fixed address: zlib keeps a pointer to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isBetweenMembers = false
    private var hasBegun = false

    private var (consumed, produced) = (0, 0)

    private static let piece = 64 * 1024
    /// The largest output-to-input ratio so far. Lists of rows with the same members reach 10 to 40, deflate 1,032.
    public static let maxRatio = 64
    /// The output up to which any ratio is accepted.
    public static let ratioFreeBytes = 256 * 1024

    /// Inflates one body.
    public init() {
        stream.initialize(to: z_stream())
        // Window bits plus 16 mean gzip only.
        let status = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        precondition(status == Z_OK, "zlib has no memory")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Whether the input so far consists of whole members.
    public var isComplete: Bool { isBetweenMembers && hasBegun }

    /// Appends the inflated `input`, as long as `body` stays within `limit`.
    func inflate(_ input: UnsafeRawBufferPointer, into body: inout [UInt8], limit: Int) -> Outcome {
        inflate(input) { piece in
            guard body.count + piece.count <= limit else { return false }
            body.append(contentsOf: piece)
            return true
        }
    }

    /// Inflates `input` and passes it on in pieces, until `take` has no more room.
    public func inflate(_ input: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool) -> Outcome {
        // Empty input begins no member: the end of a chunked body brings no octets.
        guard !input.isEmpty, let base = input.bindMemory(to: UInt8.self).baseAddress else { return .more }
        hasBegun = true
        stream.pointee.next_in = UnsafeMutablePointer(mutating: base)
        stream.pointee.avail_in = UInt32(input.count)
        return withUnsafeTemporaryAllocation(byteCount: Self.piece, alignment: 16) { room in
            repeat {
                if isBetweenMembers {
                    inflateReset(stream)
                    isBetweenMembers = false
                }
                stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(room.count)
                let status = CDiffZlib.inflate(stream, Z_NO_FLUSH)
                guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return .malformed }
                let count = room.count - Int(stream.pointee.avail_out)
                produced += count
                let sent = consumed + input.count - Int(stream.pointee.avail_in)
                guard produced <= Self.ratioFreeBytes || produced <= sent * Self.maxRatio else { return .tooDense }
                guard take(UnsafeRawBufferPointer(rebasing: room[0..<count])) else { return .tooLarge }
                isBetweenMembers = status == Z_STREAM_END
                // Room left over means that the input is consumed, or that another member follows.
            } while stream.pointee.avail_in > 0 || stream.pointee.avail_out == 0 && !isBetweenMembers
            consumed += input.count
            return .more
        }
    }
}
