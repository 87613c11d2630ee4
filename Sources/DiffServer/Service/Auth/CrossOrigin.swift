import HTTPCore

/// Cross-origin resource sharing (the Fetch standard), for the origins that are named and no others.
struct CrossOrigin: Sendable {
    var origins: Set<String>

    private static let exposed =
        "Location, ETag, Retry-After, Preference-Applied, Delta-Base, Diffserver-Expires"
    private static let allowedHeaders =
        "Accept, Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Prefer, Traceparent"

    /// The answer to a preflight; nil if the request is none, or of an origin that is not named.
    func preflight(_ head: RequestHead, allow: String) -> Response? {
        guard head.method == .options, let origin = allowedOrigin(head), head["access-control-request-method"] != nil
        else { return nil }
        return Response(
            status: 204,
            fields: [
                Field("Access-Control-Allow-Origin", origin), Field("Access-Control-Allow-Methods", allow),
                Field("Access-Control-Allow-Headers", Self.allowedHeaders), Field("Access-Control-Max-Age", "600"),
                Field("Vary", "Origin"), Field("Allow", allow),
            ])
    }

    /// Whether a text is an origin of http or https as browsers write it (the URL standard's serialization): scheme and
    /// host in lower case, a port unless it is the scheme's own, nothing behind it. In any other form it would never
    /// equal what a browser sends.
    static func isOrigin(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "http" || parts[0] == "https", parts[1].hasPrefix("//")
        else { return false }
        let standardPort: UInt16 = parts[0] == "http" ? 80 : 443
        var host = parts[1].dropFirst(2)
        if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
            let port = host[host.index(after: colon)...]
            guard let number = UInt16(port), String(number) == port, number != standardPort else { return false }
            host = host[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            let address = host.dropFirst().dropLast().utf8
            return address.count > 2 && address.allSatisfy { isHexadecimal($0) || $0 == UInt8(ascii: ":") }
        }
        // A host that is not ASCII comes as Punycode.
        return !host.isEmpty && host.utf8.allSatisfy(isOfHost)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }

    private static func isOfHost(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Adds what a browser needs to hand an answer to a page.
    func decorate(_ response: inout Response, for head: RequestHead) {
        guard !origins.isEmpty else { return }
        response.fields.append(Field("Vary", "Origin"))
        guard let origin = allowedOrigin(head) else { return }
        response.fields.append(Field("Access-Control-Allow-Origin", origin))
        response.fields.append(Field("Access-Control-Expose-Headers", Self.exposed))
    }

    private func allowedOrigin(_ head: RequestHead) -> String? {
        guard !origins.isEmpty, let origin = head["origin"], origins.contains(origin) else { return nil }
        return origin
    }
}
