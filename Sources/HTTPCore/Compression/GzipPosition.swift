// A stream of events is one gzip member (RFC 1952), flushed after each event. A compressor per stream would cost 16 KiB
// to 256 KiB each, and repeat the same work for each of a thousand readers of a list.
//
// Deflate needs less: after a flush a piece begins on a whole octet, and depends only on the octets just before it. So
// the position in a stream is a value: the last octets, and checksum and count of all. The piece that leads from one
// position to the next is compressed once, and sent to all streams there. Readers of a list that are at the same
// position stay together; one that has fallen behind continues from its own.

import CDiffZlib

/// What a compressed stream has sent so far, as far as the rest depends on it. Shared by all streams that sent the
/// same.
final class GzipPosition: Sendable {
    /// The last octets, uncompressed.
    private let tail: [UInt8]
    /// Checksum and count of all octets, for the member's trailer (RFC 1952 §2.3.1).
    private let sum, count: UInt32
    /// The compressed piece that led here, for other streams; nil if it is too large to be kept.
    private let piece: SharedBody?
    /// The length of that piece, uncompressed.
    private let length: Int
    private let budget: MemoryBudget
    /// The latest position reached from here, while any stream is there.
    private let next = Locked(Next())

    private struct Next {
        weak var position: GzipPosition?
    }

    /// The size of the tail, in bytes; a larger piece is compressed on its own.
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

    deinit { budget.giveBack(tail.capacity) }

    /// Where all streams begin, after the header.
    static let start = GzipPosition([], sum: 0, count: 0, nil, of: 0, MemoryBudget())
    /// The member's header, without a time and a name, of an unknown system.
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]

    /// The position after further octets, which are not empty, and the piece that leads there.
    ///
    /// - Parameters:
    ///   - shared: the same octets, if streams at other positions send them, too.
    ///   - budget: charged for what is kept.
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
        let before = tail.suffix(max(0, Self.maxTail - bytes.count))
        let now = bytes.suffix(Self.maxTail)
        var both: [UInt8] = []
        both.reserveCapacity(before.count + now.count)
        both.append(contentsOf: before)
        both.append(contentsOf: now)
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
