/// How long the body of a request is, as its head says.
public enum BodyLength: Sendable, Hashable {
    /// Neither field, or Content-Length: 0.
    case none
    /// Content-Length, more than 0.
    case known(Int)
    /// Transfer-Encoding: chunked.
    case chunked
}

/// The coding of the body of a request.
public enum ContentEncoding: Sendable, Hashable {
    /// As it is.
    case identity
    /// Inflated before the service gets it.
    case gzip
    /// Any other, or several.
    case unsupported
}

/// The head of a request: request line and fields, parsed and checked.
///
/// Holds one copy of the bytes of the head; what of it is text becomes a string when it is asked for. A value of one
/// reference: cheap to pass and to keep.
public struct RequestHead: @unchecked Sendable {
    /// Never changed once the parser has made it.
    let parts: Parts

    /// The method.
    public var method: Method { parts.header.method }
    /// The path, split at its raw `/` and then percent-decoded once: `/v1/sessions/a%2Fb` is `["v1", "sessions",
    /// "a/b"]`.
    ///
    /// `/` is `[]`, `/a/` is `["a", ""]`. Dot segments are left as they are. `OPTIONS *` is `["*"]`, see
    /// `isServerWide`.
    public var path: [String] { withPath { $0.map(Percent.segments) ?? ["*"] } }
    /// The query, in order, each name and value decoded once; `+` stays `+`.
    public var query: [QueryItem] { parts.withBytes { bytes, _ in QueryItem.items(bytes.slice(parts.header.query)) } }
    /// The same as forms and `URLSearchParams` write it (URL Standard §5.1): a `+` is a space.
    public var formQuery: [QueryItem] {
        parts.withBytes { bytes, _ in QueryItem.items(bytes.slice(parts.header.query), isForm: true) }
    }
    /// Whether the target is `*`: `OPTIONS *` asks about the server, not about a resource.
    public var isServerWide: Bool { parts.header.isServerWide }
    /// What the head says about the body.
    public var bodyLength: BodyLength { parts.header.bodyLength }
    /// Whether the connection can go on after this exchange, as the client wishes it.
    public var keepsAlive: Bool { parts.header.keepsAlive }
    /// Whether the client speaks HTTP/1.0: no chunked answers, no interim ones.
    public var isHTTP10: Bool { parts.header.isHTTP10 }
    /// Whether the client waits for `100 Continue` before it sends the body.
    public var expectsContinue: Bool { parts.header.expectsContinue }
    /// Whether the client expects what nobody can meet.
    var expectsOther: Bool { parts.header.expectsOther }

    /// The request target as it was sent, for logs.
    public var target: String {
        parts.withBytes { bytes, _ in String(decoding: bytes.slice(parts.header.target), as: UTF8.self) }
    }

    /// The value of Host, as sent; nil only from an HTTP/1.0 client.
    public var host: String? { self["host"] }

    /// The first value of a field, blanks trimmed; names are compared without regard to case. Octets that are not UTF-8
    /// are repaired.
    public subscript(name: String) -> String? { withValue(of: name) { String(decoding: $0, as: UTF8.self) } }

    /// Whether the first value of a field is this text, regardless of case; nil if there is no such field.
    public func value(of name: String, is text: StaticString) -> Bool? {
        withValue(of: name) { $0.spellsIgnoringCase(text) }
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

    /// Whether the name of a field is one of `names` or starts with `prefix`, whatever the case of its letters. Looks
    /// at each field once.
    ///
    /// - Parameters: lower case.
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
        let values = values(of: "content-encoding")
        guard values.count == 1 else { return .unsupported }
        switch first.lowercased() {
        case "gzip", "x-gzip": return .gzip
        case "identity": return .identity
        default: return .unsupported
        }
    }

    /// Calls `body` with the octets of the first value of a field, without making a string of them.
    public func withValue<R>(of name: String, _ body: (UnsafeRawBufferPointer) -> R) -> R? {
        var result: R?
        forEach(name) { value in
            result = body(value)
            return false
        }
        return result
    }

    /// Calls `body` with the value of each field of a name, until it returns false. Most names that are asked for are
    /// in few heads, and their length tells.
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
}

extension RequestHead {
    /// Calls `body` with the path as it was sent, less the slash at its start; with nil where the target is `*`.
    @inline(__always)
    func withPath<R>(_ body: (UnsafeRawBufferPointer?) -> R) -> R {
        parts.withBytes { bytes, _ in body(parts.header.path.map(bytes.slice)) }
    }

    /// What the parser found, besides the octets and where the fields stand in them.
    struct Found {
        let method: Method
        let target: Range<Int>
        /// The path without the slash at its start; nil where there is none.
        let path: Range<Int>?
        let query: Range<Int>
        let isServerWide: Bool
        let isHTTP10: Bool
        let bodyLength: BodyLength
        let keepsAlive: Bool
        let expectsContinue: Bool
        /// An expectation that nobody can meet.
        let expectsOther: Bool
        var fieldCount = 0
        /// A bit for the length of each field's name; the last one is for all that are longer.
        var nameLengths: UInt64 = 0
        var byteCount = 0
    }

    /// All that a head consists of, in one piece of memory: what was found, where each field stands, the octets.
    final class Parts: ManagedBuffer<Found, FieldSpan> {
        static func make(_ found: consuming Found, _ fields: ArraySlice<FieldSpan>, _ bytes: UnsafeRawBufferPointer)
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
    /// - Throws: the refusal that the text would earn; a text without an end is `.malformed(.endOfInput)`.
    public init(parsing text: String) throws(RefusedHead) {
        var parser = RequestParser(limits: MessageLimits())
        let progress = Array(text.utf8).withUnsafeBytes { parser.parse($0) }
        switch progress {
        case .complete(let head, _): self = head
        case .refused(let refusal): throw RefusedHead(refusal: refusal)
        case .incomplete: throw RefusedHead(refusal: .malformed(.endOfInput))
        }
    }
}

/// Why a text is no head.
public struct RefusedHead: Error, Hashable {
    /// What a client would be told.
    public var refusal: Refusal
}
