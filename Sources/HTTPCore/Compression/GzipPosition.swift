// A stream of events is one gzip member (RFC 1952), flushed behind each event. To keep a compressor for each stream
// would cost some 16 KiB to 256 KiB a stream, and the same work for each of a thousand readers of one list.
//
// Deflate allows for less: behind a flush a piece begins on a whole octet, and all that it depends on is what was sent
// just before it. So where a stream is, is a value: its last octets, and the sum and the count of all. What leads from
// one position to the next is compressed once, and sent to all streams that are there. Readers of one list who have the
// same go on together; one that falls behind goes on from where it is.

import CDiffZlib

/// What a compressed stream has sent so far, as far as what follows depends on it. Shared by all that sent the same.
final class GzipPosition: Sendable {
    /// The last octets before they were compressed.
    private let tail: [UInt8]
    /// Of all octets, as the member's end says them (RFC 1952 §2.3.1).
    private let sum, count: UInt32
    /// What led here, compressed, for others who come; nil where it is too large to be kept for as long as a stream
    /// stays.
    private let piece: SharedBody?
    /// Octets that led here.
    private let length: Int
    private let budget: MemoryBudget
    /// Where somebody went from here, for as long as somebody is there.
    private let next = Locked(Next())

    private struct Next {
        weak var position: GzipPosition?
    }

    /// As much of what was sent is remembered, in bytes; a piece that is larger is compressed by itself.
    static let maxTail = 8 * 1024
    /// The largest piece that is kept for others to come, in bytes.
    private static let maxKeptPiece = 4 * 1024

    private init(
        _ tail: [UInt8], sum: UInt32, count: UInt32, _ piece: SharedBody?, of length: Int, _ budget: MemoryBudget
    ) {
        (self.tail, self.sum, self.count, self.piece, self.length, self.budget) = (
            tail, sum, count, piece, length, budget
        )
        budget.charge(tail.capacity)
    }

    deinit { budget.giveBack(tail.capacity) }

    /// Where all streams begin, behind the header.
    static let start = GzipPosition([], sum: 0, count: 0, nil, of: 0, MemoryBudget())
    /// The member's header: no time, no name, an unknown system.
    static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]

    /// The position behind octets, which are not empty, and what a stream sends to get there.
    ///
    /// - Parameters:
    ///   - shared: the octets, if others send them too from wherever they are.
    ///   - budget: counts what is remembered.
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
        // Where memory is short, nothing is remembered, and what follows is larger.
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

    /// Whether octets led here from the position before.
    private func isReached(by bytes: ArraySlice<UInt8>) -> Bool {
        length == bytes.count && tail.count >= length && tail.suffix(length).elementsEqual(bytes)
    }

    /// The end of the member: an empty last block, the sum and the count.
    var end: [UInt8] {
        [0x03, 0x00]
            + [sum, count].flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
    }
}
