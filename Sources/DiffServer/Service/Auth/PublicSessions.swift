// Sessions that anybody may read (CONTRACT §9): whether one is, and which requests read nothing else.

import HTTPCore

extension DiffService {
    /// Whether anybody may read a session, by its own setting (nil if there is no session). One with a source is as
    /// public as the file says, also before it is made.
    func isPublic(_ name: String, _ setting: Bool?) -> Bool {
        guard let list = source?.list(of: name), setting == nil || list.hasSource else { return setting ?? false }
        return list.settings.isPublic ?? false
    }

    /// The same, as far as this process knows.
    func isKnownPublic(_ name: String) -> Bool { isPublic(name, table.anySlot(name)?.isPublic) }

    /// Whether nobody may without credentials, whatever the store says. What is not read does not count as used.
    func isKnownPrivate(_ name: String) -> Bool {
        let setting = table.anySlot(name)?.isPublic
        return store.isSole && (!table.isCache || setting != nil) && !isPublic(name, setting)
    }

    /// Whether anybody may read the answer to a request: it only reads public sessions, and comes without credentials.
    /// Where these are needed, all such answers are alike until the sessions are known to be public.
    func isShared(_ head: RequestHead, _ peer: Peer) -> Bool {
        guard head["authorization"] == nil, case .found(let route, let captures) = routes.match(head),
            case .read = route.permission
        else { return false }
        if !access.isUnlocked(for: peer) { return true }
        let names = Self.sessions(of: head, captures.value(of: "session"))
        return !names.isEmpty && names.allSatisfy(isKnownPublic)
    }

    /// The sessions that a request names, in its path or its query.
    static func sessions(of head: RequestHead, _ named: String?) -> [String] {
        if let named { return [named] }
        return head.query.filter { $0.name == "session" }.map { String($0.value.prefix { $0 != "@" }) }
    }
}
