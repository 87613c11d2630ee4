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
    func isMet(by head: Revision) throws(SessionError) -> Bool {
        guard let match else {
            if isRequired { throw .conditionRequired }
            return true
        }
        return match.matches(head)
    }
}

/// Revisions, by their texts; or any at all.
struct RevisionTags: Sendable {
    let isAny: Bool
    let texts: [String]

    /// Whether the text is among these.
    func names(_ text: String) -> Bool { isAny || texts.contains(text) }

    /// Whether the revision is one of these.
    func matches(_ revision: Revision) -> Bool { names(revision.text) }

    /// The one revision that is named, if it is one.
    var revision: Revision? { texts.count == 1 ? Revision(texts[0]) : nil }
}
