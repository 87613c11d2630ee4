/// Everything that can go wrong, by the name at the end of its type (RFC 9457).
enum ProblemType: String, CaseIterable, Sendable {
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
        case .sessionExists: (412, "The session exists")
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
        case .tooManyStreams: (429, "Too many readers wait for this session")
        case .headersTooLarge: (431, "The headers are too large")
        case .internalError: (500, "The server failed")
        case .unsupportedTransferCoding: (501, "The transfer coding is not supported")
        case .httpVersionNotSupported: (505, "The HTTP version is not supported")
        case .draining: (503, "The server is shutting down")
        case .capacity: (503, "The server is full")
        case .storeUnavailable: (503, "The store is unavailable")
        case .hasSource: (409, "The list fetches itself")
        case .sourceUnavailable: (503, "The source of the list does not answer")
        case .editRefused: (422, "The list's owner refuses the edit")
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
                + "too deeply. `offset` is the byte at which it was noticed."
        case .malformedRevision:
            "A revision is a number, a dash and 16 hexadecimal digits, as an earlier answer gave it in `to`. "
                + "Send it unchanged, or send none."
        case .unknownParameter:
            "The endpoint knows no parameter of that name. It is refused, since a misspelt parameter must not "
                + "mean something else."
        case .unauthenticated: "Send `Authorization: Bearer` with a key, or with a token that has not expired."
        case .forbidden:
            "The credentials are good, but not for this: another session, a larger scope, or a request that "
                + "does not come from this machine."
        case .sessionNotFound:
            "It was never created, was deleted, expired, or was evicted. POST its state to its "
                + "`changes`, or PUT it."
        case .itemNotFound: "The session has no item with this id, or none at this place."
        case .sectionNotFound: "The session has no section with this id, or none at this place."
        case .routeNotFound: "`/openapi.json` lists all paths."
        case .methodNotAllowed: "`Allow` lists those that are."
        case .notAcceptable: "The detail lists those that can."
        case .requestTimeout: "Its headers or its body did not arrive in time."
        case .revisionGone: "Ask for changes since it: the answer leads to the head."
        case .revisionMismatch:
            "Someone else wrote meanwhile. `current` is the head: read it, decide again, and send it with the "
                + "new revision."
        case .sessionExists: "`If-None-Match: *` asked for a session that does not exist yet."
        case .contentTooLarge: "`limit` is the limit in bytes, on the wire and inflated."
        case .uriTooLong: "`limit` is the limit in bytes."
        case .unsupportedMediaType: "Send `application/json`, any type that ends in `+json`, or none."
        case .unsupportedEncoding: "Send it as it is, or with `Content-Encoding: gzip`."
        case .expectationFailed: "The only expectation is `100-continue`."
        case .invalidState: "`errors` lists what is wrong, each with a JSON Pointer into the body."
        case .invalidEdit: "`errors` lists what is wrong, each with a JSON Pointer into the body. Nothing was changed."
        case .wrongShape: "The detail says which members it may have."
        case .limitExceeded: "`limit` is the limit, `actual` what was sent."
        case .idempotencyKeyReused: "A key stands for one request: make a new one for another."
        case .preconditionRequired: "This server takes writes only with `If-Match`, so that none is lost."
        case .tooManyRequests: "`Retry-After` says when to go on."
        case .tooManyStreams: "`Retry-After` says when to try again; plain reads still work."
        case .headersTooLarge: "`limit` is the limit."
        case .internalError: "This is a bug in the server. The request may be tried again."
        case .unsupportedTransferCoding: "Only `chunked` is."
        case .httpVersionNotSupported: "Speak HTTP/1.1."
        case .draining: "Try again in a moment: another process takes over."
        case .capacity: "There is no room for this state, now."
        case .storeUnavailable: "Writes are refused while it lasts; `Retry-After` says when to try again."
        case .hasSource:
            "Its state comes from the source that the server's file of lists names: change it there, or send edits. "
                + "POST to its `fetch` has the server look at once."
        case .sourceUnavailable: "Nobody has fetched it yet. `Retry-After` says when the server tries again."
        case .editRefused: "The detail says why. Nothing was changed: put the rows back."
        case .hookUnavailable:
            "Nothing was changed; `Retry-After` says when to try again, with the same Idempotency-Key."
        }
    }
}
