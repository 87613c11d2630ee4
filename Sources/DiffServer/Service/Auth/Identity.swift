/// Who makes a request.
enum Identity: Sendable {
    /// Somebody, where nobody is asked: on the loopback, without keys.
    case anyone
    /// A writer with a key, for sessions with a prefix.
    case writer(name: String, prefix: String)
    /// A thin client with a token, which its signature tells from others of its session.
    case client(Token, signature: String)

    /// A name to remember requests by: a client that was given a new token repeats a request under the same.
    var name: String {
        switch self {
        case .anyone: ""
        case .writer(let name, _): "key:" + name
        case .client(let token, _): "token:" + token.session
        }
    }

    /// A name to count requests by: one client of a session does not use up what another may ask.
    var bucket: String {
        switch self {
        case .anyone, .writer: name
        case .client(_, let signature): "token:" + signature
        }
    }

    /// When the identity ends by itself.
    var expires: WallTime? {
        if case .client(let token, _) = self { return token.expires }
        return nil
    }

    /// Whether it has a permission for a session (nil: to none in particular).
    func has(_ permission: Permission, session: String?) -> Bool {
        switch (self, permission) {
        case (.anyone, _), (.writer, .operate), (.writer, .compute): return true
        case (.writer(_, let prefix), .read), (.writer(_, let prefix), .edit), (.writer(_, let prefix), .write):
            return session.map { $0.utf8.starts(with: prefix.utf8) } ?? true
        case (.client(let token, _), .read): return token.session == session && token.scopes.contains(.read)
        case (.client(let token, _), .edit): return token.session == session && token.scopes.contains(.edit)
        case (.client, .write), (.client, .operate), (.client, .compute): return false
        }
    }

    /// Whether it may send whole states, not edits alone.
    var maySendStates: Bool {
        if case .client = self { return false }
        return true
    }
}
