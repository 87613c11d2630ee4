/// The field lines of a head, and what the framing fields among them say (RFC 9112 §5, §6; RFC 9110 §5).
///
/// The few fields that decide how the message and the connection end are read while they pass; all others are only
/// positions.
struct FieldSection: Sendable {
    /// Room that stays from one head to the next; the first `count` are of this one.
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

    private enum TransferCoding: Sendable {
        case none, chunked, unsupported, invalid
    }

    /// More fields than that are rare: room for them is not kept.
    private static let keptRoom = 32

    var spans: ArraySlice<FieldSpan> { room[..<count] }

    /// Is ready for the next head.
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

    func keepsAlive(_ line: RequestLine) -> Bool {
        !saysClose && (!line.isHTTP10 || saysKeepAlive)
    }

    /// Takes `name ":" OWS value OWS`.
    mutating func take(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Refusal? {
        let start = range.lowerBound
        var end = range.upperBound
        guard !bytes[start].isBlank else { return .malformed(.folding) }
        var colon = start
        while colon < end, OctetSet.token.contains(bytes[colon]) { colon += 1 }
        guard colon < end else { return .malformed(.fieldWithoutColon) }
        guard bytes[colon] == UInt8(ascii: ":"), colon > start else { return .malformed(.fieldName) }
        var valueStart = colon + 1
        while valueStart < end, bytes[valueStart].isBlank { valueStart += 1 }
        while end > valueStart, bytes[end - 1].isBlank { end -= 1 }
        let value = bytes.slice(valueStart, end)
        guard !value.hasControls || value.allSatisfy(\.isFieldContent) else { return .malformed(.fieldValue) }
        let span = FieldSpan(
            nameStart: UInt32(start), nameEnd: UInt32(colon), valueStart: UInt32(valueStart), valueEnd: UInt32(end))
        if room.isEmpty { room.reserveCapacity(8) }
        if count < room.count { room[count] = span } else { room.append(span) }
        count += 1
        return note(span, bytes.slice(start, colon), value)
    }

    /// The refusals that only the whole section can decide.
    func refusal(for line: RequestLine, _ bytes: UnsafeRawBufferPointer) -> Refusal? {
        if let refusal = hostRefusal(line, bytes) { return refusal }
        if coding != .none {
            if line.isHTTP10 { return .malformed(.transferCodingInOldVersion) }
            if contentLength != nil { return .malformed(.ambiguousLength) }
        }
        switch coding {
        case .none, .chunked: break
        case .unsupported: return .unsupportedTransferCoding
        case .invalid: return .malformed(.transferCoding)
        }
        return nil
    }

    private func hostRefusal(_ line: RequestLine, _ bytes: UnsafeRawBufferPointer) -> Refusal? {
        guard let host else { return line.isHTTP10 ? nil : .malformed(.noHost) }
        let value = host.value(in: bytes)
        guard HostValue.isValid(value) else { return .malformed(.host) }
        switch line.form {
        case .origin, .asterisk: return nil
        case .absolute(let authority, _):
            // Who honours one and who honours the other would answer for different origins.
            return value.equalsIgnoringCase(bytes.slice(authority.lowerBound, authority.upperBound))
                ? nil : .malformed(.host)
        }
    }

    private mutating func note(
        _ span: FieldSpan, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
    ) -> Refusal? {
        switch name.count {
        case 4 where name.spellsIgnoringCase("host"):
            guard host == nil else { return .malformed(.repeatedField) }
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
            guard !hasContentType else { return .malformed(.repeatedField) }
            hasContentType = true
        case 13 where name.spellsIgnoringCase("authorization"):
            guard !hasAuthorization else { return .malformed(.repeatedField) }
            hasAuthorization = true
        case 14 where name.spellsIgnoringCase("content-length"):
            guard contentLength == nil else { return .malformed(.repeatedField) }
            guard let length = Self.length(value) else { return .malformed(.contentLength) }
            contentLength = length
        case 17 where name.spellsIgnoringCase("transfer-encoding"):
            guard coding == .none else { return .malformed(.transferCoding) }
            coding = Self.coding(value)
        default: break
        }
        return nil
    }

    /// One decimal number below 2^63: no sign, no list, no white space inside.
    private static func length(_ value: UnsafeRawBufferPointer) -> Int? {
        guard !value.isEmpty, value.count <= 19 else { return nil }
        var length = 0
        for octet in value {
            guard octet.isDigit else { return nil }
            let (tens, overflows) = length.multipliedReportingOverflow(by: 10)
            let (sum, carries) = tens.addingReportingOverflow(Int(octet - 0x30))
            guard !overflows, !carries else { return nil }
            length = sum
        }
        return length
    }

    /// `chunked` alone is served; known-looking codings before it are 501; all else is 400.
    private static func coding(_ value: UnsafeRawBufferPointer) -> TransferCoding {
        if value.spellsIgnoringCase("chunked") { return .chunked }
        let names = ListElements(value).filter { !$0.isEmpty }
        let isChunked = names.map { $0.spellsIgnoringCase("chunked") }
        let areTokens = names.allSatisfy { $0.allSatisfy(OctetSet.token.contains) }
        let endsChunked = names.count > 1 && isChunked.firstIndex(of: true) == names.count - 1
        return endsChunked && areTokens ? .unsupported : .invalid
    }
}
