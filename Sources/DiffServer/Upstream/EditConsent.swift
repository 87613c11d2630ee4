import FoundationEssentials
import HTTPCore
import SnapshotKit

/// The consent of a list's owner to the edits of one request: it waits in the session's queue, and then calls the hook.
final class EditConsent: Consent {
    private let call: Call
    private let hook: ListDefinition.Hook
    private let url: String
    /// The list's name in the file.
    private let list: String
    private let calls: HookCalls
    /// Identifies the call; the same for each try of one request.
    private let id: String
    private let state = Locked(State.outside)

    private enum State {
        case outside
        case inTurn(HookTurn)
        case given(Revision, HookTurn)
    }

    /// Nil if nobody has to agree: to edits with a key, and those of a session without a hook.
    ///
    /// - Parameter key: of a request that may be repeated.
    init?(_ call: Call, key: ReplayWindow.Key?, body: [UInt8]) {
        if case .writer = call.identity { return nil }
        guard let upstream = call.service.upstream, let match = upstream.match(call.session),
            let hook = match.definition.hook, let url = match.hookURL
        else { return nil }
        (self.call, self.hook, self.url, calls) = (call, hook, url, upstream.hooks)
        list = match.definition.name.text
        let request = key.map { Array("\(call.session)\n\($0.writer)\n\($0.key)\n".utf8) + body } ?? Digests.random(32)
        // 24 bytes, which are 32 letters and cannot be told from random ones.
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
            calls.ask(hook, of: call.session, list, at: url, id: id, payload(revision, body)).map { [state] _ in
                state.withLock { $0 = .given(revision, turn) }
            }
        case .given: preconditionFailure("whoever has agreed is not asked again")
        }
    }

    /// `{"session","revision","edits","token"}`.
    ///
    /// - Parameter body: `{"edits":[…]}`, checked before.
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
    /// The claims of a request's token, which was checked before, as they are written.
    fileprivate static func claims(_ head: RequestHead) -> [UInt8]? {
        let parts = (head["authorization"] ?? "").utf8.split(separator: UInt8(ascii: "."))
        return parts.count == 3 ? Base64URL.decode(parts[1]) : nil
    }
}
