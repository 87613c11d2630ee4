/// Everything that can go wrong, by the name at the end of its type (RFC 9457).
package enum ProblemType: String, CaseIterable, Sendable {
    case malformedRequest = "malformed-request"
    case malformedJSON = "malformed-json"
    case malformedRevision = "malformed-revision"
    case unknownParameter = "unknown-parameter"
    case unauthenticated
    case forbidden
    case sessionNotFound = "session-not-found"
    case itemNotFound = "item-not-found"
    case sectionNotFound = "section-not-found"
    case routeNotFound = "route-not-found"
    case methodNotAllowed = "method-not-allowed"
    case notAcceptable = "not-acceptable"
    case requestTimeout = "request-timeout"
    case revisionGone = "revision-gone"
    case revisionMismatch = "revision-mismatch"
    case sessionExists = "session-exists"
    case contentTooLarge = "content-too-large"
    case uriTooLong = "uri-too-long"
    case unsupportedMediaType = "unsupported-media-type"
    case unsupportedEncoding = "unsupported-encoding"
    case expectationFailed = "expectation-failed"
    case invalidState = "invalid-state"
    case invalidEdit = "invalid-edit"
    case wrongShape = "wrong-shape"
    case limitExceeded = "limit-exceeded"
    case idempotencyKeyReused = "idempotency-key-reused"
    case preconditionRequired = "precondition-required"
    case tooManyRequests = "too-many-requests"
    case tooManyStreams = "too-many-streams"
    case headersTooLarge = "headers-too-large"
    case internalError = "internal"
    case unsupportedTransferCoding = "unsupported-transfer-coding"
    case httpVersionNotSupported = "http-version-not-supported"
    case draining
    case capacity
    case storeUnavailable = "store-unavailable"
    case hasSource = "has-source"
    case sourceUnavailable = "source-unavailable"
    case editRefused = "edit-refused"
    case hookUnavailable = "hook-unavailable"

    var status: Int { summary.status }
    var title: String { summary.title }

    private var summary: (status: Int, title: String) {
        switch self {
        case .malformedRequest: (400, "The request is malformed")
        case .malformedJSON: (400, "The body is not JSON")
        case .malformedRevision: (400, "That is not a revision")
        case .unknownParameter: (400, "A query parameter is unknown")
        case .unauthenticated: (401, "Credentials are missing or wrong")
        case .forbidden: (403, "That is not allowed")
        case .sessionNotFound: (404, "There is no such session")
        case .itemNotFound: (404, "There is no such item")
        case .sectionNotFound: (404, "There is no such section")
        case .routeNotFound: (404, "There is nothing at this path")
        case .methodNotAllowed: (405, "The method is not allowed here")
        case .notAcceptable: (406, "None of the accepted media types can be sent")
        case .requestTimeout: (408, "The request took too long")
        case .revisionGone: (410, "That revision is no longer kept")
        case .revisionMismatch: (412, "The session is not at that revision")
        case .sessionExists: (412, "The session already exists")
        case .contentTooLarge: (413, "The body is too large")
        case .uriTooLong: (414, "The request line is too long")
        case .unsupportedMediaType: (415, "The body's media type is not supported")
        case .unsupportedEncoding: (415, "The body's encoding is not supported")
        case .expectationFailed: (417, "The expectation cannot be met")
        case .invalidState: (422, "The state is invalid")
        case .invalidEdit: (422, "An edit cannot be applied")
        case .wrongShape: (422, "The body has the wrong shape")
        case .limitExceeded: (422, "A limit is exceeded")
        case .idempotencyKeyReused: (422, "The idempotency key was used for another request")
        case .preconditionRequired: (428, "A precondition is required")
        case .tooManyRequests: (429, "Too many requests")
        case .tooManyStreams: (429, "Too many readers are waiting for this session")
        case .headersTooLarge: (431, "The headers are too large")
        case .internalError: (500, "The server failed")
        case .unsupportedTransferCoding: (501, "The transfer coding is not supported")
        case .httpVersionNotSupported: (505, "The HTTP version is not supported")
        case .draining: (503, "The server is shutting down")
        case .capacity: (503, "The server is full")
        case .storeUnavailable: (503, "The store is unavailable")
        case .hasSource: (409, "The list is fetched from its source")
        case .sourceUnavailable: (503, "The list's source does not answer")
        case .editRefused: (422, "The list's owner refused the edit")
        case .hookUnavailable: (503, "The list's owner cannot be asked")
        }
    }

    /// What it means and what to do, for the problem's page.
    var advice: String {
        switch self {
        case .malformedRequest:
            "A header, a query parameter or the path is malformed. The detail names it; correct it and "
                + "send it again."
        case .malformedJSON:
            "The body breaks RFC 8259, holds invalid UTF-8 or a lone surrogate, names a member twice, or nests "
                + "too deeply. `offset` is the byte where the error was found."
        case .malformedRevision:
            "A revision is a number, a dash and 16 hexadecimal digits, such as `to` in an earlier answer. "
                + "Send it back unchanged, or leave it out."
        case .unknownParameter:
            "The endpoint has no parameter of that name. Unknown parameters are refused, so that a misspelt one "
                + "cannot change what a request means."
        case .unauthenticated: "Send `Authorization: Bearer` with a key, or with a token that has not expired."
        case .forbidden:
            "The credentials are valid, but not for this: it concerns another session, needs a wider scope, or "
                + "must come from this machine."
        case .sessionNotFound:
            "It was never created, or it was deleted, expired or evicted. POST its state to its "
                + "`changes`, or PUT it."
        case .itemNotFound: "The session has no item with this id, or none at this place."
        case .sectionNotFound: "The session has no section with this id, or none at this place."
        case .routeNotFound: "`/openapi.json` lists all paths."
        case .methodNotAllowed: "The `Allow` header lists the allowed methods."
        case .notAcceptable: "The detail lists the media types that can be sent."
        case .requestTimeout: "The headers or the body did not arrive in time."
        case .revisionGone: "Ask for the changes since that revision: the answer leads to the head."
        case .revisionMismatch:
            "Someone else has written in the meantime. `current` is the head: read it, decide again, and send "
                + "your write with that revision."
        case .sessionExists: "`If-None-Match: *` allows the request only if the session does not exist yet."
        case .contentTooLarge: "`limit` is the limit in bytes, both on the wire and inflated."
        case .uriTooLong: "`limit` is the limit in bytes."
        case .unsupportedMediaType:
            "Send `Content-Type: application/json`, another type that ends in `+json` and is not a patch, or none. "
                + "With a string as the body, `fetch` sends `text/plain` unless you set the header."
        case .unsupportedEncoding: "Send the body uncompressed, or with `Content-Encoding: gzip`."
        case .expectationFailed: "The only supported expectation is `100-continue`."
        case .invalidState: "`errors` lists what is wrong, each with a JSON Pointer into the body."
        case .invalidEdit: "`errors` lists what is wrong, each with a JSON Pointer into the body. Nothing was changed."
        case .wrongShape: "The detail says which members the body may have."
        case .limitExceeded: "`limit` is the limit, `actual` what was sent."
        case .idempotencyKeyReused: "A key stands for one request: use a new key for another request."
        case .preconditionRequired: "This server accepts writes only with `If-Match`, so that none is lost."
        case .tooManyRequests: "`Retry-After` says when to try again."
        case .tooManyStreams: "`Retry-After` says when to try again; plain reads still work."
        case .headersTooLarge: "`limit` is the limit."
        case .internalError: "This is a bug in the server. You may try the request again."
        case .unsupportedTransferCoding: "The only supported transfer coding is `chunked`."
        case .httpVersionNotSupported: "Speak HTTP/1.1."
        case .draining: "Try again in a moment: another process is taking over."
        case .capacity: "The server has no room for this now. `Retry-After` says when to try again."
        case .storeUnavailable: "Writes are refused until the store is back; `Retry-After` says when to try again."
        case .hasSource:
            "Its state comes from the source that the server's file of lists names: change it there, or send edits. "
                + "A POST to its `fetch` makes the server fetch it at once."
        case .sourceUnavailable: "The list has not been fetched yet. `Retry-After` says when the server tries again."
        case .editRefused: "The detail says why. Nothing was changed: put the rows back."
        case .hookUnavailable:
            "Nothing was changed; `Retry-After` says when to try again, with the same Idempotency-Key."
        }
    }
}
