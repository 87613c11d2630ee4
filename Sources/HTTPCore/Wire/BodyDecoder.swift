/// Decodes the body of a request, however it is framed (RFC 9112 §6).
///
/// Each step gets the bytes after those consumed last, and tells which of them are content. None are kept.
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
        /// `consumed` octets are done with; the range `content` of them belongs to the body.
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

// MARK: - Chunks

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
/// dropped: nothing after a body can change what its head said. The total of extensions is limited: otherwise, chunks
/// of one octet with a long extension each would be a cheap way to keep a server busy.
private struct ChunkDecoder: Sendable {
    private enum State: Sendable, Equatable {
        case size(value: Int, digits: Int)
        case sizeBlank(size: Int)
        case extensionName(size: Int, isEmpty: Bool)
        case extensionNameBlank(size: Int)
        case extensionValue(size: Int)
        case extensionToken(size: Int)
        case extensionQuoted(size: Int)
        case extensionEscape(size: Int)
        case extensionValueBlank(size: Int)
        case sizeFeed(size: Int)
        case data(remaining: Int)  // remaining > 0
        case dataReturn, dataFeed
        case trailerStart
        case trailerName, trailerValue, trailerFeed
        case endFeed
    }

    private var state = State.size(value: 0, digits: 0)
    private let limits: MessageLimits
    private var lineBytes = 0
    private var extensionBytes = 0
    private var trailerBytes = 0
    private var trailerFields = 0

    init(limits: MessageLimits) {
        self.limits = limits
    }

    /// Octets of the current chunk that are yet to come.
    var announced: Int {
        if case .data(let remaining) = state { return remaining }
        return 0
    }

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
        case .size, .sizeBlank, .extensionName, .extensionNameBlank, .extensionValue, .extensionToken, .extensionQuoted,
            .extensionEscape, .extensionValueBlank, .sizeFeed:
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
        case (.size(let value, let digits), _) where octet.hexValue != nil:
            guard digits < 16, value < 1 << 56 else { throw .malformed(.chunkSize) }
            state = .size(value: value << 4 | Int(octet.hexValue ?? 0), digits: digits + 1)
        case (.size(let size, let digits), _) where digits > 0:
            try leaveSize(size, octet)
        case (.sizeBlank(let size), _):
            if octet == UInt8(ascii: ";") {
                state = .extensionName(size: size, isEmpty: true)
            } else if !octet.isBlank {
                throw .malformed(.chunkSize)
            }
        case (.extensionName(_, isEmpty: true), .space), (.extensionName(_, isEmpty: true), .tab): break
        case (.extensionName(let size, _), _) where OctetSet.token.contains(octet):
            state = .extensionName(size: size, isEmpty: false)
        case (.extensionName(let size, isEmpty: false), UInt8(ascii: "=")),
            (.extensionNameBlank(let size), UInt8(ascii: "=")):
            state = .extensionValue(size: size)
        case (.extensionName(let size, isEmpty: false), _), (.extensionNameBlank(let size), _):
            try leaveExtension(size, octet, blank: .extensionNameBlank(size: size))
        case (.extensionValue, .space), (.extensionValue, .tab): break
        case (.extensionValue(let size), UInt8(ascii: "\"")): state = .extensionQuoted(size: size)
        case (.extensionValue(let size), _) where OctetSet.token.contains(octet),
            (.extensionToken(let size), _) where OctetSet.token.contains(octet):
            state = .extensionToken(size: size)
        case (.extensionToken(let size), _), (.extensionValueBlank(let size), _):
            try leaveExtension(size, octet, blank: .extensionValueBlank(size: size))
        case (.extensionQuoted(let size), UInt8(ascii: "\"")): state = .extensionValueBlank(size: size)
        case (.extensionQuoted(let size), UInt8(ascii: "\\")): state = .extensionEscape(size: size)
        case (.extensionQuoted, _) where octet.isFieldContent: break
        case (.extensionEscape(let size), _) where octet.isFieldContent: state = .extensionQuoted(size: size)
        case (.sizeFeed(let size), .lineFeed): try beginChunk(size)
        case (.size, _): throw .malformed(.chunkSize)
        case (.sizeFeed, _): throw .malformed(.lineEnding)
        default: throw .malformed(.chunkExtension)
        }
    }

    private mutating func leaveSize(_ size: Int, _ octet: UInt8) throws(Refusal) {
        switch octet {
        case .carriageReturn: state = .sizeFeed(size: size)
        case UInt8(ascii: ";"): state = .extensionName(size: size, isEmpty: true)
        case .space, .tab: state = .sizeBlank(size: size)
        case .lineFeed: throw .malformed(.lineEnding)
        default: throw .malformed(.chunkSize)
        }
    }

    private mutating func leaveExtension(_ size: Int, _ octet: UInt8, blank: State) throws(Refusal) {
        switch octet {
        case .carriageReturn: state = .sizeFeed(size: size)
        case UInt8(ascii: ";"): state = .extensionName(size: size, isEmpty: true)
        case .space, .tab: state = blank
        default: throw .malformed(.chunkExtension)
        }
    }

    private mutating func beginChunk(_ size: Int) throws(Refusal) {
        extensionBytes += max(0, lineBytes - 16 - 18)  // 16 digits, CR LF, and 16 octets free
        guard extensionBytes <= limits.maxChunkExtensionBytes else { throw .malformed(.chunkExtension) }
        lineBytes = 0
        state = size == 0 ? .trailerStart : .data(remaining: size)
    }

    private mutating func takeChunkEnd(_ octet: UInt8) throws(Refusal) {
        switch (state, octet) {
        case (.dataReturn, .carriageReturn): state = .dataFeed
        case (.dataFeed, .lineFeed): state = .size(value: 0, digits: 0)
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
