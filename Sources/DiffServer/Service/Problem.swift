import HTTPCore
import SnapshotKit

/// An error as clients get it (RFC 9457).
struct Problem: Error, Sendable {
    var type: ProblemType
    var detail: String
    var errors: [Violation] = []
    /// In the body, in bytes.
    var offset: Int?
    var limit: Int?
    var actual: Int?
    /// The session's head if a precondition failed; `.some(nil)` if there is no session.
    var current: Revision??
    /// Which of several sessions has the problem.
    var session: String?
    /// Fields of the answer besides its type.
    var fields: [Field] = []

    /// - Parameter retryAfter: seconds to wait before the next try, for statuses that say so.
    init(
        _ type: ProblemType, _ detail: String, fields: [Field] = [], retryAfter: Int = 1, limit: Int? = nil,
        actual: Int? = nil, errors: [Violation] = []
    ) {
        (self.type, self.detail, self.fields) = (type, detail, fields)
        (self.limit, self.actual, self.errors) = (limit, actual, errors)
        switch type.status {
        case 429, 503: self.fields.append(Field("Retry-After", "\(retryAfter)"))
        case 401: self.fields.append(Field("WWW-Authenticate", "Bearer"))
        default: break
        }
    }

    /// - Parameter instance: the request's path.
    func response(instance: String? = nil) -> Response {
        Response(
            status: type.status, fields: [Field("Content-Type", "application/problem+json")] + fields,
            body: .bytes(json(instance: instance)), isCompressible: true)
    }

    /// As JSON, on one line.
    func json(instance: String?) -> [UInt8] {
        var object = JSONObject()
        object.text("type", "/problems/\(type.rawValue)")
        object.text("title", type.title)
        object.number("status", type.status)
        object.text("detail", detail)
        object.text("instance", instance)
        object.text("session", session)
        if let current {
            if let current { object.text("current", current.text) } else { object.null("current") }
        }
        object.number("offset", offset)
        object.number("limit", limit)
        object.number("actual", actual)
        if !errors.isEmpty {
            object.list("errors", errors) { list, error in
                list.object {
                    $0.text("pointer", error.pointer)
                    $0.text("code", error.code)
                    $0.text("detail", error.detail)
                }
            }
        }
        return object.bytes()
    }
}

// MARK: Problems of more than one place

extension Problem {
    static func malformed(_ detail: String) -> Problem { Problem(.malformedRequest, detail) }
    static let statesNeedKey = Problem(.forbidden, "a token allows edits only; to post a whole state takes a key")
    static func notPermitted(_ operations: [EditOperation]) -> Problem {
        Problem(.forbidden, "this token does not allow \(operations.map(\.rawValue).joined(separator: ", "))")
    }
    /// Says what the caller's credentials lack, and nothing about the session.
    static func forbidden(_ identity: Identity, _ permission: Permission, _ session: String?) -> Problem {
        guard case .client(let token, _) = identity else {
            return Problem(.forbidden, "this key is for sessions whose names start with another prefix")
        }
        switch permission {
        case .operate, .compute, .list, .write: return Problem(.forbidden, "this requires a key; a token is not enough")
        case .read, .edit:
            let isOfSession = session.map(token.sessions.contains) ?? true
            guard isOfSession else { return Problem(.forbidden, "this token is not for this session") }
            let action = if case .read = permission { "reading" } else { "edits" }
            return Problem(.forbidden, "this token does not allow \(action): its scope is not enough")
        }
    }
    static func noSession(_ name: String) -> Problem { Problem(.sessionNotFound, "there is no session \"\(name)\"") }
    static func deleted(_ name: String) -> Problem { Problem(.sessionNotFound, "the session \"\(name)\" was deleted") }
    static func expired(_ name: String) -> Problem { Problem(.sessionNotFound, "the session \"\(name)\" expired") }
    static func evicted(_ name: String) -> Problem {
        Problem(.sessionNotFound, "the session \"\(name)\" was evicted to make room")
    }

    static var crowded: Problem { Problem(.capacity, "too many answers or loads are in flight; try again") }

    static func hasSource(_ name: String) -> Problem {
        Problem(.hasSource, "\"\(name)\" is fetched from its source; only edits are accepted")
    }

    /// For an operator, on one line.
    var summary: String {
        guard let first = errors.first, first.detail != detail || !first.pointer.isEmpty else { return detail }
        return first.detail == detail
            ? "\(detail), at \(first.pointer)" : "\(detail) (\(first.pointer): \(first.detail))"
    }

    /// The problem without a word of a body, for the log: a detail may hold ids, and a pointer names.
    var outline: String {
        guard let first = errors.first else { return detail }
        return errors.count == 1 ? first.code : "\(errors.count) violations, such as \(first.code)"
    }

    init(_ error: SessionError) {
        switch error {
        case .noSession(let name): self = .noSession(name)
        case .mismatch(let current):
            self.init(.revisionMismatch, current.map { "the session is at \($0.text)" } ?? "the session does not exist")
            self.current = .some(current)
        case .conditionRequired:
            self.init(.preconditionRequired, "send If-Match with the revision that this is based on")
        case .exists(let current): self.init(.sessionExists, "the session is at \(current.text)")
        case .hasSource(let name): self = .hasSource(name)
        case .keyReused(let key): self.init(.idempotencyKeyReused, "the key \"\(key)\" stands for another request")
        case .unreadable(let error): self.init(error)
        case .edits(let error): self.init(error)
        case .notPermitted(let operations):
            self = .notPermitted(EditOperation.allCases.filter(operations.contains))
        }
    }

    /// A conflict never gets here: the operation is tried again.
    init(_ failure: StoreFailure) {
        switch failure {
        case .conflict: self.init(.internalError, "a conflict was not resolved")
        case .capacity: self.init(.capacity, "this state is larger than the server's memory for states")
        case .crowded: self = .crowded
        case .damaged(let name): self.init(.storeUnavailable, "the record of \"\(name)\" is damaged", retryAfter: 60)
        case .unavailable(let reason):
            self.init(.storeUnavailable, "the store cannot be reached: \(reason)", retryAfter: 1)
        }
    }

    init(_ error: StateError) {
        switch error {
        case .unwanted: self = .statesNeedKey
        case .json(let error):
            self.init(.malformedJSON, error.description)
            offset = error.offset
        case .wrongShape(let violations):
            self.init(.wrongShape, violations.first?.detail ?? "", errors: violations)
        case .invalid(let violations): self.init(.invalidState, violations)
        case .limitExceeded(let what, let limit, let actual, let pointer):
            let detail = "at most \(limit) \(what) are taken"
            self.init(
                .limitExceeded, detail, limit: limit, actual: actual,
                errors: [Violation(pointer: pointer, code: "limit-exceeded", detail: detail)])
        }
    }

    /// A batch of edits that cannot be read or applied.
    init(_ error: EditError) {
        switch error {
        case .json(let error): self.init(StateError.json(error))
        case .limitExceeded(let what, let limit, let actual, let pointer):
            self.init(StateError.limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer))
        case .wrongShape(let violations), .refused(let violations): self.init(.invalidEdit, violations)
        }
    }

    private init(_ type: ProblemType, _ violations: [Violation]) {
        let detail = violations.count == 1 ? violations[0].detail : "\(violations.count) violations"
        self.init(type, detail, errors: violations)
    }

    /// What HTTPCore refused.
    init(_ refusal: Refusal) {
        switch refusal {
        case .malformed(let reason): self.init(.malformedRequest, reason.rawValue)
        case .malformedContent: self.init(.malformedRequest, "the body is not gzip")
        case .uriTooLong(let limit):
            self.init(.uriTooLong, "the request line has more than \(limit) bytes", limit: limit)
        case .headersTooLarge(let limit, let unit):
            let amount = unit == .octets ? "more than \(limit) bytes of headers" : "more than \(limit) headers"
            self.init(.headersTooLarge, amount, limit: limit)
        case .unsupportedTransferCoding: self.init(.unsupportedTransferCoding, "the only transfer coding is chunked")
        case .unsupportedVersion: self.init(.httpVersionNotSupported, "this server speaks HTTP/1.1")
        case .expectationFailed: self.init(.expectationFailed, "the only expectation is 100-continue")
        case .timeout(let part):
            self.init(.requestTimeout, part == .head ? "the headers took too long" : "the body came too slowly")
        case .contentTooLarge(let limit, let actual):
            self.init(.contentTooLarge, "the body has more than \(limit) bytes", limit: limit, actual: actual)
        case .contentTooDense(let ratio):
            self.init(.contentTooLarge, "the body inflates to more than \(ratio) times what was sent")
        case .memoryExhausted: self.init(.capacity, "too many bytes of requests are in flight; try again")
        case .tooManyConnections(let limit): self.init(.capacity, "more than \(limit) connections", limit: limit)
        case .tooManyOfPeer(let limit):
            self.init(.capacity, "more than \(limit) connections from one address", limit: limit)
        }
    }
}
