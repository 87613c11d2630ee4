/// Everything that can go wrong, in the order of `table`.
package enum ProblemType: Int, CaseIterable, Sendable {
    case malformedRequest, malformedJSON, malformedRevision, unknownParameter, unauthenticated, forbidden,
        sessionNotFound, itemNotFound, sectionNotFound, routeNotFound, methodNotAllowed, notAcceptable, requestTimeout,
        revisionGone, revisionMismatch, sessionExists, contentTooLarge, uriTooLong, unsupportedMediaType,
        unsupportedEncoding, expectationFailed, invalidState, invalidEdit, wrongShape, limitExceeded,
        idempotencyKeyReused, preconditionRequired, tooManyRequests, tooManyStreams, headersTooLarge, internalError,
        unsupportedTransferCoding, httpVersionNotSupported, draining, capacity, storeUnavailable, hasSource,
        sourceUnavailable, editRefused, hookUnavailable

    /// The end of its type's URL (RFC 9457).
    package var name: String { Self.rows[rawValue].name }
    var status: Int { Self.rows[rawValue].status }
    var title: String { Self.rows[rawValue].title }
    /// What it means and what to do, for the problem's page.
    var advice: String { String(Self.rows[rawValue].advice.dropFirst()) }

    package init?(name: some StringProtocol) {
        guard let index = Self.rows.firstIndex(where: { $0.name == name }) else { return nil }
        self.init(rawValue: index)
    }

    private typealias Row = (name: String, status: Int, title: String, advice: String)

    private static let rows = table.split(separator: "\n").reduce(into: [Row]()) { rows, line in
        if line.hasPrefix(" ") { return rows[rows.count - 1].advice += " " + line.trimmed }
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        rows.append((words[0], Int(words[1])!, words[2], ""))
    }

    /// Each type's name, status and title, and below them its advice.
    private static let table = """
        malformed-request 400 The request is malformed
            A header, a query parameter or the path is malformed. The detail names it; correct it and send it again.
        malformed-json 400 The body is not JSON
            The body breaks RFC 8259, holds invalid UTF-8 or a lone surrogate, names a member twice, or nests too
            deeply. `offset` is the byte where the error was found.
        malformed-revision 400 That is not a revision
            A revision is a number, a dash and 16 hexadecimal digits, such as `to` in an earlier answer. Send it back
            unchanged, or leave it out.
        unknown-parameter 400 A query parameter is unknown
            The endpoint has no parameter of that name. Unknown parameters are refused, so that a misspelt one cannot
            change what a request means.
        unauthenticated 401 Credentials are missing or wrong
            Send `Authorization: Bearer` with a key, or with a token that has not expired.
        forbidden 403 That is not allowed
            The credentials are valid, but not for this: it concerns another session, needs a wider scope, or must come
            from this machine.
        session-not-found 404 There is no such session
            It was never created, or it was deleted, expired or evicted. POST its state to its `changes`, or PUT it.
        item-not-found 404 There is no such item
            The session has no item with this id, or none at this place.
        section-not-found 404 There is no such section
            The session has no section with this id, or none at this place.
        route-not-found 404 There is nothing at this path
            `/openapi.json` lists all paths.
        method-not-allowed 405 The method is not allowed here
            The `Allow` header lists the allowed methods.
        not-acceptable 406 None of the accepted media types can be sent
            The detail lists the media types that can be sent.
        request-timeout 408 The request took too long
            The headers or the body did not arrive in time.
        revision-gone 410 That revision is no longer kept
            Ask for the changes since that revision: the answer leads to the head.
        revision-mismatch 412 The session is not at that revision
            Someone else has written in the meantime. `current` is the head: read it, decide again, and send your write
            with that revision.
        session-exists 412 The session already exists
            `If-None-Match: *` allows the request only if the session does not exist yet.
        content-too-large 413 The body is too large
            `limit` is the limit in bytes, both on the wire and inflated.
        uri-too-long 414 The request line is too long
            `limit` is the limit in bytes.
        unsupported-media-type 415 The body's media type is not supported
            Send `Content-Type: application/json`, another type that ends in `+json` and is not a patch, or none; with
            PATCH, `application/merge-patch+json`. With a string as the body, `fetch` sends `text/plain` unless you set
            the header.
        unsupported-encoding 415 The body's encoding is not supported
            Send the body uncompressed, or with `Content-Encoding: gzip`.
        expectation-failed 417 The expectation cannot be met
            The only supported expectation is `100-continue`.
        invalid-state 422 The state is invalid
            `errors` lists what is wrong, each with a JSON Pointer into the body.
        invalid-edit 422 An edit cannot be applied
            `errors` lists what is wrong, each with a JSON Pointer into the body. Nothing was changed.
        wrong-shape 422 The body has the wrong shape
            The detail says which members the body may have.
        limit-exceeded 422 A limit is exceeded
            `limit` is the limit, `actual` what was sent.
        idempotency-key-reused 422 The idempotency key was used for another request
            A key stands for one request: use a new key for another request.
        precondition-required 428 A precondition is required
            This server accepts writes only with `If-Match`, so that none is lost.
        too-many-requests 429 Too many requests
            `Retry-After` says when to try again.
        too-many-streams 429 Too many readers are waiting for this session
            `Retry-After` says when to try again; plain reads still work.
        headers-too-large 431 The headers are too large
            `limit` is the limit.
        internal 500 The server failed
            The detail says which stored record is damaged; otherwise this is a bug in the server. Tell its operator the
            answer's `X-Request-Id`.
        unsupported-transfer-coding 501 The transfer coding is not supported
            The only supported transfer coding is `chunked`.
        http-version-not-supported 505 The HTTP version is not supported
            Speak HTTP/1.1.
        draining 503 The server is shutting down
            Try again in a moment: another process is taking over.
        capacity 503 The server is full
            The server has no room for this now. `Retry-After` says when to try again.
        store-unavailable 503 The store is unavailable
            What needs the store is refused until it is back: ask again after `Retry-After`.
        has-source 409 The list is fetched from its source
            Its state comes from the source that the server's file of lists names: change it there, or send edits;
            without a hook, these take a key. A POST to its `fetch` makes the server fetch it at once.
        source-unavailable 503 The list's source does not answer
            The list has not been fetched yet. `Retry-After` says when the server tries again.
        edit-refused 422 The list's owner refused the edit
            The detail says why. Nothing was changed: put the rows back.
        hook-unavailable 503 The list's owner cannot be asked
            Nothing was changed; `Retry-After` says when to try again, with the same Idempotency-Key.
        """
}
