/// What the connections of one loop share, in either direction. Confined to the loop.
final class LoopResources {
    /// Room to read into: what a connection may have kept from its last read, and one more read behind it.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 64)
    private(set) lazy var deflater = Deflater()
    /// For pieces of streams.
    private(set) lazy var pieces = Deflater(.pieces)
    private var date = DateField()
    private var spareBuffers: [OutputBuffer] = []
    private var spareInput: [[UInt8]] = []

    /// How many empty buffers of each kind are kept, and how large one may be: idle memory stays small.
    private static let spares = 64
    private static let largestSpare = 64 * 1024

    deinit { scratch.deallocate() }

    /// The Date field of an answer.
    ///
    /// - Parameter now: in seconds since 1970.
    func dateLine(at now: Int) -> [UInt8] {
        date.update(now)
        return date.line
    }

    /// An empty buffer for answers.
    func takeBuffer() -> OutputBuffer { spareBuffers.popLast() ?? OutputBuffer() }

    /// Takes back a buffer that is not needed any more.
    func giveBack(_ buffer: OutputBuffer) {
        guard buffer.capacity <= Self.largestSpare, spareBuffers.count < Self.spares else { return }
        buffer.removeAll()
        spareBuffers.append(buffer)
    }

    /// An empty array for input that has to be kept.
    func takeArray() -> [UInt8] { spareInput.popLast() ?? [] }

    /// Takes it back.
    func giveBack(_ array: consuming [UInt8]) {
        guard array.capacity <= Self.largestSpare, spareInput.count < Self.spares else { return }
        array.removeAll(keepingCapacity: true)
        spareInput.append(array)
    }
}

extension EventLoop {
    /// Made for the first connection.
    var resources: LoopResources {
        if let attachment { return unsafeDowncast(attachment, to: LoopResources.self) }
        let resources = LoopResources()
        attachment = resources
        return resources
    }
}
