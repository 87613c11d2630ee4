import DiffClock

/// A body, or a part of a stream with the framing of its chunk (RFC 9112 §7.1), that several connections send:
/// immutable bytes that are counted once.
public final class SharedBody: Sendable {
    /// The octets, framed if they are part of a stream.
    private let framed: [UInt8]
    private let content: Range<Int>
    private let budget: MemoryBudget
    /// Whether it never changes, so that the smallest gzip pays.
    private let isPermanent: Bool
    private let gzip = Locked(Gzip.none)
    /// The piece for compressed streams.
    private let piece = Locked<SharedBody?>(nil)

    private enum Gzip {
        case none
        case underWay([@Sendable (SharedBody?) -> Void])
        case done(SharedBody?)
    }

    /// How many octets it has, without framing.
    public var count: Int { content.count }
    /// The octets, without framing.
    public var bytes: ArraySlice<UInt8> { framed[content] }

    /// A whole body.
    ///
    /// - Parameters:
    ///   - budget: charged for the bytes, whatever its limit, since they exist already.
    ///   - isPermanent: whether it is sent as long as the process lives, so that the smallest gzip pays.
    public init(_ bytes: [UInt8], in budget: MemoryBudget, isPermanent: Bool = false) {
        (framed, content, self.budget, self.isPermanent) = (bytes, 0..<bytes.count, budget, isPermanent)
        budget.charge(framed.capacity)
    }

    /// A part of a stream, which must not be empty. Copies the bytes.
    public init(partOfStream bytes: [UInt8], in budget: MemoryBudget) {
        precondition(!bytes.isEmpty, "an empty chunk ends a stream")
        var framed: [UInt8] = []
        framed.reserveCapacity(bytes.count + 20)
        framed.append(contentsOf: "\(String(bytes.count, radix: 16))\r\n".utf8)
        content = framed.count..<framed.count + bytes.count
        framed.append(contentsOf: bytes)
        framed.append(contentsOf: "\r\n".utf8)
        (self.framed, self.budget, isPermanent) = (framed, budget, false)
        budget.charge(framed.capacity)
    }

    func bytes(isFramed: Bool) -> ArraySlice<UInt8> { isFramed ? framed[...] : framed[content] }

    deinit { budget.release(framed.capacity) }

    /// The body as gzip, compressed here and only once; nil if that is not smaller.
    func compressed(with deflater: Deflater) -> SharedBody? {
        if case .done(let body) = gzip.withLock({ $0 }) { return body }
        let body = made { (isPermanent ? Deflater(level: 9) : deflater).compressed(framed[content]) }
        gzip.withLock { gzip in
            // If a worker is compressing it, others wait for its result.
            if case .none = gzip { gzip = .done(body) }
        }
        return body
    }

    /// Passes on the body as gzip, at once or on any thread: compressed by a worker and only once; nil if not smaller.
    func compressed(by workers: Workers, _ then: @escaping @Sendable (SharedBody?) -> Void) {
        let before = gzip.withLock { gzip in
            let before = gzip
            switch gzip {
            case .none: gzip = .underWay([then])
            case .underWay(let others): gzip = .underWay(others + [then])
            case .done: break
            }
            return before
        }
        if case .done(let body) = before { return then(body) }
        guard case .none = before else { return }
        workers.run { [self] in
            let body = made { Deflater(level: isPermanent ? 9 : nil).compressed(framed[content]) }
            let waiting = gzip.withLock { gzip -> [@Sendable (SharedBody?) -> Void] in
                guard case .underWay(let waiting) = gzip else { return [] }
                gzip = .done(body)
                return waiting
            }
            for then in waiting { then(body) }
        }
    }

    /// The body made by `compress`: smaller than this one, or nil. Meanwhile, this one's size is charged for it.
    private func made(_ compress: () -> [UInt8]?) -> SharedBody? {
        budget.charging(count) { compress().map { SharedBody($0, in: budget) } }
    }

    /// The piece for compressed streams. Compressed once, unless several ask at the same time.
    func deflated(with deflater: Deflater) -> SharedBody {
        if let known = piece.withLock({ $0 }) { return known }
        let made = SharedBody(partOfStream: deflater.flushed(bytes, level: 1), in: budget)
        piece.withLock { $0 = made }
        return made
    }

    /// Compresses the piece of a large part in advance, since that takes long. On any thread.
    public func deflate() {
        if count > GzipPosition.maxTail { _ = deflated(with: Deflater(.pieces)) }
    }
}
