// Conditions (RFC 9110 §13.1). A tag is a revision in quotes. The tag of a gzip answer ends with `;gzip` and names the
// same state. Weak tags are accepted, since a cache on the way may have weakened ours.

import DiffSessions
import HTTPCore
import SnapshotKit

extension RevisionTags {
    /// The value of `If-Match` or `If-None-Match`; nil without the field. A malformed value matches nothing.
    init?(_ head: RequestHead, _ name: String) {
        let values = head.values(of: name)
        guard !values.isEmpty else { return nil }
        self.init(isAny: values.count == 1 && values[0] == "*", texts: head.list(name).map(Self.opaque))
    }

    /// What is between the quotes, without a coding's suffix.
    private static func opaque(_ tag: String) -> String {
        var text = tag[...]
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return "" }
        text = text.dropFirst().dropLast()
        return String(text.hasSuffix(";gzip") ? text.dropLast(5) : text)
    }
}

extension WriteCondition {
    init(_ call: Call) {
        self.init(match: call)
        noneMatch = RevisionTags(call.head, "if-none-match")
    }

    /// Without `If-None-Match`.
    ///
    /// - Parameter views: those through which the client sees the session.
    init(match call: Call, through views: [ViewName] = []) {
        self.init(match: RevisionTags(call.head, "if-match"), isRequired: call.service.settings.requiresIfMatch)
        match?.views = views
    }
}
