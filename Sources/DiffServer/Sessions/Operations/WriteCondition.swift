import SnapshotKit

/// The conditions of a write about the head.
struct WriteCondition: Sendable {
    /// The head must be one of these.
    var match: RevisionTags?
    /// The head must be none of these.
    var noneMatch: RevisionTags?
    /// Whether an existing session may only be written with `match`.
    var isRequired = false

    /// Whether there is no condition.
    var isNone: Bool { match == nil && noneMatch == nil }

    /// Whether the head meets `match`.
    func isMet(by session: Session) throws(SessionError) -> Bool {
        guard let match else {
            if isRequired { throw .conditionRequired }
            return true
        }
        return match.names(session.head.revision, of: session)
    }
}

/// Revisions by their texts, or any revision.
struct RevisionTags: Sendable {
    var isAny: Bool
    var texts: [String]
    /// The client's views, by which it may name revisions.
    var views: [StateView] = []

    func names(_ text: String) -> Bool { isAny || texts.contains(text) }

    func matches(_ revision: Revision) -> Bool { names(revision.text) }

    /// Whether they name a revision of a session, whichever part of it the client shows.
    func names(_ revision: Revision, of session: Session) -> Bool {
        if matches(revision) { return true }
        let name = session.name(of: revision, through: views)
        return texts.contains { text in
            guard let named = Revision(text)?.showing(nil) else { return false }
            return named == revision || named == name
        }
    }

    /// Whether they name this revision, and no other.
    func namesOnly(_ revision: Revision, of session: Session) -> Bool {
        !isAny && texts.count == 1 && names(revision, of: session)
    }
}
