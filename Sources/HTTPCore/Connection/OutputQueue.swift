/// Encoded output that has not been sent. Small answers share a buffer, so that all answers to one read leave in one
/// write. Large and shared bodies are segments of their own, without a copy.
final class OutputQueue {
    private enum Segment {
        case buffer(OutputBuffer)
        case body([UInt8])
        case shared(SharedBody, isFramed: Bool)

        func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            switch self {
            case .buffer(let buffer): body(buffer.bytes)
            case .body(let bytes): bytes.withUnsafeBytes(body)
            case .shared(let shared, let isFramed): shared.bytes(isFramed: isFramed).withUnsafeBytes(body)
            }
        }
    }

    private let resources: LoopResources
    private var segments: [Segment] = []
    private var tail: OutputBuffer?
    /// Octets that the transport has taken so far.
    private(set) var total = 0
    /// Octets of the first segment that are sent.
    private var sent = 0
    /// Octets in `segments`, without the tail.
    private var queued = 0
    /// Octets in shared segments.
    private var shared = 0

    /// The smallest body that is not copied.
    fileprivate static let largeBody = 32 * 1024
    /// The smallest shared body that is not copied, if there is a buffer to copy it to.
    private static let largeShared = 1024

    init(_ resources: LoopResources) { self.resources = resources }

    var count: Int { queued + (tail?.count ?? 0) - sent }

    /// The queued output, as `OutputBufferLimit` sees it.
    struct Holdings: Sendable {
        let count: Int
        /// Octets in segments that are not shared.
        let own: Int
        /// Shared bodies and their octets.
        let shared: [(id: ObjectIdentifier, count: Int)]
        /// An order in which holders of the same first shared body are neighbours.
        var firstBody: Int { shared.first?.id.hashValue ?? 0 }
    }

    var holdings: Holdings {
        let shared = segments.compactMap { segment in
            if case .shared(let body, _) = segment { (ObjectIdentifier(body), body.count) } else { nil }
        }
        return Holdings(count: count, own: own, shared: shared)
    }

    /// Octets in segments that are not shared.
    var own: Int { queued - shared + (tail?.count ?? 0) }

    var isEmpty: Bool { tail == nil && segments.isEmpty }

    /// The buffer at the end of the queue. The caller must write to it: it must not stay empty.
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

    /// - Parameter isFramed: whether to send it as a chunk.
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

    /// Sends until the queue is empty, the transport is blocked, or `limit` octets are sent.
    ///
    /// - Parameter isLast: whether the caller then shuts down its side, in one packet with the last octets.
    /// - Returns: nil if the queue is empty, else why it is not; `moved` after `limit` octets.
    func flush(_ transport: any Transport, limit: Int = .max, isLast: Bool = false) -> Transfer? {
        var left = limit
        if !segments.isEmpty, let obstacle = flushSegments(transport, &left, isLast) { return obstacle }
        guard let tail else { return nil }
        if let obstacle = send(tail.bytes, transport, hasMore: isLast, &left) { return obstacle }
        self.tail = nil
        resources.recycle(tail)
        return nil
    }

    private func flushSegments(_ transport: any Transport, _ left: inout Int, _ isLast: Bool) -> Transfer? {
        while let first = segments.first {
            let hasMore = segments.count > 1 || tail != nil || isLast
            let (obstacle, length) = first.withBytes { (send($0, transport, hasMore: hasMore, &left), $0.count) }
            if let obstacle { return obstacle }
            switch first {
            case .buffer(let buffer): resources.recycle(buffer)
            case .body: break
            case .shared: shared -= length
            }
            queued -= length
            segments.removeFirst()
        }
        return nil
    }

    /// Sends the rest of one segment; nil once it is sent.
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
            case let obstacle: return obstacle
            }
        }
        sent = 0
        return nil
    }
}
