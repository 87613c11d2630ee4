import FoundationEssentials
import HTTPCore
import SnapshotKit

/// The consent of a list's owner to the edits of one request: first it stands in the session's line, then the hook is
/// called.
final class EditConsent: Consent {
    private let call: Call
    private let hook: ListDefinition.Hook
    private let url: String
    private let calls: HookCalls
    /// Tells this call from others; the same for each try of one request.
    private let id: String
    private let state = Locked(State.outside)

    private enum State {
        case outside
        case inTurn(HookTurn)
        case given(Revision, HookTurn)
    }

    /// Nil where nobody has to agree: to the edits of a key, and to those of a session without a hook.
    ///
    /// - Parameters:
    ///   - key: of a request that may be repeated.
    ///   - body: of the request.
    init?(_ call: Call, key: ReplayWindow.Key?, body: [UInt8]) {
        if case .writer = call.identity { return nil }
        guard let upstream = call.service.upstream, let match = upstream.match(call.session),
            let hook = match.definition.hook, let url = match.hookURL
        else { return nil }
        (self.call, self.hook, self.url, calls) = (call, hook, url, upstream.hooks)
        let request = key.map { Array("\(call.session)\n\($0.writer)\n\($0.key)\n".utf8) + body } ?? Digests.random(32)
        // 24 bytes cannot be told from random ones, and are 32 letters.
        id = "msg_" + Base64URL.encode(Digests.sha256(request).prefix(24))
    }

    var isGiven: Bool { if case .given = state.withLock({ $0 }) { true } else { false } }

    var asked: Revision? { if case .given(let revision, _) = state.withLock({ $0 }) { revision } else { nil } }

    func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, Problem> {
        switch state.withLock({ $0 }) {
        case .outside:
            calls.turn(of: call.session, within: hook.timeout).map { [state] turn in
                state.withLock { $0 = .inTurn(turn) }
            }
        case .inTurn(let turn):
            calls.ask(hook, at: url, id: id, payload(revision, body)).map { [state] _ in
                state.withLock { $0 = .given(revision, turn) }
            }
        case .given: preconditionFailure("who has agreed is not asked again")
        }
    }

    /// `{"session","revision","edits","token"}`.
    ///
    /// - Parameter body: `{"edits":[…]}`, which was read and found good.
    private func payload(_ revision: Revision, _ body: ArraySlice<UInt8>) -> [UInt8] {
        var object = JSONObject(capacity: body.count + 512)
        object.text("session", call.session)
        object.revision("revision", revision)
        object.json("edits", JSONSlice.members(of: Array(body))?["edits"]?.text ?? Array("[]".utf8))
        if case .client = call.identity, let claims = Token.claims(call.head) {
            object.json("token", claims)
        } else {
            object.null("token")
        }
        return object.bytes()
    }
}

extension Token {
    /// The claims of a request's token as they were written, which was checked before.
    fileprivate static func claims(_ head: RequestHead) -> [UInt8]? {
        let parts = (head["authorization"] ?? "").utf8.split(separator: UInt8(ascii: "."))
        return parts.count == 3 ? Base64URL.decode(parts[1]) : nil
    }
}
