/// The head of a request, line by line, wherever the network cut it.
///
/// The caller owns the bytes and calls `parse` with everything from the first octet of the message on, again when there
/// is more. The parser remembers positions, never pointers, so the caller may move the bytes in between. Each octet is
/// looked at twice: once by memchr for the end of its line, once by the grammar. A line is judged as soon as it is
/// complete, so a malformed one is refused even if the head never ends; the first octet of all is judged at once, so a
/// TLS hello on a plain port does not wait for a line.
///
/// Nothing is repaired. Where RFC 9112 lets a recipient choose between leniency and 400, this is 400: what one
/// recipient repairs, another reads differently, and request smuggling lives in that difference. docs/http.md has the
/// rules one by one.
///
/// Invariant: `lineStart <= scanned <= ` what was given so far, and no LF stands in `lineStart..<scanned`.
struct RequestParser: Sendable {
    /// Where in the head the next line belongs.
    private enum Stage: Sendable {
        case blankLine  // one empty line may stand before the request line
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

    /// Is ready for the next message.
    mutating func restart() {
        (stage, lineStart, scanned, fieldsStart, line) = (.blankLine, 0, 0, 0, nil)
        fields.restart()
    }

    /// Whether a half-read head stands here: more than the optional empty line.
    var isWithinHead: Bool {
        switch stage {
        case .blankLine: scanned > 0
        case .requestLine: scanned > lineStart
        case .fields: true
        }
    }

    /// Whether the request is, or starts like, a HEAD: its answer has no body even if it is refused.
    func isHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let line { return line.method == .head }
        let text = bytes.slice(min(lineStart, bytes.count), bytes.count)
        return text.count > 4 && text.slice(0, 4).spells("HEAD") && text[4].isBlank
    }

    /// The request target as it was sent, once its line was read; nil where that was not well-formed.
    func target(_ bytes: UnsafeRawBufferPointer) -> String? {
        guard let line, line.resource(bytes) != nil else { return nil }
        return String(decoding: bytes.slice(line.targetRange.lowerBound, line.targetRange.upperBound), as: UTF8.self)
    }

    enum Progress {
        case incomplete
        /// - consumed: octets of the head, the empty line that ends it included.
        case complete(RequestHead, consumed: Int)
        case refused(Refusal)
    }

    /// Goes on where the last call stopped. After `complete` or `refused` the value is spent until it is restarted.
    mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Progress {
        if stage != .fields, let refusal = firstOctetRefusal(bytes) { return .refused(refusal) }
        while let feed = bytes.position(of: .lineFeed, from: scanned) {
            scanned = feed + 1
            let end = feed - 1
            if let refusal = lengthRefusal(lineEnd: max(end, lineStart)) { return .refused(refusal) }
            guard feed > lineStart, bytes[end] == .carriageReturn else { return .refused(.malformed(.lineEnding)) }
            let isLast = end == lineStart && stage == .fields
            if isLast { return finish(bytes) }
            if let refusal = take(bytes, lineStart..<end) { return .refused(refusal) }
            lineStart = scanned
            if stage != .fields, let refusal = firstOctetRefusal(bytes) { return .refused(refusal) }
        }
        scanned = bytes.count
        if let refusal = lengthRefusal(lineEnd: scanned - 1) { return .refused(refusal) }
        return .incomplete
    }

    private func lengthRefusal(lineEnd: Int) -> Refusal? {
        switch stage {
        case .blankLine, .requestLine:
            lineEnd - lineStart > limits.maxRequestLineBytes ? .uriTooLong(limit: limits.maxRequestLineBytes) : nil
        case .fields:
            lineEnd - fieldsStart > limits.maxHeaderBytes
                ? .headersTooLarge(limit: limits.maxHeaderBytes, unit: .octets) : nil
        }
    }

    private func firstOctetRefusal(_ bytes: UnsafeRawBufferPointer) -> Refusal? {
        guard lineStart < bytes.count, !OctetSet.token.contains(bytes[lineStart]) else { return nil }
        switch bytes[lineStart] {
        case .carriageReturn: return stage == .blankLine ? nil : .malformed(.blankLines)
        case .lineFeed: return .malformed(.lineEnding)
        default: return .malformed(.method)
        }
    }

    /// Takes a line that is not the empty one that ends the head.
    private mutating func take(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Refusal? {
        switch stage {
        case .blankLine where range.isEmpty:
            stage = .requestLine
            return nil
        case .blankLine, .requestLine:
            guard !range.isEmpty else { return .malformed(.blankLines) }
            do throws(RefusedHead) { line = try RequestLine(bytes, range) } catch { return error.refusal }
            stage = .fields
            fieldsStart = scanned
            return nil
        case .fields:
            guard fields.count < limits.maxFields else {
                return .headersTooLarge(limit: limits.maxFields, unit: .fields)
            }
            return fields.take(bytes, range)
        }
    }

    private func finish(_ bytes: UnsafeRawBufferPointer) -> Progress {
        guard let line else { return .refused(.malformed(.requestLine)) }
        if let refusal = fields.refusal(for: line, bytes) { return .refused(refusal) }
        // RFC 9110 §9.3.8. What a proxy does with such a body is anybody's guess.
        if line.method == .other("TRACE"), fields.bodyLength != .none { return .refused(.malformed(.traceContent)) }
        guard let (path, query) = line.resource(bytes) else { return .refused(.malformed(.targetEncoding)) }
        let found = RequestHead.Found(
            method: line.method, target: line.targetRange, path: path, query: query,
            isServerWide: line.form == .asterisk, isHTTP10: line.isHTTP10, bodyLength: fields.bodyLength,
            keepsAlive: fields.keepsAlive(line), expectsContinue: fields.expectsContinue && !line.isHTTP10,
            expectsOther: fields.expectsOther && !line.isHTTP10)
        let parts = RequestHead.Parts.make(found, fields.spans, bytes.slice(0, scanned))
        return .complete(RequestHead(parts: parts), consumed: scanned)
    }
}
