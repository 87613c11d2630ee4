/// The body of an answer, or a part of it, that is the same for several readers: one immutable run of bytes, counted
/// once however many connections send it.
///
/// A part of a stream is kept with the framing of its chunk (RFC 9112 §7.1), so that each connection sends it as it
/// is.
public final class SharedBody: Sendable {
    /// The octets, framed if they are part of a stream.
    let framed: [UInt8]
    /// Where the body's own octets stand.
    let content: Range<Int>
    private let budget: MemoryBudget
    private let gzip = Locked(Gzip.none)
    /// As a piece of compressed streams.
    private let piece = Locked<SharedBody?>(nil)

    private enum Gzip {
        case none
        case underWay([@Sendable (SharedBody?) -> Void])
        case done(SharedBody?)
    }

    /// Octets of the body.
    public var count: Int { content.count }
    /// The body's own octets.
    public var bytes: ArraySlice<UInt8> { framed[content] }

    /// A body that is sent as a whole.
    ///
    /// - Parameter budget: counts it, whatever its limit: the bytes are there already.
    public init(_ bytes: [UInt8], in budget: MemoryBudget) {
        (framed, content, self.budget) = (bytes, 0..<bytes.count, budget)
        budget.charge(framed.capacity)
    }

    /// A part of a stream, which must not be empty. Copies it once.
    public init(partOfStream bytes: [UInt8], in budget: MemoryBudget) {
        precondition(!bytes.isEmpty, "an empty chunk ends a stream")
        var framed: [UInt8] = []
        framed.reserveCapacity(bytes.count + 20)
        framed.append(contentsOf: String(bytes.count, radix: 16).utf8)
        framed.append(contentsOf: [0x0D, 0x0A])
        content = framed.count..<framed.count + bytes.count
        framed.append(contentsOf: bytes)
        framed.append(contentsOf: [0x0D, 0x0A])
        (self.framed, self.budget) = (framed, budget)
        budget.charge(framed.capacity)
    }

    func bytes(isFramed: Bool) -> ArraySlice<UInt8> { isFramed ? framed[...] : framed[content] }

    deinit { budget.giveBack(framed.capacity) }

    /// The same as gzip, made here and once for all who ask; nil if that is not smaller.
    func compressed(with deflater: Deflater?) -> SharedBody? {
        if case .done(let body) = gzip.withLock({ $0 }) { return body }
        let body = deflater?.compressed(framed[content]).map { SharedBody($0, in: budget) }
        gzip.withLock { gzip in
            // One that a worker makes meanwhile is as good, and others wait for it.
            if case .none = gzip { gzip = .done(body) }
        }
        return body
    }

    /// The same as gzip, made by a worker once for all who ask; nil if that is not smaller. `then` may come at once,
    /// and on any thread.
    func compressed(by workers: Workers, _ then: @escaping @Sendable (SharedBody?) -> Void) {
        var (answer, isFirst): (SharedBody??, Bool) = (nil, false)
        gzip.withLock { gzip in
            switch gzip {
            case .none:
                gzip = .underWay([then])
                isFirst = true
            case .underWay(let others): gzip = .underWay(others + [then])
            case .done(let body): answer = .some(body)
            }
        }
        if let answer { return then(answer) }
        guard isFirst else { return }
        workers.run { [self] in
            let bytes = Deflater()?.compressed(framed[content])
            let body = bytes.map { SharedBody($0, in: budget) }
            let waiting = gzip.withLock { gzip -> [@Sendable (SharedBody?) -> Void] in
                guard case .underWay(let waiting) = gzip else { return [] }
                gzip = .done(body)
                return waiting
            }
            for then in waiting { then(body) }
        }
    }

    /// The same as a piece of compressed streams, made once for all who ask one after the other.
    func deflated(with deflater: Deflater) -> SharedBody {
        if let known = piece.withLock({ $0 }) { return known }
        let made = SharedBody(partOfStream: deflater.flushed(bytes, level: 1), in: budget)
        piece.withLock { $0 = made }
        return made
    }

    /// Makes what a compressed stream sends, which takes long for a large one, before it comes to that. On any thread.
    public func deflate() {
        guard count > GzipPosition.maxTail, let deflater = Deflater(.pieces) else { return }
        _ = deflated(with: deflater)
    }
}
