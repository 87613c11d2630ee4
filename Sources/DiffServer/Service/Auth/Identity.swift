import DiffSessions
import HTTPCore
import SnapshotKit

/// Who makes a request. Indirect, since it is passed on often.
package indirect enum Identity: Sendable {
    /// Anyone, where no credentials are needed, such as on the loopback without keys.
    case anyone
    /// Nobody known, where credentials are needed: reads public sessions, and does nothing else.
    case anonymous
    /// A writer with a key, for sessions whose names start with a prefix.
    case writer(KeyRing.Key)
    case client(Token, TokenSignature)

    /// The owner of a session's idempotency keys. A client may repeat a request with a new token for the same client.
    func name(in session: String) -> String { name(token: session) ?? "" }

    /// The owner of the request's turns and of its views' memory.
    func client(from peer: Peer) -> String { name(token: token?.sessions[0] ?? "") ?? "peer:" + peer.address }

    /// The key, or the token's client or else its session; nil without credentials.
    private func name(token session: String) -> String? {
        switch self {
        case .anyone, .anonymous: nil
        case .writer(let key): "key:" + key.name
        case .client(let token, _): token.client.map { "client:" + $0 } ?? "token:" + session
        }
    }

    /// The rate limit's bucket: each token has its own, and each address without credentials.
    func bucket(of peer: Peer) -> String {
        switch self {
        case .anyone: ""
        case .anonymous: client(from: peer)
        case .writer(let key): "key:" + key.name
        case .client(_, let signature): "token:" + signature.text
        }
    }

    /// The name to log; nil for `anyone`.
    var logged: String? {
        switch self {
        case .anyone, .anonymous: nil
        case .writer(let key): "key:" + key.name
        case .client(let token, _): token.client.map { "token:" + $0 } ?? "token"
        }
    }

    package var token: Token? { if case .client(let token, _) = self { token } else { nil } }

    /// Whether it has any permission for a session.
    func covers(_ session: String) -> Bool {
        switch self {
        case .anyone, .anonymous: true
        case .writer(let key): session.utf8.starts(with: key.prefix.utf8)
        case .client(let token, _): token.sessions.contains(session)
        }
    }

    /// Whether it has a permission for a session; nil for several, which are checked one by one later.
    func has(_ permission: Permission, session: String?) -> Bool {
        switch (self, permission) {
        case (.anyone, _), (.anonymous, .read), (.writer, .operate), (.writer, .compute), (.writer, .list): true
        case (.writer(let key), .survey): key.prefix.isEmpty
        case (.writer, .read), (.writer, .edit), (.writer, .write): session.map(covers) ?? true
        case (.client(let token, _), .read): session.map(covers) ?? true && token.scopes.contains(.read)
        case (.client(let token, _), .edit): session.map(covers) == true && token.mayEdit
        case (.client, .write), (.client, .operate), (.client, .survey), (.client, .compute), (.client, .list),
            (.anonymous, _):
            false
        }
    }

    var isAnonymous: Bool { if case .anonymous = self { true } else { false } }

    package var isWriter: Bool { if case .writer = self { true } else { false } }

    /// Whether it has a key or a token, which may be withdrawn.
    var hasCredentials: Bool { isWriter || token != nil }

    /// Whether it may send whole states as well as edits.
    var maySendStates: Bool { if case .client = self { false } else { true } }

}

/// What a caller needs for an endpoint that is not open to all.
enum Permission: Sendable {
    /// Operating the server: a key, or a program on this machine.
    case operate
    /// Seeing what is done to any session: a key without a prefix.
    case survey
    /// Work without a session: any key.
    case compute
    /// Listing sessions: any key, which sees the sessions with its prefix.
    case list
    case read
    /// Editing a session; with a key, also posting whole states.
    case edit
    /// Creating, replacing or deleting a session, or minting tokens for it.
    case write
}
