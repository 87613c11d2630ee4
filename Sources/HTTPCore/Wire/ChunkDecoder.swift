/// The chunked transfer coding (RFC 9112 §7.1), one octet of framing at a time and content in runs.
///
/// The state is the position in the grammar; an octet that is not listed for it is a refusal:
///
///     chunk      = 1*HEXDIG [ ext ] CRLF data CRLF
///     ext        = *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] ) BWS
///     last       = 1*"0" [ ext ] CRLF *( token ":" value CRLF ) CRLF
///
/// White space behind a size is only read before a `;`: as padding it is an old leniency that smugglers use. At most 16
/// digits are read and at most 2^60 - 1 octets announced, so a size cannot wrap around. Extensions and trailers are
/// checked and dropped: nothing that arrives behind a body can change what its head said. Framing that costs more than
/// content does is bounded, since a body of one octet a chunk with a long extension each would otherwise be a cheap way
/// to keep a server busy.
struct ChunkDecoder: Sendable {
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

    /// Octets of the current chunk that are still to come.
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
            if let refusal = take(octet) { return .refused(refusal) }
        }
        return .more(consumed: index, content: index..<index)
    }

    private mutating func take(_ octet: UInt8) -> Refusal? {
        switch state {
        case .size, .sizeBlank, .extensionName, .extensionNameBlank, .extensionValue, .extensionToken, .extensionQuoted,
            .extensionEscape, .extensionValueBlank, .sizeFeed:
            lineBytes += 1
            guard lineBytes <= limits.maxChunkLineBytes else { return .malformed(.chunkExtension) }
            return takeSizeLine(octet)
        case .data, .dataReturn, .dataFeed:
            return takeChunkEnd(octet)
        case .trailerStart, .trailerName, .trailerValue, .trailerFeed, .endFeed:
            trailerBytes += 1
            guard trailerBytes <= limits.maxHeaderBytes else {
                return .headersTooLarge(limit: limits.maxHeaderBytes, unit: .octets)
            }
            return takeTrailer(octet)
        }
    }

    private mutating func takeSizeLine(_ octet: UInt8) -> Refusal? {
        switch (state, octet) {
        case (.size(let value, let digits), _) where octet.hexValue != nil:
            guard digits < 16, value < 1 << 56 else { return .malformed(.chunkSize) }
            state = .size(value: value << 4 | Int(octet.hexValue ?? 0), digits: digits + 1)
        case (.size(let size, let digits), _) where digits > 0:
            return leaveSize(size, octet)
        case (.sizeBlank(let size), _):
            if octet == UInt8(ascii: ";") {
                state = .extensionName(size: size, isEmpty: true)
            } else if !octet.isBlank {
                return .malformed(.chunkSize)
            }
        case (.extensionName(_, isEmpty: true), .space), (.extensionName(_, isEmpty: true), .tab): break
        case (.extensionName(let size, _), _) where OctetSet.token.contains(octet):
            state = .extensionName(size: size, isEmpty: false)
        case (.extensionName(let size, isEmpty: false), UInt8(ascii: "=")),
            (.extensionNameBlank(let size), UInt8(ascii: "=")):
            state = .extensionValue(size: size)
        case (.extensionName(let size, isEmpty: false), _), (.extensionNameBlank(let size), _):
            return leaveExtension(size, octet, blank: .extensionNameBlank(size: size))
        case (.extensionValue, .space), (.extensionValue, .tab): break
        case (.extensionValue(let size), UInt8(ascii: "\"")): state = .extensionQuoted(size: size)
        case (.extensionValue(let size), _) where OctetSet.token.contains(octet),
            (.extensionToken(let size), _) where OctetSet.token.contains(octet):
            state = .extensionToken(size: size)
        case (.extensionToken(let size), _), (.extensionValueBlank(let size), _):
            return leaveExtension(size, octet, blank: .extensionValueBlank(size: size))
        case (.extensionQuoted(let size), UInt8(ascii: "\"")): state = .extensionValueBlank(size: size)
        case (.extensionQuoted(let size), UInt8(ascii: "\\")): state = .extensionEscape(size: size)
        case (.extensionQuoted, _) where octet.isFieldContent: break
        case (.extensionEscape(let size), _) where octet.isFieldContent: state = .extensionQuoted(size: size)
        case (.sizeFeed(let size), .lineFeed): return beginChunk(size)
        case (.size, _): return .malformed(.chunkSize)
        case (.sizeFeed, _): return .malformed(.lineEnding)
        default: return .malformed(.chunkExtension)
        }
        return nil
    }

    private mutating func leaveSize(_ size: Int, _ octet: UInt8) -> Refusal? {
        switch octet {
        case .carriageReturn: state = .sizeFeed(size: size)
        case UInt8(ascii: ";"): state = .extensionName(size: size, isEmpty: true)
        case .space, .tab: state = .sizeBlank(size: size)
        case .lineFeed: return .malformed(.lineEnding)
        default: return .malformed(.chunkSize)
        }
        return nil
    }

    private mutating func leaveExtension(_ size: Int, _ octet: UInt8, blank: State) -> Refusal? {
        switch octet {
        case .carriageReturn: state = .sizeFeed(size: size)
        case UInt8(ascii: ";"): state = .extensionName(size: size, isEmpty: true)
        case .space, .tab: state = blank
        default: return .malformed(.chunkExtension)
        }
        return nil
    }

    private mutating func beginChunk(_ size: Int) -> Refusal? {
        extensionBytes += max(0, lineBytes - 16 - 18)  // 16 digits, CR LF, and 16 octets free
        guard extensionBytes <= limits.maxChunkExtensionBytes else { return .malformed(.chunkExtension) }
        lineBytes = 0
        state = size == 0 ? .trailerStart : .data(remaining: size)
        return nil
    }

    private mutating func takeChunkEnd(_ octet: UInt8) -> Refusal? {
        switch (state, octet) {
        case (.dataReturn, .carriageReturn): state = .dataFeed
        case (.dataFeed, .lineFeed): state = .size(value: 0, digits: 0)
        default: return .malformed(.chunkEnd)
        }
        return nil
    }

    private mutating func takeTrailer(_ octet: UInt8) -> Refusal? {
        switch (state, octet) {
        case (.trailerStart, .carriageReturn): state = .endFeed
        case (.trailerStart, _) where OctetSet.token.contains(octet):
            trailerFields += 1
            guard trailerFields <= limits.maxFields else {
                return .headersTooLarge(limit: limits.maxFields, unit: .fields)
            }
            state = .trailerName
        case (.trailerName, UInt8(ascii: ":")): state = .trailerValue
        case (.trailerName, _) where OctetSet.token.contains(octet): break
        case (.trailerValue, .carriageReturn): state = .trailerFeed
        case (.trailerValue, _) where octet.isFieldContent: break
        case (.trailerFeed, .lineFeed): state = .trailerStart
        default: return .malformed(.trailer)
        }
        return nil
    }
}
