import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews

/// Mints a client's token for sessions, which need not exist yet.
enum PostTokens {
    /// For the session in the path, or else those in the body.
    @Sendable
    static func prepare(_ call: Call) -> Answer { { (body) throws(Problem) in try mint(body, call) } }

    private static func mint(_ body: consuming [UInt8], _ call: Call) throws(Problem) -> Reply {
        let required = call.named == nil ? ["sessions"] : []
        let members = Envelope.Members(
            states: [], values: ["ttl", "scope", "view", "client_id"] + required, required: required)
        let envelope: Envelope
        do throws(StateError) { envelope = try Envelope(json: body, members: members) } catch { throw Problem(error) }
        let sessions = if let name = call.named { [name] } else { try sessions(envelope) }
        for name in sessions where !call.identity.has(.write, session: name) {
            throw Problem(.forbidden, "this key does not cover \"\(name)\"")
        }
        let token = try token(envelope, for: sessions)
        let signed = call.service.access.secrets.signed(token)
        guard signed.utf8.count <= Token.maxBytes else {
            throw Problem(
                .limitExceeded, "a token may have at most \(Token.maxBytes) bytes: shorten the view",
                limit: Token.maxBytes, actual: signed.utf8.count)
        }
        call.service.journal.log(
            "token minted",
            [
                ("who", .ifAny(call.identity.logged)), ("sessions", .text(sessions.joined(separator: ","))),
                ("client_id", .ifAny(token.client)), ("jti", .ifAny(token.id)),
            ])
        var object = JSONObject()
        object.text("token", signed)
        object.text("expiresAt", token.expires.text)
        object.text("jti", token.id)
        return .now(Response(status: 201, json: object.body(), isCompressible: false))
    }

    private static func sessions(_ envelope: Envelope) throws(Problem) -> [String] {
        guard let names = envelope.values["sessions"]?.strings, !names.isEmpty else {
            throw .wrongMember("/sessions", "sessions must be an array of 1 to \(Token.maxSessions) names")
        }
        guard names.count <= Token.maxSessions else {
            throw Problem(
                StateError.limitExceeded(
                    what: "sessions", limit: Token.maxSessions, actual: names.count,
                    pointer: "/sessions/\(Token.maxSessions)"))
        }
        if let index = names.firstIndex(where: { !SessionName.isWhole($0) }) {
            throw .wrongMember("/sessions/\(index)", SessionName.rule)
        }
        return names
    }

    private static func token(_ envelope: Envelope, for sessions: [String]) throws(Problem) -> Token {
        let seconds = envelope.values["ttl"].map { $0.integer ?? 0 } ?? 3600
        guard (1...Session.Settings.maxTimeToLive).contains(seconds) else {
            throw .wrongMember(
                "/ttl", "ttl must be a whole number of seconds from 1 to \(Session.Settings.maxTimeToLive)")
        }
        let words = envelope.values["scope"].map { $0.strings ?? [] } ?? [Token.Scope.read.text]
        let scopes = words.compactMap { Token.Scope($0) }
        guard !scopes.isEmpty, scopes.count == words.count else {
            throw .wrongMember("/scope", "scope must be an array of \(Token.Scope.words)")
        }
        let view = try view(envelope)
        let client = envelope.values["client_id"].map { $0.string ?? "" }
        if let client, !Token.clientBytes.contains(client.utf8.count) {
            throw .wrongMember("/client_id", "client_id must be a string of 1 to \(Token.clientBytes.upperBound) bytes")
        }
        let token = Token(
            sessions: sessions, scopes: Set(scopes), expires: WallTime.after(.seconds(seconds)),
            made: WallTime.milliseconds, id: Token.newID(), view: view, client: client)
        guard token.view == nil || !token.mayEdit else {
            throw .wrongMember("/view", "a token with a view may only have the scope read")
        }
        return token
    }

    /// The view that every answer to the token goes through.
    private static func view(_ envelope: Envelope) throws(Problem) -> StateView? {
        guard let value = envelope.values["view"] else { return nil }
        do throws(StateViewError) { return try StateView(value, at: "/view", hidesContents: true) } catch {
            guard case .invalid(let violation) = error else { throw Problem(error, "view") }
            throw .wrongMember(violation.pointer, violation.detail)
        }
    }
}

/// Revokes tokens of a session, on all nodes of the store, and ends their streams and held requests.
enum DeleteTokens {
    /// The one with the id in the path, or else all that were made before now.
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let id = call.captures.value(of: "jti")
        if let id, !Token.clientBytes.contains(id.utf8.count) {
            throw .malformed("a token's jti has at most \(Token.clientBytes.upperBound) bytes")
        }
        let name = id.map { "\(call.session)/\($0)" } ?? call.session
        guard call.service.table.revocations.hasRoom(for: name) else {
            throw Problem(
                .capacity, "too many tokens, or those of too many sessions, were revoked in the last seven days",
                limit: Revocations.limit)
        }
        call.times?.enter(.store)
        let progress = call.service.store.revokeTokens(of: name, upTo: WallTime.milliseconds, on: call.loop)
        return .later { pending in
            progress.whenDone { result in
                call.times?.enter(.compute)
                // A token minted after this answer is valid, so it must not be made in the same millisecond.
                call.loop.schedule(after: .milliseconds(1)) {
                    call.answer(pending) { () throws(Problem) in
                        try call.get(result)
                        call.service.journal.log(
                            "tokens revoked",
                            [
                                ("who", .ifAny(call.identity.logged)), ("session", .text(call.session)),
                                ("jti", .ifAny(id)),
                            ])
                        return .now(Response(status: 204))
                    }
                }
            }
        }
    }
}
