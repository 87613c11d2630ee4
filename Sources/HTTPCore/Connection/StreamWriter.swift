/// Writes the body of one answer, bit by bit. Confined to its loop: every call must come on it.
///
/// Back-pressure is the writer's part: whatever is written is queued, so a writer that goes on while `isWritable` is
/// false makes the queue grow. The right pattern keeps what is to be said as a flag and says it from `onWritable`: then
/// a slow peer gets one fresh answer in place of ten stale ones. A peer that takes less than
/// `ConnectionLimits.minWriteRate` is closed.
public final class StreamWriter: @unchecked Sendable {
    // Sendable only to be carried back to its loop; each method checks that it got there. Connection and writer hold
    // each other until one of them ends.

    /// The loop of the connection.
    public let loop: EventLoop
    private var connection: Connection?
    private let isChunked: Bool
    /// How far the stream has come, if it is compressed.
    private var position: GzipPosition?
    private var whenWritable: (@Sendable () -> Void)?
    private var whenClosed: (@Sendable () -> Void)?

    init(_ connection: Connection, isChunked: Bool, isCompressed: Bool) {
        loop = connection.loop
        self.connection = connection
        self.isChunked = isChunked
        position = isCompressed ? .start : nil
        if isCompressed { connection.appendToStream(GzipPosition.header, isChunked: isChunked) }
    }

    /// Whether everything written before has left for the kernel.
    public var isWritable: Bool {
        checkLoop()
        return connection.map { $0.output.isEmpty } ?? false
    }

    /// Whether what is written is compressed.
    public var isCompressed: Bool { position != nil }

    /// Whether the body is finished or the connection is gone; what is written then is dropped.
    public var isClosed: Bool {
        checkLoop()
        return connection == nil
    }

    /// Queues bytes. They are sent at the end of the loop's turn, together with what else is written until then.
    public func write(_ bytes: [UInt8]) {
        checkLoop()
        guard !compress(bytes[...], nil) else { return }
        connection?.appendToStream(bytes, isChunked: isChunked)
    }

    /// Queues a part that other streams get too, without a copy.
    public func write(_ part: SharedBody) {
        checkLoop()
        guard !compress(part.bytes, part) else { return }
        connection?.appendToStream(part, isChunked: isChunked)
    }

    /// Queues bytes as the stream's next piece, if it is compressed.
    private func compress(_ bytes: ArraySlice<UInt8>, _ shared: SharedBody?) -> Bool {
        guard let position, let connection, let deflater = connection.resources.pieces else { return position != nil }
        guard !bytes.isEmpty else { return true }
        let next = position.advanced(by: bytes, of: shared, with: deflater, in: connection.shard.options.outgoing)
        self.position = next.position
        connection.appendToStream(next.piece, isChunked: isChunked)
        return true
    }

    /// Sets what is called each time that everything written before has left. Not called in place of the first write.
    public func onWritable(_ action: @escaping @Sendable () -> Void) {
        checkLoop()
        whenWritable = action
    }

    /// Sets what is called once if the connection goes away before `finish`. At once if it is gone already.
    public func onClose(_ action: @escaping @Sendable () -> Void) {
        checkLoop()
        if connection == nil { action() } else { whenClosed = action }
    }

    /// Ends the body. The connection goes on if it can.
    public func finish() {
        checkLoop()
        let connection = self.connection
        if let position { connection?.appendToStream(position.end, isChunked: isChunked) }
        forget()
        connection?.endStream(isChunked: isChunked)
    }

    func didDrain() { whenWritable?() }

    func didClose() {
        let action = whenClosed
        forget()
        action?()
    }

    private func forget() {
        connection = nil
        position = nil
        whenWritable = nil
        whenClosed = nil
    }

    private func checkLoop() {
        precondition(loop.isCurrent, "a stream writer was used off its loop")
    }
}
