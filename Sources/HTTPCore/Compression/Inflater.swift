import CZlib

/// A gzip body (RFC 1952), inflated while it arrives.
///
/// Nothing is inflated ahead of the limit: zlib gets room for one piece at a time, and a bomb is found out at its limit's end, whatever it
/// would have become. Several members in a row are one body, as the RFC has it; anything else behind a member is malformed.
final class Inflater {
    enum Outcome: Equatable {
        case more
        case tooLarge
        case malformed
    }

    private var stream = z_stream()
    private var isBetweenMembers = false
    private var hasBegun = false

    private static let piece = 64 * 1024

    init?() {
        // 16 more than the window's bits means gzip and nothing else.
        guard inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
    }

    deinit { inflateEnd(&stream) }

    /// Whether the input so far is whole members.
    var isComplete: Bool { isBetweenMembers && hasBegun }

    /// Appends what `input` inflates to, as long as `body` stays within `limit`.
    func inflate(_ input: UnsafeRawBufferPointer, into body: inout [UInt8], limit: Int) -> Outcome {
        guard let base = input.bindMemory(to: UInt8.self).baseAddress else { return .more }
        hasBegun = true
        stream.next_in = UnsafeMutablePointer(mutating: base)
        stream.avail_in = UInt32(input.count)
        return withUnsafeTemporaryAllocation(byteCount: Self.piece, alignment: 16) { room in
            repeat {
                if isBetweenMembers {
                    inflateReset(&stream)
                    isBetweenMembers = false
                }
                stream.next_out = room.bindMemory(to: UInt8.self).baseAddress
                stream.avail_out = UInt32(room.count)
                let status = CZlib.inflate(&stream, Z_NO_FLUSH)
                guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return .malformed }
                let produced = room.count - Int(stream.avail_out)
                guard body.count + produced <= limit else { return .tooLarge }
                body.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[0..<produced]))
                isBetweenMembers = status == Z_STREAM_END
                // Room left over means that all of the input is taken, or that another member follows.
            } while stream.avail_in > 0 || stream.avail_out == 0 && !isBetweenMembers
            return .more
        }
    }
}
