/// The field lines of a head (RFC 9112 §5, §6; RFC 9110 §5). The few fields that determine the framing and the
/// connection are interpreted at once; of all others only the positions are kept.
struct FieldSection: Sendable {
    /// Kept from one head to the next; the first `count` belong to this one.
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

    /// Room for more fields, which are rare, is not kept.
    private static let keptRoom = 32

    var spans: ArraySlice<FieldSpan> { room[..<count] }

    /// Prepares for the next head.
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

    /// Checks what depends on the whole section.
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
        guard value.count <= 19, value.allSatisfy(\.isDigit) else { return nil }
        return Int(String(decoding: value, as: UTF8.self))
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
