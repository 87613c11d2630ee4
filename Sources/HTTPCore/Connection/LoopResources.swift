/// What the connections of a loop share. Confined to the loop.
final class LoopResources {
    /// The buffer for reads: it fits what a connection kept from its last read, and one more read.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 64)
    private(set) lazy var deflater = Deflater()
    /// For pieces of streams.
    private(set) lazy var pieces = Deflater(.pieces)
    var date = DateField()
    private var spareBuffers: [OutputBuffer] = []
    private var spareInput: [[UInt8]] = []

    /// How many empty buffers of each kind are kept, and how large they may be, so that idle memory stays small.
    private static let spares = 64
    private static let largestSpare = 64 * 1024

    deinit { scratch.deallocate() }

    /// An empty buffer for answers.
    func takeBuffer() -> OutputBuffer { spareBuffers.popLast() ?? OutputBuffer() }

    /// Takes back a buffer.
    func giveBack(_ buffer: OutputBuffer) {
        guard buffer.capacity <= Self.largestSpare, spareBuffers.count < Self.spares else { return }
        buffer.removeAll()
        spareBuffers.append(buffer)
    }

    /// An empty array for input to be kept.
    func takeArray() -> [UInt8] { spareInput.popLast() ?? [] }

    /// Takes back an array.
    func giveBack(_ array: consuming [UInt8]) {
        guard array.capacity <= Self.largestSpare, spareInput.count < Self.spares else { return }
        array.removeAll(keepingCapacity: true)
        spareInput.append(array)
    }
}

extension EventLoop {
    /// Created for the first connection.
    var resources: LoopResources {
        if let attachment { return unsafeDowncast(attachment, to: LoopResources.self) }
        let resources = LoopResources()
        attachment = resources
        return resources
    }
}
