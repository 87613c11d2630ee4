/// Parses the head of a request line by line, in whatever pieces it arrives.
///
/// The caller owns the bytes, and calls `parse` with everything from the message's first octet on, again whenever there
/// is more. The parser keeps positions, never pointers, so the caller may move the bytes in between. Each octet is read
/// twice: by memchr for the end of its line, and by the grammar. A line is checked as soon as it is complete, so a
/// malformed one is refused even if the head never ends; the very first octet is checked at once, so a TLS hello on a
/// plain port does not wait for a line.
///
/// Nothing is repaired. Where RFC 9112 leaves a choice between leniency and 400, it is 400: recipients repair messages
/// differently, and request smuggling exploits the difference. docs/http.md lists the rules.
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
        self.limits = limits
    }

    /// Prepares for the next message.
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
        // RFC 9110 §9.3.8. No telling what a proxy would do with such a body.
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
