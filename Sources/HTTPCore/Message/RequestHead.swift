/// The length of a request's body, from its head.
public enum BodyLength: Sendable, Hashable {
    /// No framing field, or `Content-Length: 0`.
    case none
    /// `Content-Length`, more than 0.
    case known(Int)
    /// `Transfer-Encoding: chunked`.
    case chunked
}

/// The coding of a request's body. Gzip is inflated before the service gets it; any other, or several, are unsupported.
public enum ContentEncoding: Sendable, Hashable { case identity, gzip, unsupported }

/// The head of a request: request line and fields, parsed and checked.
///
/// Holds one copy of the head's bytes and creates strings on demand. It is a single reference: cheap to pass and keep.
public struct RequestHead: @unchecked Sendable {
    /// Never changed once the parser has made it.
    let parts: Parts

    init(parts: Parts) { self.parts = parts }

    /// The method.
    public var method: Method { parts.header.method }
    /// The path, split at its raw `/` and then percent-decoded once: `/v1/a%2Fb` is `["v1", "a/b"]`, `/` is `[]`, and
    /// `/a/` is `["a", ""]`. Dot segments are left as they are. `OPTIONS *` is `["*"]`, see `isServerWide`.
    public var path: [String] { withPath { $0.map(Percent.segments) ?? ["*"] } }
    /// The query, in order, each name and value decoded once; `+` stays `+`.
    public var query: [QueryItem] { parts.withBytes { bytes, _ in QueryItem.items(bytes.slice(parts.header.query)) } }
    /// The query as forms and `URLSearchParams` write it (URL Standard §5.1): `+` is a space.
    public var formQuery: [QueryItem] {
        parts.withBytes { bytes, _ in QueryItem.items(bytes.slice(parts.header.query), isForm: true) }
    }
    /// Whether the target is `*`: `OPTIONS *` asks about the server, not about a resource.
    public var isServerWide: Bool { parts.header.isServerWide }
    /// The length of the body.
    public var bodyLength: BodyLength { parts.header.bodyLength }
    /// Whether the client keeps the connection open after this exchange.
    public var keepsAlive: Bool { parts.header.keepsAlive }
    /// Whether the client speaks HTTP/1.0, which has neither chunked nor interim responses.
    public var isHTTP10: Bool { parts.header.isHTTP10 }
    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue: Bool { parts.header.expectsContinue }
    /// Whether the client expects anything else.
    var expectsOther: Bool { parts.header.expectsOther }

    /// The request target as it was sent, for logs.
    public var target: String {
        parts.withBytes { bytes, _ in String(decoding: bytes.slice(parts.header.target), as: UTF8.self) }
    }

    /// The value of Host, as sent; nil only from an HTTP/1.0 client.
    public var host: String? { self["host"] }

    /// The first value of a field, trimmed. Names are compared case-insensitively, and malformed UTF-8 is repaired.
    public subscript(name: String) -> String? {
        var first: String?
        forEach(name) { value in
            first = String(decoding: value, as: UTF8.self)
            return false
        }
        return first
    }

    /// Whether the first value of a field is this text, regardless of case; nil if there is no such field.
    public func value(of name: String, is text: StaticString) -> Bool? {
        var isText: Bool?
        forEach(name) { value in
            isText = value.spellsIgnoringCase(text)
            return false
        }
        return isText
    }

    /// All values of a field, in order, one for each line.
    public func values(of name: String) -> [String] {
        var values: [String] = []
        forEach(name) { value in
            values.append(String(decoding: value, as: UTF8.self))
            return true
        }
        return values
    }

    /// Whether any field's name is one of `names` or starts with `prefix`, which are in lower case, in one pass.
    public func hasField(named names: [StaticString], orStartingWith prefix: StaticString) -> Bool {
        let count = prefix.utf8CodeUnitCount
        return parts.withBytes { bytes, fields in
            fields.contains { field in
                let name = field.name(in: bytes)
                return name.count >= count && name.slice(0, count).spellsIgnoringCase(prefix)
                    || names.contains { name.spellsIgnoringCase($0) }
            }
        }
    }

    /// The coding of the body.
    public var contentEncoding: ContentEncoding {
        guard let first = self["content-encoding"], !first.isEmpty else { return .identity }
        guard values(of: "content-encoding").count == 1 else { return .unsupported }
        return switch first.lowercased() {
        case "gzip", "x-gzip": .gzip
        case "identity": .identity
        default: .unsupported
        }
    }

    /// A shorter head, to be kept for long: only the path, these fields, and what the answer depends on.
    public func shortened(to fields: [Field]) -> RequestHead {
        var fields = fields
        if acceptsGzip { fields.append(Field("accept-encoding", "gzip")) }
        withOwnID { fields.append(Field("x-request-id", String(decoding: $0, as: UTF8.self))) }
        var metadata = parts.header
        let start = metadata.target.lowerBound
        let end = metadata.path?.upperBound ?? metadata.target.upperBound
        var octets = parts.withBytes { bytes, _ in Array(bytes.slice(start, end)) }
        let target = octets.count
        let spans = fields.map { field in
            let name = octets.count
            octets += field.name.utf8
            let value = octets.count
            octets += field.value.utf8
            return FieldSpan(
                nameStart: UInt32(name), nameEnd: UInt32(value), valueStart: UInt32(value),
                valueEnd: UInt32(octets.count))
        }
        (metadata.target, metadata.query, metadata.nameLengths) = (0..<target, target..<target, 0)
        metadata.path = metadata.path.map { $0.lowerBound - start..<target }
        return octets.withUnsafeBytes { RequestHead(parts: Parts.make(metadata, spans[...], $0)) }
    }

    /// Calls `body` with the value of each field of a name, until it returns false.
    @inline(__always)
    func forEach(_ name: String, _ body: (UnsafeRawBufferPointer) -> Bool) {
        guard parts.header.nameLengths & Parts.bit(ofLength: name.utf8.count) != 0 else { return }
        var name = name
        name.withUTF8 { name in
            let name = UnsafeRawBufferPointer(name)
            parts.withBytes { bytes, fields in
                for field in fields
                where field.name(in: bytes).equalsIgnoringCase(name) && !body(field.value(in: bytes)) { return }
            }
        }
    }

    /// Calls `body` with the path as it was sent, without its leading slash; with nil if the target is `*`.
    @inline(__always)
    func withPath<R>(_ body: (UnsafeRawBufferPointer?) -> R) -> R {
        parts.withBytes { bytes, _ in body(parts.header.path.map(bytes.slice)) }
    }

    /// What the parser found, besides the octets and the positions of the fields.
    struct Metadata {
        let method: Method
        var target: Range<Int>
        /// The path without its leading slash, if there is one.
        var path: Range<Int>?
        var query: Range<Int>
        let isServerWide: Bool
        let isHTTP10: Bool
        let bodyLength: BodyLength
        let keepsAlive: Bool
        let expectsContinue: Bool
        let expectsOther: Bool
        var fieldCount = 0
        /// A bit for the length of each field's name; the last bit stands for all greater lengths.
        var nameLengths: UInt64 = 0
        var byteCount = 0
    }

    /// The whole head in one allocation: header, positions of the fields, octets.
    final class Parts: ManagedBuffer<Metadata, FieldSpan> {
        static func make(_ found: consuming Metadata, _ fields: ArraySlice<FieldSpan>, _ bytes: UnsafeRawBufferPointer)
            -> Parts
        {
            (found.fieldCount, found.byteCount) = (fields.count, bytes.count)
            for field in fields { found.nameLengths |= bit(ofLength: Int(field.nameEnd - field.nameStart)) }
            let stride = MemoryLayout<FieldSpan>.stride
            let parts = create(minimumCapacity: fields.count + (bytes.count + stride - 1) / stride) { [found] _ in found
            }
            parts.withUnsafeMutablePointerToElements { elements in
                _ = UnsafeMutableBufferPointer(start: elements, count: fields.count).initialize(fromContentsOf: fields)
                UnsafeMutableRawBufferPointer(start: elements + fields.count, count: bytes.count).copyMemory(
                    from: bytes)
            }
            return unsafeDowncast(parts, to: Parts.self)
        }

        @inline(__always)
        static func bit(ofLength length: Int) -> UInt64 { 1 << UInt64(min(length, 63)) }

        @inline(__always)
        func withBytes<R>(_ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<FieldSpan>) -> R) -> R {
            withUnsafeMutablePointers { found, fields in
                body(
                    UnsafeRawBufferPointer(start: fields + found.pointee.fieldCount, count: found.pointee.byteCount),
                    UnsafeBufferPointer(start: fields, count: found.pointee.fieldCount))
            }
        }
    }

    /// A head from its text, for tests of a service: `"GET / HTTP/1.1\r\nHost: a\r\n\r\n"`.
    ///
    /// - Throws: why the server would refuse it; a text without an end is `.malformed(.endOfInput)`.
    public init(parsing text: String) throws(Refusal) {
        var parser = RequestParser(limits: MessageLimits())
        let progress = Array(text.utf8).withUnsafeBytes { parser.parse($0) }
        switch progress {
        case .complete(let head, _): self = head
        case .refused(let refusal): throw refusal
        case .incomplete: throw .malformed(.endOfInput)
        }
    }
}

/// A request method (RFC 9110 §9). Methods are case-sensitive.
public enum Method: Hashable, Sendable {
    /// The methods known here.
    case get, head, post, put, delete, options, patch
    /// Any other token, as it was sent.
    case other(String)

    /// The method as in a request line.
    public var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .patch: "PATCH"
        case .other(let name): name
        }
    }

    init(_ token: UnsafeRawBufferPointer) {
        switch token.count {
        case 3 where token.spells("GET"): self = .get
        case 3 where token.spells("PUT"): self = .put
        case 4 where token.spells("POST"): self = .post
        case 4 where token.spells("HEAD"): self = .head
        case 5 where token.spells("PATCH"): self = .patch
        case 6 where token.spells("DELETE"): self = .delete
        case 7 where token.spells("OPTIONS"): self = .options
        default: self = .other(String(decoding: token, as: UTF8.self))
        }
    }
}
