// Content negotiation (RFC 9110 §12.5.1): picks the available type with the highest weight. Ties go to the most
// specific range, and then to the one named first.

import DiffSessions
import HTTPCore
import SnapshotKit

/// The media types that a client accepts.
struct Acceptance: Sendable {
    private let ranges: [Preference]

    /// Reads all `Accept` fields; without any, everything is accepted. Skips ranges with malformed weights.
    init(_ head: RequestHead? = nil) { ranges = head?.weightedList("accept") ?? [] }

    fileprivate var isAnything: Bool { ranges.isEmpty }

    /// The weight of a media type, that of the most specific matching range or 0, and what decides between equals.
    private func rating(of type: String) -> (weight: Int, exactness: Int, order: Int) {
        let family = type.prefix { $0 != "/" } + "/*"
        for (exactness, name) in [(2, type), (1, String(family)), (0, "*/*")] {
            guard let index = ranges.firstIndex(where: { $0.value == name }) else { continue }
            return (ranges[index].weight, exactness, -index)
        }
        return (0, 0, 0)
    }

    func accepts(_ type: String) -> Bool { isAnything || rating(of: type).weight > 0 }

    /// The best of several types; the first one on a tie, nil if none is accepted.
    func best(of types: [String]) -> String? {
        if isAnything { return types.first }
        let rated = types.map { (type: $0, rating: rating(of: $0)) }.filter { $0.rating.weight > 0 }
        return rated.max { $0.rating < $1.rating }?.type
    }
}

extension Substring {
    /// The text without blanks at its ends.
    package var trimmed: String { String(FieldList.trimmed(self)) }
}

/// The format of an answer with changes.
struct ChangesForm: Sendable, Hashable {
    var dialect: Dialect
    /// Whether the answer is the patch alone, without the envelope.
    var isBarePatch = false
    /// Whether the answer is an event of a stream rather than a body.
    var isEvent = false
    /// Whether the stream covers several sessions: each event then begins with its reader's own cursor.
    var isOfMany = false
    var mediaType: String

    static func mediaType(_ dialect: Dialect) -> String { "application/vnd.diffserver.\(dialect.rawValue)+json" }

    /// All media types of changes, the default first.
    static let mediaTypes = ["application/json", MediaType.jsonPatch] + Dialect.allCases.map(mediaType)

    private static let dialects = Dictionary(uniqueKeysWithValues: Dialect.allCases.map { (mediaType($0), $0) })

    static let eventType = "text/event-stream"

}

extension ChangesForm {
    /// `?dialect=` wins, then `Accept`, then `keyed`.
    init(named: Dialect?, _ acceptance: Acceptance) throws(Problem) {
        if let dialect = named {
            let (own, patch) = (Self.mediaType(dialect), MediaType.jsonPatch)
            let isPatch = dialect == .jsonPatch && acceptance.best(of: [own, "application/json", patch]) == patch
            let type = dialect == .keyed || !acceptance.accepts(own) ? Self.mediaTypes[0] : own
            self.init(dialect: dialect, isBarePatch: isPatch, mediaType: isPatch ? patch : type)
        } else if acceptance.isAnything {
            self.init(dialect: .keyed, mediaType: Self.mediaTypes[0])
        } else {
            guard let type = acceptance.best(of: Self.mediaTypes) else { throw .notAcceptable(Self.mediaTypes) }
            let isPatch = type == MediaType.jsonPatch
            let dialect = isPatch ? .jsonPatch : Self.dialects[type] ?? .keyed
            self.init(dialect: dialect, isBarePatch: isPatch, mediaType: type)
        }
    }
}

/// Media types of bodies that describe a change rather than a new value.
enum MediaType {
    /// RFC 6902.
    static let jsonPatch = "application/json-patch+json"
    /// RFC 7396.
    static let mergePatch = "application/merge-patch+json"

    static let patches = [jsonPatch, mergePatch]

    /// A document a line, or after a separator (RFC 7464).
    static let lines = ["ndjson", "x-ndjson", "jsonl", "jsonlines", "x-jsonlines", "json-seq"]
        .map { "application/\($0)" }

    /// The type that PATCH takes (RFC 5789 §3.1): sent in answers to OPTIONS, and when another type is refused.
    static let acceptPatch = Field("Accept-Patch", mergePatch)
}

extension Problem {
    /// Refuses a body of a type that the server does not read.
    static func unsupportedMediaType(_ name: String) -> Problem {
        let reason =
            MediaType.patches.contains(name)
            ? "\"\(name)\" is a patch, but this takes a whole document or {\"edits\":[…]}"
            : MediaType.lines.contains(name)
                ? "\"\(name)\" is many documents, but this takes one: put the values into an array"
                : "\"\(name)\" is not JSON"
        return Problem(
            .unsupportedMediaType, "\(reason): send the header Content-Type: application/json",
            fields: [Field("Accept-Post", "application/json")])
    }

    /// - Parameter name: the type of a body that is not a merge patch; nil if it names none.
    static func noMergePatch(_ name: String?) -> Problem {
        let reason = name.map { "\"\($0)\" is no merge patch" } ?? "the body has no Content-Type"
        return Problem(
            .unsupportedMediaType, "\(reason): send the header Content-Type: \(MediaType.mergePatch)",
            fields: [MediaType.acceptPatch])
    }

    static func notAcceptable(_ types: [String]) -> Problem {
        Problem(.notAcceptable, "available media types: \(types.joined(separator: ", "))")
    }
}

// Conditional requests (RFC 9110 §13.1). A tag is a revision in quotes; the tag of a gzip answer ends with `;gzip` and
// names the same state. Weak tags are accepted, since a cache on the way may have weakened ours.

extension RevisionTags {
    /// The value of `If-Match` or `If-None-Match`; nil without the field. A malformed value matches nothing.
    init?(_ head: RequestHead, _ name: String) {
        let values = head.values(of: name)
        guard !values.isEmpty else { return nil }
        self.init(isAny: values == ["*"], texts: head.list(name).map(Self.opaque))
    }

    /// The text between the quotes, without the suffix of a content coding.
    private static func opaque(_ tag: String) -> String {
        let text = tag.dropFirst(tag.hasPrefix("W/") ? 2 : 0)
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return "" }
        let name = text.dropFirst().dropLast()
        return String(name.dropLast(name.hasSuffix(";gzip") ? 5 : 0))
    }
}

extension WriteCondition {
    init(_ call: Call) {
        self.init(match: call)
        noneMatch = RevisionTags(call.head, "if-none-match")
    }

    /// Ignores `If-None-Match`. The client sees the session through the views.
    init(match call: Call, through views: [ViewName] = []) {
        self.init(match: RevisionTags(call.head, "if-match"), isRequired: call.service.settings.requiresIfMatch)
        match?.views = views
    }
}

extension Response {
    /// A JSON answer that no cache keeps.
    init(status: Int = 200, json: [UInt8], fields: [Field] = [], isCompressible: Bool = true) {
        self.init(
            status: status, fields: .uncachedJSON + fields, body: .bytes(json), isCompressible: isCompressible)
    }
}

extension [Field] {
    static func uncached(_ type: String) -> [Field] {
        [Field("Content-Type", type), Field("Cache-Control", "no-store")]
    }

    /// Those of most answers.
    static let uncachedJSON = uncached("application/json")
}

extension Field {
    /// The URL of a new session.
    static func location(of session: String) -> Field { Field("Location", "/v1/sessions/\(session)") }
}
