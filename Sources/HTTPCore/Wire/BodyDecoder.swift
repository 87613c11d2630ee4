/// Decodes the body of a request, however it is framed (RFC 9112 §6). Each step gets the bytes after those consumed
/// last, and tells which of them are content. None are kept.
struct BodyDecoder: Sendable {
    /// Octets that are yet to come of a known length.
    private var remaining = 0
    private var chunks: ChunkDecoder?

    init(_ length: BodyLength, limits: MessageLimits) {
        switch length {
        case .none: break
        case .known(let count): remaining = count
        case .chunked: chunks = ChunkDecoder(limits: limits)
        }
    }

    /// What a step found at the start of the bytes.
    enum Step: Equatable {
        /// `consumed` octets are done with; the range `content` of them belongs to the body.
        case more(consumed: Int, content: Range<Int>)
        /// As `more`, and the message ends here.
        case end(consumed: Int, content: Range<Int>)
        case refused(Refusal)
    }

    /// Takes at most one run of content. Consuming nothing means that more bytes are needed.
    mutating func step(_ bytes: UnsafeRawBufferPointer) -> Step {
        if let step = chunks?.step(bytes) { return step }
        let count = min(remaining, bytes.count)
        remaining -= count
        return remaining == 0
            ? .end(consumed: count, content: 0..<count) : .more(consumed: count, content: 0..<count)
    }

    /// Octets known to follow: the rest of a known length, or of the current chunk.
    var announced: Int { chunks?.announced ?? remaining }
}

/// Decodes the chunked transfer coding (RFC 9112 §7.1): framing octet by octet, content in runs.
///
/// The state is the position in the grammar; any octet that is not listed for it is refused:
///
///     chunk      = 1*HEXDIG [ ext ] CRLF data CRLF
///     ext        = *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ) BWS
///     last       = 1*"0" [ ext ] CRLF *( token ":" value CRLF ) CRLF
///
/// White space after a size is allowed only before a `;`: as padding it is an old leniency that smugglers use. At most
/// 16 digits and 2^60 - 1 octets are accepted, so a size cannot overflow. Extensions and trailers are checked and
/// dropped: nothing after a body can change what its head said. The total of extensions is limited, since chunks of one
/// octet with a long extension each would keep a server busy.
private struct ChunkDecoder: Sendable {
    private enum State: Sendable, Equatable {
        case size(digits: Int), sizeBlank
        case extensionStart, extensionName, extensionNameBlank
        case extensionValue, extensionToken, extensionQuoted, extensionEscape, extensionValueBlank
        case sizeFeed
        case data(remaining: Int)  // remaining > 0
        case dataReturn, dataFeed
        case trailerStart, trailerName, trailerValue, trailerFeed
        case endFeed
    }

    private var state = State.size(digits: 0)
    private let limits: MessageLimits
    /// The size of the current chunk, as far as its line is read.
    private var size = 0
    private var lineBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerFields = 0

    init(limits: MessageLimits) { self.limits = limits }

    var announced: Int { if case .data(let remaining) = state { remaining } else { 0 } }

    mutating func step(_ bytes: UnsafeRawBufferPointer) -> BodyDecoder.Step {
        var index = 0
        while index < bytes.count {
            if case .data(let remaining) = state {
                let count = min(remaining, bytes.count - index)
                state = count == remaining ? .dataReturn : .data(remaining: remaining - count)
                return .more(consumed: index + count, content: index..<index + count)
            }
            let octet = bytes[index]
            index += 1
            if state == .endFeed {
                guard octet == .lineFeed else { return .refused(.malformed(.lineEnding)) }
                return .end(consumed: index, content: index..<index)
            }
            do throws(Refusal) { try take(octet) } catch { return .refused(error) }
        }
        return .more(consumed: index, content: index..<index)
    }

    private mutating func take(_ octet: UInt8) throws(Refusal) {
        switch state {
        case .size, .sizeBlank, .extensionStart, .extensionName, .extensionNameBlank, .extensionValue, .extensionToken,
            .extensionQuoted, .extensionEscape, .extensionValueBlank, .sizeFeed:
            lineBytes += 1
            guard lineBytes <= limits.maxChunkLineBytes else { throw .malformed(.chunkExtension) }
            try takeSizeLine(octet)
        case .data, .dataReturn, .dataFeed:
            try takeChunkEnd(octet)
        case .trailerStart, .trailerName, .trailerValue, .trailerFeed, .endFeed:
            trailerBytes += 1
            guard trailerBytes <= limits.maxHeaderBytes else {
                throw .headersTooLarge(limit: limits.maxHeaderBytes, unit: .octets)
            }
            try takeTrailer(octet)
        }
    }

    private mutating func takeSizeLine(_ octet: UInt8) throws(Refusal) {
        switch (state, octet) {
        case (.size(let digits), _) where octet.hexValue != nil:
            guard digits < 16, size < 1 << 56 else { throw .malformed(.chunkSize) }
            size = size << 4 | Int(octet.hexValue ?? 0)
            state = .size(digits: digits + 1)
        case (.size(1...), .lineFeed): throw .malformed(.lineEnding)
        case (.size(1...), _): try endPart(octet, blank: .sizeBlank, else: .chunkSize)
        case (.sizeBlank, UInt8(ascii: ";")): state = .extensionStart
        case (.sizeBlank, _) where octet.isBlank, (.extensionStart, _) where octet.isBlank,
            (.extensionValue, _) where octet.isBlank:
            break
        case (.extensionStart, _) where OctetSet.token.contains(octet),
            (.extensionName, _) where OctetSet.token.contains(octet):
            state = .extensionName
        case (.extensionName, UInt8(ascii: "=")), (.extensionNameBlank, UInt8(ascii: "=")): state = .extensionValue
        case (.extensionName, _), (.extensionNameBlank, _):
            try endPart(octet, blank: .extensionNameBlank, else: .chunkExtension)
        case (.extensionValue, UInt8(ascii: "\"")): state = .extensionQuoted
        case (.extensionValue, _) where OctetSet.token.contains(octet),
            (.extensionToken, _) where OctetSet.token.contains(octet):
            state = .extensionToken
        case (.extensionToken, _), (.extensionValueBlank, _):
            try endPart(octet, blank: .extensionValueBlank, else: .chunkExtension)
        case (.extensionQuoted, UInt8(ascii: "\"")): state = .extensionValueBlank
        case (.extensionQuoted, UInt8(ascii: "\\")): state = .extensionEscape
        case (.extensionQuoted, _) where octet.isFieldContent: break
        case (.extensionEscape, _) where octet.isFieldContent: state = .extensionQuoted
        case (.sizeFeed, .lineFeed): try beginChunk()
        case (.size, _), (.sizeBlank, _): throw .malformed(.chunkSize)
        case (.sizeFeed, _): throw .malformed(.lineEnding)
        default: throw .malformed(.chunkExtension)
        }
    }

    /// Takes the octet behind a size, or a part of an extension.
    private mutating func endPart(_ octet: UInt8, blank: State, else malformation: Malformation) throws(Refusal) {
        switch octet {
        case .carriageReturn: state = .sizeFeed
        case UInt8(ascii: ";"): state = .extensionStart
        case .space, .tab: state = blank
        default: throw .malformed(malformation)
        }
    }

    private mutating func beginChunk() throws(Refusal) {
        extensionBytes += max(0, lineBytes - 16 - 18)  // 16 digits, CR LF, and 16 octets free
        guard extensionBytes <= limits.maxChunkExtensionBytes else { throw .malformed(.chunkExtension) }
        state = size == 0 ? .trailerStart : .data(remaining: size)
        (lineBytes, size) = (0, 0)
    }

    private mutating func takeChunkEnd(_ octet: UInt8) throws(Refusal) {
        switch (state, octet) {
        case (.dataReturn, .carriageReturn): state = .dataFeed
        case (.dataFeed, .lineFeed): state = .size(digits: 0)
        default: throw .malformed(.chunkEnd)
        }
    }

    private mutating func takeTrailer(_ octet: UInt8) throws(Refusal) {
        switch (state, octet) {
        case (.trailerStart, .carriageReturn): state = .endFeed
        case (.trailerStart, _) where OctetSet.token.contains(octet):
            trailerFields += 1
            guard trailerFields <= limits.maxFields else {
                throw .headersTooLarge(limit: limits.maxFields, unit: .fields)
            }
            state = .trailerName
        case (.trailerName, UInt8(ascii: ":")): state = .trailerValue
        case (.trailerName, _) where OctetSet.token.contains(octet): break
        case (.trailerValue, .carriageReturn): state = .trailerFeed
        case (.trailerValue, _) where octet.isFieldContent: break
        case (.trailerFeed, .lineFeed): state = .trailerStart
        default: throw .malformed(.trailer)
        }
    }
}
