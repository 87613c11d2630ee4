import SnapshotKit

/// What has to hold of the head for a write to be done.
struct WriteCondition: Sendable {
    /// The head is one of these.
    var match: RevisionTags?
    /// The head is none of these.
    var noneMatch: RevisionTags?
    /// Whether a session that exists is only written by those who say of which revision they know.
    var isRequired = false

    /// Whether the write is to be done whatever is there now.
    var isNone: Bool { match == nil && noneMatch == nil }

    /// Whether the head is what has to match, where anything has to.
    func isMet(by session: Session) throws(SessionError) -> Bool {
        guard let match else {
            if isRequired { throw .conditionRequired }
            return true
        }
        return match.names(session.head.revision, of: session)
    }
}

/// Revisions, by their texts; or any at all.
struct RevisionTags: Sendable {
    var isAny: Bool
    var texts: [String]
    /// What the client sees states through: it may name them as it does.
    var views: [StateView] = []

    /// Whether the text is among these.
    func names(_ text: String) -> Bool { isAny || texts.contains(text) }

    /// Whether the revision is one of these.
    func matches(_ revision: Revision) -> Bool { names(revision.text) }

    /// The same for one of a session, whichever part of it the client shows.
    func names(_ revision: Revision, of session: Session) -> Bool {
        if matches(revision) { return true }
        let name = session.name(of: revision, through: views)
        return texts.contains { text in
            guard let named = Revision(text)?.showing(nil) else { return false }
            return named == revision || named == name
        }
    }

    /// Whether this revision and no other is named.
    func namesOnly(_ revision: Revision, of session: Session) -> Bool {
        !isAny && texts.count == 1 && names(revision, of: session)
    }
}
