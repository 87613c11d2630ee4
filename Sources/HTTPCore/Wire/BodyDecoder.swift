/// The body of a request, however it is framed (RFC 9112 §6).
///
/// Told the bytes behind what it consumed last, it says which of them are content. It keeps none.
struct BodyDecoder: Sendable {
    private enum Framing: Sendable {
        case known(remaining: Int)
        case chunked(ChunkDecoder)
    }

    private var framing: Framing

    /// - Parameter length: must not be `.none`: a message without a body has nothing to decode.
    init(_ length: BodyLength, limits: MessageLimits) {
        switch length {
        case .none: framing = .known(remaining: 0)
        case .known(let count): framing = .known(remaining: count)
        case .chunked: framing = .chunked(ChunkDecoder(limits: limits))
        }
    }

    /// What one step found at the start of the bytes.
    enum Step: Equatable {
        /// `consumed` octets are dealt with; those of `content`, a range of them, belong to the body; there may be
        /// more.
        case more(consumed: Int, content: Range<Int>)
        /// The same, and the message ends here.
        case end(consumed: Int, content: Range<Int>)
        case refused(Refusal)
    }

    /// Takes one run of content at most, so the caller never has to join ranges. A step that consumes nothing needs
    /// more bytes.
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

    /// Octets that are known to come still: the rest of a known length, the rest of the current chunk.
    var announced: Int {
        switch framing {
        case .known(let remaining): remaining
        case .chunked(let decoder): decoder.announced
        }
    }
}
