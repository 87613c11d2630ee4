import FoundationEssentials
import HTTPCore

/// Cross-origin resource sharing (the Fetch standard) for the origins of `--origin`.
package struct CrossOrigin: Sendable {
    var origins: Set<String>

    private static let exposed =
        "Location, ETag, Retry-After, Preference-Applied, Delta-Base, Diffserver-Expires, X-Request-Id"
    private static let allowedHeaders =
        "Accept, Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Prefer, "
        + "Traceparent, X-Request-Id"

    /// For what holds nobody's data, and public sessions: pages of any origin may load it.
    static let anyOrigin = Field("Access-Control-Allow-Origin", "*")

    /// The answer to a preflight, before `decorate`; nil for any other request or origin.
    func preflight(_ head: RequestHead, allow: String) -> Response? {
        guard head.method == .options, allowedOrigin(head) != nil, head["access-control-request-method"] != nil
        else { return nil }
        // Private Network Access: an allowed origin may reach a server on a private network or the loopback.
        let isPrivate = head["access-control-request-private-network"] == "true"
        return Response(
            status: 204,
            fields: (isPrivate ? [Field("Access-Control-Allow-Private-Network", "true")] : []) + [
                Field("Access-Control-Allow-Methods", allow),
                Field("Access-Control-Allow-Headers", Self.allowedHeaders), Field("Access-Control-Max-Age", "600"),
                Field("Allow", allow),
            ])
    }

    /// Whether a text is an http or https origin as browsers send it (the URL standard): scheme and host in lower case,
    /// the port unless it is the scheme's default, and nothing else.
    package static func isOrigin(_ text: String) -> Bool {
        guard let given = URLComponents(string: text), given.scheme == "http" || given.scheme == "https",
            let host = given.encodedHost, given.port != (given.scheme == "http" ? 80 : 443),
            UInt16(exactly: given.port ?? 0) != nil
        else { return false }
        var origin = URLComponents()
        (origin.scheme, origin.encodedHost, origin.port) = (given.scheme, host, given.port)
        // The encoded host, since decoding Punycode depends on ICU, which only tests link.
        let isAddress = host.hasPrefix("[")
        let letters = isAddress ? "[0123456789abcdef:]" : "abcdefghijklmnopqrstuvwxyz0123456789.-_"
        return origin.string == text && host.allSatisfy(letters.contains) && host.utf8.count > (isAddress ? 2 : 0)
    }

    /// Adds the fields that let a page read an answer.
    func decorate(_ response: inout Response, for head: RequestHead) {
        guard !origins.isEmpty, !response.fields.contains(Self.anyOrigin) else { return }
        response.fields.append(Field("Vary", "Origin"))
        guard let origin = allowedOrigin(head) else { return }
        response.fields.append(Field("Access-Control-Allow-Origin", origin))
        response.fields.append(Field("Access-Control-Expose-Headers", Self.exposed))
    }

    /// Lets a page of any origin read an answer about public sessions. Caches may keep it for a moment, so that they
    /// answer a crowd with one request, if `isCacheable` and nothing went wrong.
    static func share(_ response: inout Response, isCacheable: Bool) {
        response.fields.append(anyOrigin)
        response.fields.append(Field("Access-Control-Expose-Headers", exposed))
        let isStream = if case .stream = response.body { true } else { false }
        let isKept = isCacheable && !isStream && (response.status == 200 || response.status == 304)
        response.note(AnswerLabel(isKept ? .public : .noStore))
        response.fields.removeAll { $0.name == "Cache-Control" }
        response.fields.append(
            Field("Cache-Control", isKept ? "public, max-age=1, stale-while-revalidate=10" : "no-store"))
        if isKept { response.fields.append(Field("Vary", "Accept, Accept-Encoding, Authorization")) }
    }

    /// The request fields that `decorate` reads.
    func fields(of head: RequestHead) -> [Field] { allowedOrigin(head).map { [Field("origin", $0)] } ?? [] }

    private func allowedOrigin(_ head: RequestHead) -> String? {
        origins.isEmpty ? nil : head["origin"].flatMap { origins.contains($0) ? $0 : nil }
    }
}
