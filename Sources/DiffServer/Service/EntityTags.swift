// Conditions (RFC 9110 §13.1). A tag is a revision in quotes; a gzip answer's tag ends with `;gzip`, and names the same
// state. Weak tags are taken as well: a cache between may have weakened ours.

import HTTPCore

/// The value of `If-Match` or `If-None-Match`.
struct EntityTags {
    /// `*`.
    let isAny: Bool
    private let tags: [String]

    /// Nil without such a field. A value that is no list of tags matches nothing.
    init?(_ head: RequestHead, _ name: String) {
        let values = head.values(of: name)
        guard !values.isEmpty else { return nil }
        isAny = values.count == 1 && values[0] == "*"
        tags = head.list(name).map(Self.opaque)
    }

    /// `If-Match` of a write to a session that exists.
    ///
    /// - Throws: 428 without one, where the server wants one.
    static func condition(_ call: Call) throws(Problem) -> EntityTags? {
        try required(EntityTags(call.head, "if-match"), call)
    }

    /// The same of one that was read already.
    static func required(_ condition: EntityTags?, _ call: Call) throws(Problem) -> EntityTags? {
        if condition == nil, call.service.options.requiresIfMatch {
            throw Problem(.preconditionRequired, "send If-Match with the revision that this is based on")
        }
        return condition
    }

    /// What stands between the quotes, less what a coding added.
    private static func opaque(_ tag: Substring) -> String {
        var text = tag
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return "" }
        text = text.dropFirst().dropLast()
        return String(text.hasSuffix(";gzip") ? text.dropLast(5) : text)
    }

    /// Whether the tags name this revision; `*` names any.
    func matches(_ revision: Revision) -> Bool { names(revision.text) }

    /// Whether the tags name this one; `*` names any.
    func names(_ tag: String) -> Bool { isAny || tags.contains(tag) }

    /// The one revision that is named, if it is one.
    var revision: Revision? { tags.count == 1 ? Revision(tags[0]) : nil }
}

extension Call {
    /// Whether a write is to be done whatever is there now.
    var isUnconditional: Bool { EntityTags(head, "if-match") == nil && EntityTags(head, "if-none-match") == nil }
}
