/// Decodes the body of a request, however it is framed (RFC 9112 §6).
///
/// Given the bytes behind those that it consumed last, it says which of them are content. It keeps none.
struct BodyDecoder: Sendable {
    private enum Framing: Sendable {
        case known(remaining: Int)
        case chunked(ChunkDecoder)
    }

    private var framing: Framing

    init(_ length: BodyLength, limits: MessageLimits) {
        switch length {
        case .none: framing = .known(remaining: 0)
        case .known(let count): framing = .known(remaining: count)
        case .chunked: framing = .chunked(ChunkDecoder(limits: limits))
        }
    }

    /// What a step found at the start of the bytes.
    enum Step: Equatable {
        /// `consumed` octets are done with, of which the range `content` belongs to the body.
        case more(consumed: Int, content: Range<Int>)
        /// As `more`, and the message ends here.
        case end(consumed: Int, content: Range<Int>)
        case refused(Refusal)
    }

    /// Takes at most one run of content, so that the caller need not join ranges. Consuming nothing means that more
    /// bytes are needed.
    mutating func step(_ bytes: UnsafeRawBufferPointer) -> Step {
        switch framing {
        case .known(let remaining):
            let count = min(remaining, bytes.count)
            framing = .known(remaining: remaining - count)
            return count == remaining
                ? .end(consumed: count, content: 0..<count) : .more(consumed: count, content: 0..<count)
        case .chunked(var decoder):
            let step = decoder.step(bytes)
            framing = .chunked(decoder)
            return step
        }
    }

    /// Octets known to follow: the rest of a known length, or of the current chunk.
    var announced: Int {
        switch framing {
        case .known(let remaining): remaining
        case .chunked(let decoder): decoder.announced
        }
    }
}
