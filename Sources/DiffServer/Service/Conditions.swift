// Conditions (RFC 9110 §13.1). A tag is a revision in quotes; a gzip answer's tag ends with `;gzip`, and names the
// same state. Weak tags are taken as well: a cache between may have weakened ours.

import HTTPCore
import SnapshotKit

extension RevisionTags {
    /// The value of `If-Match` or `If-None-Match`; nil without such a field. A value that is no list of tags matches
    /// nothing.
    init?(_ head: RequestHead, _ name: String) {
        let values = head.values(of: name)
        guard !values.isEmpty else { return nil }
        self.init(isAny: values.count == 1 && values[0] == "*", texts: head.list(name).map(Self.opaque))
    }

    /// What stands between the quotes, less what a coding added.
    private static func opaque(_ tag: String) -> String {
        var text = tag[...]
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return "" }
        text = text.dropFirst().dropLast()
        return String(text.hasSuffix(";gzip") ? text.dropLast(5) : text)
    }
}

extension WriteCondition {
    /// What a request's fields demand.
    init(_ call: Call) {
        self.init(match: call)
        noneMatch = RevisionTags(call.head, "if-none-match")
    }

    /// The same, where `If-None-Match` means nothing.
    ///
    /// - Parameter views: through which the client sees the states that it names.
    init(match call: Call, through views: [StateView] = []) {
        self.init(match: RevisionTags(call.head, "if-match"), isRequired: call.service.options.requiresIfMatch)
        match?.views = views
    }
}
