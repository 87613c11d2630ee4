import DiffClock

/// Parses the head of a request line by line, in whatever pieces it arrives.
///
/// The caller owns the bytes, and calls `parse` with everything from the message's first octet on, again whenever there
/// is more; it may move them in between. A line is checked as soon as it is complete, so a malformed one is refused
/// even if the head never ends; the very first octet at once, so a TLS hello on a plain port does not wait for a line.
///
/// Nothing is repaired, since request smuggling exploits that recipients repair differently: where RFC 9112 leaves a
/// choice between leniency and 400, it is 400. docs/http.md lists the rules.
///
/// Invariant: `lineStart <= scanned <= bytes.count`, and there is no LF in `lineStart..<scanned`.
struct RequestParser: Sendable {
    /// The part of the head that the next line belongs to.
    private enum Stage: Sendable {
        case blankLine  // one empty line may precede the request line
        case requestLine
        case fields
    }

    let limits: MessageLimits
    private var stage = Stage.blankLine
    private var lineStart = 0
    private var scanned = 0
    private var fieldsStart = 0
    private var line: RequestLine?
    private var fields = FieldSection()

    init(limits: MessageLimits) {
        precondition(
            max(limits.maxRequestLineBytes, limits.maxHeaderBytes) <= MessageLimits.largest,
            "a limit of a head is larger than what fits into a read")
        self.limits = limits
    }

    mutating func restart() {
        (stage, lineStart, scanned, fieldsStart, line) = (.blankLine, 0, 0, 0, nil)
        fields.restart()
    }

    /// Whether a head is partly read: more than the optional empty line.
    var isWithinHead: Bool {
        switch stage {
        case .blankLine: scanned > 0
        case .requestLine: scanned > lineStart
        case .fields: true
        }
    }

    /// Whether the request is, or starts like, a HEAD: its answer has no body, even if it is a refusal.
    func isHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let line { return line.method == .head }
        let text = bytes.slice(min(lineStart, bytes.count), bytes.count)
        return text.count > 4 && text.slice(0, 4).spells("HEAD") && text[4].isBlank
    }

    /// The request target as it was sent; nil until the request line is read, or if it is malformed.
    func target(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard let line, line.resource(bytes) != nil else { return nil }
        return String(decoding: bytes.slice(line.targetRange), as: UTF8.self)
    }

    enum Progress {
        case incomplete
        /// `consumed` includes the empty line that ends the head.
        case complete(RequestHead, consumed: Int)
        case refused(Refusal)
    }

    /// Continues where the last call stopped. After `complete` or `refused`, the parser must be restarted.
    mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Progress {
        do throws(Refusal) { return try advance(bytes) } catch { return .refused(error) }
    }

    private mutating func advance(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Progress {
        if stage != .fields { try checkFirstOctet(bytes) }
        while let feed = bytes.position(of: .lineFeed, from: scanned) {
            scanned = feed + 1
            let end = feed - 1
            try checkLength(lineEnd: max(end, lineStart))
            guard feed > lineStart, bytes[end] == .carriageReturn else { throw .malformed(.lineEnding) }
            if end == lineStart, stage == .fields { return try finish(bytes) }
            try take(bytes, lineStart..<end)
            lineStart = scanned
            if stage != .fields { try checkFirstOctet(bytes) }
        }
        scanned = bytes.count
        try checkLength(lineEnd: scanned - 1)
        return .incomplete
    }

    private func checkLength(lineEnd: Int) throws(Refusal) {
        switch stage {
        case .blankLine, .requestLine:
            if lineEnd - lineStart > limits.maxRequestLineBytes { throw .uriTooLong(limit: limits.maxRequestLineBytes) }
        case .fields:
            if lineEnd - fieldsStart > limits.maxHeaderBytes {
                throw .headersTooLarge(limit: limits.maxHeaderBytes, unit: .octets)
            }
        }
    }

    private func checkFirstOctet(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        guard lineStart < bytes.count, !OctetSet.token.contains(bytes[lineStart]) else { return }
        switch bytes[lineStart] {
        case .carriageReturn: if stage != .blankLine { throw .malformed(.blankLines) }
        case .lineFeed: throw .malformed(.lineEnding)
        default: throw .malformed(.method)
        }
    }

    /// Takes a line that is not the empty one that ends the head.
    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) {
        switch stage {
        case .blankLine where range.isEmpty: stage = .requestLine
        case .blankLine, .requestLine:
            guard !range.isEmpty else { throw .malformed(.blankLines) }
            line = try RequestLine(bytes, range)
            stage = .fields
            fieldsStart = scanned
        case .fields:
            guard fields.count < limits.maxFields else {
                throw .headersTooLarge(limit: limits.maxFields, unit: .fields)
            }
            try fields.take(bytes, range)
        }
    }

    private func finish(_ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Progress {
        guard let line else { throw .malformed(.requestLine) }
        try fields.check(for: line, bytes)
        // RFC 9110 §9.3.8 forbids content. There is no telling what a proxy would do with it.
        if line.method == .other("TRACE"), fields.bodyLength != .none { throw .malformed(.traceContent) }
        guard let (path, query) = line.resource(bytes) else { throw .malformed(.targetEncoding) }
        let metadata = RequestHead.Metadata(
            method: line.method, target: line.targetRange, path: path, query: query,
            isServerWide: line.form == .asterisk, isHTTP10: line.isHTTP10, bodyLength: fields.bodyLength,
            keepsAlive: fields.keepsAlive(line), expectsContinue: fields.expectsContinue && !line.isHTTP10,
            expectsOther: fields.expectsOther && !line.isHTTP10)
        let parts = RequestHead.Parts.make(metadata, fields.spans, bytes.slice(0, scanned))
        return .complete(RequestHead(parts: parts), consumed: scanned)
    }
}

/// The field lines of a head (RFC 9112 §5, §6; RFC 9110 §5). The few fields that determine the framing and the
/// connection are interpreted at once; for all others, only the positions are kept.
private struct FieldSection: Sendable {
    /// Reused for each head; the first `count` belong to this one.
    private var room: [FieldSpan] = []
    private(set) var count = 0
    private var host: FieldSpan?
    private var contentLength: Int?
    private var coding = TransferCoding.none
    private var hasContentType = false
    private var hasAuthorization = false
    private var saysClose = false
    private var saysKeepAlive = false
    private(set) var expectsContinue = false
    private(set) var expectsOther = false

    private enum TransferCoding: Sendable { case none, chunked, unsupported, invalid }

    /// Capacity for more fields, which is rarely needed, is not kept.
    private static let keptRoom = 32

    var spans: ArraySlice<FieldSpan> { room[..<count] }

    mutating func restart() {
        var kept: [FieldSpan] = []
        if room.count <= Self.keptRoom { swap(&kept, &room) }
        self = FieldSection()
        swap(&kept, &room)
    }

    var bodyLength: BodyLength {
        if coding == .chunked { return .chunked }
        guard let contentLength, contentLength > 0 else { return .none }
        return .known(contentLength)
    }

    func keepsAlive(_ line: RequestLine) -> Bool { !saysClose && (!line.isHTTP10 || saysKeepAlive) }

    /// Takes `name ":" OWS value OWS`.
    mutating func take(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) throws(Refusal) {
        let start = range.lowerBound
        var end = range.upperBound
        guard !bytes[start].isBlank else { throw .malformed(.folding) }
        var colon = start
        while colon < end, OctetSet.token.contains(bytes[colon]) { colon += 1 }
        guard colon < end else { throw .malformed(.fieldWithoutColon) }
        guard bytes[colon] == UInt8(ascii: ":"), colon > start else { throw .malformed(.fieldName) }
        var valueStart = colon + 1
        while valueStart < end, bytes[valueStart].isBlank { valueStart += 1 }
        while end > valueStart, bytes[end - 1].isBlank { end -= 1 }
        let value = bytes.slice(valueStart, end)
        guard !value.hasControls || value.allSatisfy(\.isFieldContent) else { throw .malformed(.fieldValue) }
        let span = FieldSpan(
            nameStart: UInt32(start), nameEnd: UInt32(colon), valueStart: UInt32(valueStart), valueEnd: UInt32(end))
        if room.isEmpty { room.reserveCapacity(8) }
        if count < room.count { room[count] = span } else { room.append(span) }
        count += 1
        try note(span, bytes.slice(start, colon), value)
    }

    func check(for line: RequestLine, _ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        try checkHost(line, bytes)
        if coding != .none {
            if line.isHTTP10 { throw .malformed(.transferCodingInOldVersion) }
            if contentLength != nil { throw .malformed(.ambiguousLength) }
        }
        switch coding {
        case .none, .chunked: break
        case .unsupported: throw .unsupportedTransferCoding
        case .invalid: throw .malformed(.transferCoding)
        }
    }

    private func checkHost(_ line: RequestLine, _ bytes: UnsafeRawBufferPointer) throws(Refusal) {
        guard let host else {
            if line.isHTTP10 { return }
            throw .malformed(.noHost)
        }
        let value = host.value(in: bytes)
        guard HostValue.isValid(value) else { throw .malformed(.host) }
        // If they differ, a recipient that trusts one and a recipient that trusts the other see different origins.
        if case .absolute(let authority, _) = line.form, !value.equalsIgnoringCase(bytes.slice(authority)) {
            throw .malformed(.host)
        }
    }

    private mutating func note(
        _ span: FieldSpan, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) throws(Refusal) {
        switch name.count {
        case 4 where name.spellsIgnoringCase("host"):
            guard host == nil else { throw .malformed(.repeatedField) }
            host = span
        case 6 where name.spellsIgnoringCase("expect"):
            for element in ListElements(value) where !element.isEmpty {
                let isKnown = element.spellsIgnoringCase("100-continue")
                if isKnown { expectsContinue = true } else { expectsOther = true }
            }
        case 10 where name.spellsIgnoringCase("connection"):
            for element in ListElements(value) {
                if element.spellsIgnoringCase("close") { saysClose = true }
                if element.spellsIgnoringCase("keep-alive") { saysKeepAlive = true }
            }
        case 12 where name.spellsIgnoringCase("content-type"):
            guard !hasContentType else { throw .malformed(.repeatedField) }
            hasContentType = true
        case 13 where name.spellsIgnoringCase("authorization"):
            guard !hasAuthorization else { throw .malformed(.repeatedField) }
            hasAuthorization = true
        case 14 where name.spellsIgnoringCase("content-length"):
            guard contentLength == nil else { throw .malformed(.repeatedField) }
            guard let length = Self.length(value) else { throw .malformed(.contentLength) }
            contentLength = length
        case 17 where name.spellsIgnoringCase("transfer-encoding"):
            guard coding == .none else { throw .malformed(.transferCoding) }
            coding = Self.coding(value)
        default: break
        }
    }

    /// A decimal number below 2^63: no sign, no list, no white space inside.
    private static func length(_ value: UnsafeRawBufferPointer) -> Int? {
        guard (1...19).contains(value.count), value.allSatisfy(\.isDigit) else { return nil }
        return Int(exactly: value.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - 0x30) })
    }

    /// Only `chunked` is supported; other tokens before it are 501, and anything else is 400.
    private static func coding(_ value: UnsafeRawBufferPointer) -> TransferCoding {
        if value.spellsIgnoringCase("chunked") { return .chunked }
        let names = ListElements(value).filter { !$0.isEmpty }
        let isChunked = names.map { $0.spellsIgnoringCase("chunked") }
        let areTokens = names.allSatisfy { $0.allSatisfy(OctetSet.token.contains) }
        let endsChunked = names.count > 1 && isChunked.firstIndex(of: true) == names.count - 1
        return endsChunked && areTokens ? .unsupported : .invalid
    }
}
