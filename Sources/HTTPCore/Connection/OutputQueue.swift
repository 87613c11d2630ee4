/// What was encoded and has not yet been sent.
///
/// Small answers are joined in one buffer, so that all answers of one read leave in one write. A large body, and one
/// that several connections send, is not copied: it waits in line as its own segment, with the buffer that was written
/// before it in front.
final class OutputQueue {
    private enum Segment {
        case buffer(OutputBuffer)
        case body([UInt8])
        case shared(SharedBody, isFramed: Bool)
    }

    private let resources: LoopResources
    private var segments: [Segment] = []
    private var tail: OutputBuffer?
    /// Octets that the transport took since the beginning.
    private(set) var total = 0
    /// Octets of the first segment that are sent.
    private var sent = 0
    /// Octets in `segments`; those of the tail it knows itself.
    private var queued = 0
    /// Those of them that others may hold as well.
    private var shared = 0

    /// From here on a body is not copied.
    static let largeBody = 32 * 1024
    /// The same of one that is shared, if there is a buffer to copy it to.
    private static let largeShared = 1024

    init(_ resources: LoopResources) { self.resources = resources }

    var count: Int { queued + (tail?.count ?? 0) - sent }

    /// What waits here, for whoever has to choose what goes.
    struct Holdings: Sendable {
        let count: Int
        /// Octets that nobody else holds.
        let own: Int
        /// Bodies that others may hold, and their octets.
        let shared: [(id: ObjectIdentifier, count: Int)]
    }

    var holdings: Holdings {
        let shared = segments.compactMap { segment -> (id: ObjectIdentifier, count: Int)? in
            guard case .shared(let body, _) = segment else { return nil }
            return (ObjectIdentifier(body), body.count)
        }
        return Holdings(count: count, own: own, shared: shared)
    }

    /// Octets that nobody else holds.
    var own: Int { queued - shared + (tail?.count ?? 0) }

    var isEmpty: Bool { tail == nil && segments.isEmpty }

    /// The buffer at the end of the queue. Whoever asks for it writes to it: an empty one would be sent.
    func end() -> OutputBuffer {
        if let tail { return tail }
        let buffer = resources.takeBuffer()
        tail = buffer
        return buffer
    }

    func append(body: [UInt8]) {
        guard body.count >= Self.largeBody else { return end().append(body) }
        closeTail()
        segments.append(.body(body))
        queued += body.count
    }

    /// - Parameter isFramed: whether it is sent as a chunk.
    func append(_ body: SharedBody, isFramed: Bool) {
        let bytes = body.bytes(isFramed: isFramed)
        if let tail, bytes.count < Self.largeShared { return bytes.withUnsafeBytes(tail.append) }
        closeTail()
        segments.append(.shared(body, isFramed: isFramed))
        queued += bytes.count
        shared += bytes.count
    }

    private func closeTail() {
        guard let tail else { return }
        segments.append(.buffer(tail))
        queued += tail.count
        self.tail = nil
    }

    /// Sends until everything is gone, the transport has no room, or `most` octets have left.
    ///
    /// - Returns: nil when the queue is empty, else why it is not; `moved` where there would be room.
    func flush(_ transport: any Transport, most: Int = .max) -> Transfer? {
        var left = most
        if !segments.isEmpty, let obstacle = flushSegments(transport, &left) { return obstacle }
        guard let tail else { return nil }
        if let obstacle = send(tail.bytes, transport, hasMore: false, &left) { return obstacle }
        self.tail = nil
        resources.giveBack(tail)
        return nil
    }

    private func flushSegments(_ transport: any Transport, _ left: inout Int) -> Transfer? {
        while let first = segments.first {
            let hasMore = segments.count > 1 || tail != nil
            let length: Int
            let obstacle: Transfer?
            switch first {
            case .buffer(let buffer):
                length = buffer.count
                obstacle = send(buffer.bytes, transport, hasMore: hasMore, &left)
                if obstacle == nil { resources.giveBack(buffer) }
            case .body(let body):
                length = body.count
                obstacle = body.withUnsafeBytes { send($0, transport, hasMore: hasMore, &left) }
            case .shared(let body, let isFramed):
                let bytes = body.bytes(isFramed: isFramed)
                length = bytes.count
                obstacle = bytes.withUnsafeBytes { send($0, transport, hasMore: hasMore, &left) }
                if obstacle == nil { shared -= length }
            }
            if let obstacle { return obstacle }
            queued -= length
            segments.removeFirst()
        }
        return nil
    }

    /// Sends what of one segment is not sent; nil if that is all.
    private func send(
        _ bytes: UnsafeRawBufferPointer, _ transport: any Transport, hasMore: Bool, _ left: inout Int
    ) -> Transfer? {
        while sent < bytes.count {
            guard left > 0 else { return .moved(sent) }
            let end = sent + min(left, bytes.count - sent)
            switch transport.send(bytes.slice(sent, end), hasMore: hasMore || end < bytes.count) {
            case .moved(let count):
                sent += count
                total += count
                left -= count
            case .blocked: return .blocked
            case .ended: return .ended
            case .failed: return .failed
            }
        }
        sent = 0
        return nil
    }
}
