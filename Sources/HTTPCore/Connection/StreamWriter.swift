/// Writes the body of a streamed answer. Confined to its loop, which each method checks; Sendable only to be carried
/// back there. Connection and writer hold each other until one of them ends.
///
/// Back-pressure is up to the caller: everything written is queued, so writing while `isWritable` is false makes the
/// queue grow. Instead, remember that there is news, and write it from `onWritable`: a slow peer then gets one fresh
/// answer in place of ten stale ones. A peer that reads slower than `ConnectionLimits.minWriteRate` is disconnected.
public final class StreamWriter: @unchecked Sendable {
    /// The loop of the connection.
    public let loop: EventLoop
    private var connection: Connection?
    /// The position in the compressed stream; nil if the stream is not compressed, or has ended.
    private var position: GzipPosition?
    private var whenWritable: (@Sendable () -> Void)?
    private var whenClosed: (@Sendable () -> Void)?

    init(_ connection: Connection, isCompressed: Bool) {
        loop = connection.loop
        self.connection = connection
        position = isCompressed ? .start : nil
        if isCompressed { connection.appendToStream(GzipPosition.header) }
    }

    /// Whether the kernel has taken everything written so far.
    public var isWritable: Bool {
        checkLoop()
        return connection.map { $0.output.isEmpty } ?? false
    }

    /// Replaces the request's head by one that takes less memory, since the stream may take long.
    public func shortenHead(to head: RequestHead) {
        checkLoop()
        connection?.shortenHead(to: head)
    }

    /// Whether writes are compressed.
    public var isCompressed: Bool { position != nil }

    /// Whether the body is finished or the connection lost. Writes are then dropped.
    public var isClosed: Bool {
        checkLoop()
        return connection == nil
    }

    /// Queues bytes, to be sent at the end of the loop's iteration with everything else written until then.
    public func write(_ bytes: [UInt8]) {
        checkLoop()
        guard !compress(bytes[...], nil) else { return }
        connection?.appendToStream(bytes)
    }

    /// Queues, without a copy, a part that other streams send too.
    public func write(_ part: SharedBody) {
        checkLoop()
        guard !compress(part.bytes, part) else { return }
        connection?.appendToStream(part)
    }

    /// Queues bytes as the next piece of a compressed stream; false if this one is not compressed.
    private func compress(_ bytes: ArraySlice<UInt8>, _ shared: SharedBody?) -> Bool {
        guard let position, let connection else { return false }
        guard !bytes.isEmpty else { return true }
        let next = position.advanced(
            by: bytes, of: shared, with: connection.resources.pieces, in: connection.shard.options.outgoing)
        self.position = next.position
        connection.appendToStream(next.piece)
        return true
    }

    /// Sets an action to be called whenever the kernel has taken everything, but not before the first write.
    public func onWritable(_ action: @escaping @Sendable () -> Void) {
        checkLoop()
        whenWritable = action
    }

    /// Sets an action to be called once if the connection is lost before `finish`: at once if it is lost already.
    public func onClose(_ action: @escaping @Sendable () -> Void) {
        checkLoop()
        if connection == nil { action() } else { whenClosed = action }
    }

    /// Ends the body. The connection stays open if it can.
    public func finish() {
        checkLoop()
        let connection = self.connection
        if let position { connection?.appendToStream(position.end) }
        forget()
        connection?.endStream()
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

    private func checkLoop() { precondition(loop.isCurrent, "a stream writer was used off its loop") }
}
