import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// An error as clients get it (RFC 9457).
package struct Problem: Error, Sendable {
    package var type: ProblemType
    package var detail: String
    package var errors: [Violation] = []
    /// At which byte a body is not JSON.
    var offset: Int?
    var limit: Int?
    var actual: Int?
    /// The session's head if a precondition failed; `.some(nil)` if there is no session.
    var current: Revision??
    /// Which of several sessions has the problem.
    var session: String?
    /// A shape with which the body would be accepted.
    var shape: ShapeGuess?
    /// Where to look for such a shape.
    var search: ShapeSearch?
    /// Fields of the answer besides its type.
    var fields: [Field] = []

    /// - Parameter retryAfter: seconds to wait before the next try, for statuses that say so.
    package init(
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

    func response(instance: String? = nil) -> Response {
        Response(
            status: type.status, fields: [Field("Content-Type", "application/problem+json")] + fields,
            body: .bytes(object(instance: instance).body()), label: AnswerLabel(type).code, isCompressible: true)
    }

    /// As JSON, on one line.
    func json(instance: String?) -> [UInt8] { object(instance: instance).bytes() }

    private func object(instance: String?) -> JSONObject {
        var object = JSONObject()
        object.text("type", "/problems/\(type.name)")
        object.text("title", type.title)
        object.number("status", type.status)
        object.text("detail", detail)
        object.text("instance", instance)
        object.text("session", session)
        if let current { object.revision("current", current) }
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
        if let shape {
            object.name("shape")
            shape.shape.write(into: &object.writer)
        }
        return object
    }

    /// The problem, with the result of a search for a shape. O(bytes of the body).
    func advised() -> Problem {
        var problem = self
        switch search?.advice() {
        case .shape(let guess, let other):
            problem.shape = guess
            problem.detail = detail.replacing(StateError.exampleOfShape, with: "")
            problem.detail += "; the document looks like ?\(guess.shape.query)"
            if let other { problem.detail += ", or, if these are ids, ?\(other.shape.query)" }
        case .wrap: problem.detail += #"; the document is sent as {"state":…}"#
        case .skip: problem.detail += "; invalid=skip leaves elements without a usable id out"
        case .edits:
            if !detail.contains(#"{"edits":[…]}"#) { problem.detail += #"; edits are sent as {"edits":[…]}"# }
        case nil: break
        }
        return problem
    }
}

extension Problem {
    static func wrongMember(_ pointer: String, _ detail: String) -> Problem {
        Problem(StateError.wrongMember(pointer, detail))
    }
    static func malformed(_ detail: String) -> Problem { Problem(.malformedRequest, detail) }
    static func notPermitted(_ operations: [EditOperation]) -> Problem {
        Problem(.forbidden, "this token does not allow \(operations.map(\.rawValue).joined(separator: ", "))")
    }
    /// Says what the caller's credentials lack, and nothing about the session.
    static func forbidden(_ identity: Identity, _ permission: Permission, _ session: String?) -> Problem {
        let detail =
            switch (identity, permission) {
            case (.client, .read), (.client, .edit):
                session.map(identity.covers) == false
                    ? "this token is not for this session"
                    : "this token does not allow \(permission == .read ? "reading" : "edits"): its scope is not enough"
            case (.client, _): "this requires a key; a token is not enough"
            case (_, .survey): "this key is for sessions whose names start with a prefix: this requires one for all"
            default: "this key is for sessions whose names start with another prefix"
            }
        return Problem(.forbidden, detail)
    }
    static func noSession(_ name: String) -> Problem { Problem(.sessionNotFound, "there is no session \"\(name)\"") }
    static let noCredentials = Problem(.unauthenticated, "send Authorization: Bearer with a key or a token")
    static let revoked = Problem(.unauthenticated, "the token or key was revoked")
    static var crowded: Problem { Problem(.capacity, "too many answers or loads are in flight; try again") }
    static var storeIsSilent: Problem { Problem(.storeUnavailable, "this node does not reach the store; others may") }
    static var draining: Problem { Problem(.draining, "the server is shutting down") }

    /// - Parameter isEdits: whether edits were sent, which the list's source would not hear of.
    static func hasSource(isEdits: Bool) -> Problem {
        let advice = isEdits ? "it has no hook, so edits need a key" : "only {\"edits\":[…]} is accepted"
        return Problem(.hasSource, "this list is fetched from its source: \(advice)")
    }

    /// One line for an operator.
    package var summary: String {
        guard let first = errors.first, first.detail != detail || !first.pointer.isEmpty else { return detail }
        let rest = first.detail == detail ? ", at \(first.pointer)" : " (\(first.pointer): \(first.detail))"
        return detail + rest
    }

    /// The same, with the id of the element and the byte of the first error.
    package var locatedSummary: String {
        let id = errors.first?.elementID.map { ", id \"\($0)\"" }
        let byte = errors.first?.offset.map { ", byte \($0)" }
        return summary + (id ?? "") + (byte ?? "")
    }

    package init(_ error: SessionError) {
        switch error {
        case .noSession(let name): self = .noSession(name)
        case .mismatch(let current):
            self.init(.revisionMismatch, current.map { "the session is at \($0.text)" } ?? "the session does not exist")
            self.current = .some(current)
        case .conditionRequired:
            self.init(.preconditionRequired, "send If-Match with the revision that this write is based on")
        case .exists(let current): self.init(.sessionExists, "the session is at \(current.text)")
        case .hasSource(let isEdits): self = .hasSource(isEdits: isEdits)
        case .keyReused(let key): self.init(.idempotencyKeyReused, "the key \"\(key)\" was used for another request")
        case .unreadable(let error): self.init(error)
        case .edits(let error): self.init(error)
        case .notPermitted(let operations): self = .notPermitted(EditOperation.allCases.filter(operations.contains))
        }
    }

    /// A conflict never gets here: the operation is tried again.
    package init(_ failure: StoreFailure) {
        switch failure {
        case .conflict: self.init(.internalError, "a conflict was not resolved")
        case .capacity: self.init(.capacity, "this state is larger than the server's memory for states")
        case .crowded: self = .crowded
        case .full:
            self.init(
                .capacity, "the store has reached --store-max-size: delete sessions, or wait until some have ended",
                retryAfter: 60)
        case .damaged(let name):
            // No Retry-After: it does not heal.
            self.init(
                .internalError,
                "the stored record of \"\(name)\" is damaged; a PUT of its state or a DELETE, without conditions, "
                    + "replaces it")
        case .unavailable(let reason): self.init(.storeUnavailable, "the store is unavailable: \(reason)")
        }
    }

    package init(_ failure: TransactionFailure, of name: String) {
        switch failure {
        case .refused(let error): self.init(error)
        case .store(let failure): self.init(failure)
        case .source(let failure): self.init(failure, of: name)
        case .consent(let failure): self.init(failure)
        case .revoked: self = .revoked
        case .notPublic: self = .noCredentials
        }
    }

    package init(_ failure: SourceFailure, of name: String) {
        switch failure {
        case .missing: self = .noSession(name)
        case .unavailable(let seconds):
            self.init(.sourceUnavailable, "the source of this list did not answer with a list", retryAfter: seconds)
        case .crowded: self.init(.capacity, "too many lists are being fetched")
        case .store(let failure): self.init(failure)
        }
    }

    package init(_ failure: ConsentFailure) {
        switch failure {
        case .refused(let detail): self.init(.editRefused, detail ?? "the list's owner refused it")
        case .busy: self.init(.hookUnavailable, "too many edits are waiting for the list's owner; try again")
        case .unavailable(let seconds):
            let detail = "the list's owner could not be asked; nothing was changed"
            self.init(.hookUnavailable, detail, retryAfter: min(seconds ?? 1, 3600))
        case .leaseFailed(let reason): self.init(StoreFailure.unavailable(reason))
        }
    }

    package init(_ end: SessionEnd, of name: String) {
        switch end {
        case .deleted: self.init(.sessionNotFound, "the session \"\(name)\" was deleted")
        case .expired: self.init(.sessionNotFound, "the session \"\(name)\" expired")
        case .evicted: self.init(.sessionNotFound, "the session \"\(name)\" was evicted to make room")
        case .revoked: self = .revoked
        }
    }

    package init(_ error: StateError) {
        switch error {
        case .unwanted:
            self.init(.forbidden, #"a token allows only edits, as {"edits":[…]}; a whole state requires a key"#)
        case .json(let error):
            let detail = error.isOfEmptyText ? "the body is empty, but JSON is expected" : error.description
            self.init(.malformedJSON, detail)
            offset = error.offset
        case .wrongShape(let violations): self.init(.wrongShape, violations)
        case .invalid(let violations): self.init(.invalidState, violations)
        case .limitExceeded(let what, let limit, let actual, let pointer):
            let option = Self.options[what].map { " (\($0))" } ?? ""
            let detail = "at most \(limit) \(what) are allowed\(option)"
            self.init(
                .limitExceeded, detail, limit: limit, actual: actual,
                errors: [Violation(pointer: pointer, code: "limit-exceeded", detail: detail)])
        }
    }

    /// The options that set the limits of states and edits, by the limited thing.
    private static let options = [
        "items": "--max-items", "sections": "--max-sections", "edits": "--max-edits",
        "levels of items": "--max-nesting",
    ]

    /// The same, with a search for a shape if one may be missing: because the list, or the ids, are elsewhere.
    func searching(_ search: ShapeSearch?) -> Problem {
        guard type == .wrongShape || type == .invalidState else { return self }
        let documents = ["", "/state", "/old", "/new"]
        let isMissing = errors.contains { error in
            switch error.code {
            case "unknown-member", "missing-id", "missing-sections", "wrong-shape", "not-an-array": true
            // Only a shape is told of these.
            case "not-found", "not-an-object", "missing-items": true
            // The first element is no item at all.
            case "invalid-id":
                search?.tried != nil || documents.contains { ["\($0)/0", "\($0)/items/0"].contains(error.pointer) }
            // In the document, rather than in a value of a state.
            case "wrong-type": documents.contains(error.pointer)
            default: false
            }
        }
        var problem = self
        if isMissing { problem.search = search }
        return problem
    }

    package init(_ error: EditError) {
        switch error {
        case .json(let error): self.init(StateError.json(error))
        case .limitExceeded(let what, let limit, let actual, let pointer):
            self.init(StateError.limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer))
        case .wrongShape(let violations), .refused(let violations): self.init(.invalidEdit, violations)
        }
    }

    /// Says the first violation, and how many more there are.
    private init(_ type: ProblemType, _ violations: [Violation]) {
        let more = violations.count > 1 ? "; and \(violations.count - 1) more" : ""
        self.init(type, (violations.first?.detail ?? "") + more, errors: violations)
    }

    package init(_ refusal: Refusal) {
        switch refusal {
        case .malformed(let reason): self.init(.malformedRequest, reason.rawValue)
        case .malformedContent: self.init(.malformedRequest, "the body is not gzip")
        case .uriTooLong(let limit):
            self.init(.uriTooLong, "the request line has more than \(limit) bytes", limit: limit)
        case .headersTooLarge(let limit, let unit):
            let amount = unit == .octets ? "more than \(limit) bytes of headers" : "more than \(limit) headers"
            self.init(.headersTooLarge, amount, limit: limit)
        case .unsupportedTransferCoding:
            self.init(.unsupportedTransferCoding, "the only supported transfer coding is chunked")
        case .unsupportedVersion: self.init(.httpVersionNotSupported, "this server speaks HTTP/1.1")
        case .expectationFailed: self.init(.expectationFailed, "the only supported expectation is 100-continue")
        case .timeout(let part):
            self.init(.requestTimeout, part == .head ? "the headers took too long" : "the body arrived too slowly")
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
