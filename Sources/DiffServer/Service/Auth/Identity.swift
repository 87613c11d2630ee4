import SnapshotKit

/// Who makes a request.
enum Identity: Sendable {
    /// Somebody, where nobody is asked: on the loopback, without keys.
    case anyone
    /// A writer with a key, for sessions with a prefix.
    case writer(name: String, prefix: String)
    /// A thin client with a token, which its signature tells from others of its session.
    case client(Token, signature: String)

    /// A name to remember requests to a session by: a client that was given a new token repeats a request under the
    /// same.
    func name(in session: String) -> String {
        switch self {
        case .anyone: ""
        case .writer(let name, _): "key:" + name
        case .client: "token:" + session
        }
    }

    /// A name to count requests by: one client of a session does not use up what another may ask.
    var bucket: String {
        switch self {
        case .anyone: ""
        case .writer(let name, _): "key:" + name
        case .client(_, let signature): "token:" + signature
        }
    }

    /// Nil for who needs none.
    var token: Token? { if case .client(let token, _) = self { token } else { nil } }

    /// When the identity ends by itself.
    var expires: WallTime? { token?.expires }

    /// Whether it has a permission for a session (nil: for some session, which whoever asks has to ask for then).
    func has(_ permission: Permission, session: String?) -> Bool {
        switch (self, permission) {
        case (.anyone, _), (.writer, .operate), (.writer, .compute), (.writer, .list): return true
        case (.writer(_, let prefix), .read), (.writer(_, let prefix), .edit), (.writer(_, let prefix), .write):
            return session.map { $0.utf8.starts(with: prefix.utf8) } ?? true
        case (.client(let token, _), .read):
            return session.map(token.sessions.contains) ?? true && token.scopes.contains(.read)
        case (.client(let token, _), .edit):
            return session.map(token.sessions.contains) == true && !token.operations.isEmpty
        case (.client, .write), (.client, .operate), (.client, .compute), (.client, .list): return false
        }
    }

    /// What every answer is seen through; nil: all there is is shown.
    var view: StateView? { token?.view }

    /// What the names of its sessions start with; empty for all.
    var prefix: String {
        if case .writer(_, let prefix) = self { return prefix }
        return ""
    }

    /// Whether it may send whole states, not edits alone.
    var maySendStates: Bool { if case .client = self { false } else { true } }

    /// What its edits may do; nil: anything.
    var operations: Set<EditOperation>? { token?.operations }
}
