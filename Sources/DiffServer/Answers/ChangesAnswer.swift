import HTTPCore
import SnapshotKit

/// How a client wants changes written.
struct ChangesWish: Hashable, Sendable {
    var form: ChangesForm
    var staging: Staging
    var content: ContentStyle
    /// More operations than this, and the whole state comes instead.
    var maxChanges: Int?

    static let parameters: Set<String> = ["dialect", "staging", "content", "maxChanges"]

    /// - Parameter streams: whether the endpoint can also stream events.
    init(_ parameters: Parameters, _ acceptance: Acceptance, streams: Bool = false) throws(Problem) {
        let dialect: Dialect? = try parameters.choice("dialect")
        staging = try parameters.choice("staging") ?? .safe
        content = try parameters.choice("content") ?? .full
        maxChanges = try parameters.count("maxChanges")
        form =
            streams && acceptance.best(of: ChangesForm.mediaTypes + [ChangesForm.eventType]) == ChangesForm.eventType
            ? ChangesForm(event: dialect ?? .keyed) : try ChangesForm(named: dialect, acceptance)
    }
}

/// An answer with changes, or with the whole state: the body of a response, and of an event.
struct ChangesAnswer: Sendable {
    var body: [UInt8]
    var from: Revision?
    var to: Revision?
    var reset: ResetReason?
    var counts = OperationCounts()
    let form: ChangesForm

    private init(body: [UInt8], from: Revision?, to: Revision?, reset: ResetReason?, form: ChangesForm) {
        (self.body, self.from, self.to, self.reset, self.form) = (body, from, to, reset, form)
    }

    /// Fields of a response with this body.
    var fields: [Field] {
        var fields = [Field("Content-Type", form.mediaType), Field("Cache-Control", "no-store")]
        guard form.isBarePatch else { return fields }
        if let from, reset == nil { fields.append(Field("Delta-Base", "\"\(from.text)\"")) }
        if let to { fields.append(Field("ETag", "\"\(to.text)\"")) }
        return fields
    }

    func response(status: Int = 200, fields more: [Field] = []) -> Response {
        Response(status: status, fields: fields + more, body: .bytes(body), isCompressible: true)
    }
}

/// What an answer speaks of: a session at a revision, or two states that nobody stores.
struct Destination: Sendable {
    var session: String?
    var revision: Revision?
    var snapshot: Snapshot
}

extension ChangesAnswer {
    /// The whole state, for a reader without a usable base.
    init(reset: ResetReason, from: Revision?, to destination: Destination, _ wish: ChangesWish) {
        self.init(from: from, destination, wish.form, reset: reset) { writer in
            writer.append(",\"reset\":\"")
            writer.append(verbatim: reset.rawValue)
            writer.append("\",\"state\":")
            Self.writeState(destination.snapshot, wish.form.dialect, &writer)
        } patch: { writer in
            writer.append("[{\"op\":\"replace\",\"path\":\"\",\"value\":")
            Self.writeState(destination.snapshot, wish.form.dialect, &writer)
            writer.append("}]")
        }
    }

    /// A changeset, unless it is larger than wished.
    init(_ changeset: Changeset, from: Revision?, to destination: Destination, _ wish: ChangesWish) {
        if let limit = wish.maxChanges, changeset.counts.total > limit {
            self.init(reset: .large, from: from, to: destination, wish)
            return
        }
        self.init(from: from, destination, wish.form, reset: nil) { writer in
            writer.append(",\"changes\":")
            changeset.write(wish.form.dialect, staging: wish.staging, content: wish.content, into: &writer)
            if changeset.showsIdentityChurn { writer.append(",\"warnings\":[\"identity-churn\"]") }
        } patch: { writer in
            changeset.write(.jsonPatch, staging: wish.staging, content: wish.content, into: &writer)
        }
        counts = changeset.counts
    }

    private init(
        from: Revision?, _ destination: Destination, _ form: ChangesForm, reset: ResetReason?,
        members: (inout JSONWriter) -> Void, patch: (inout JSONWriter) -> Void
    ) {
        // Most answers fit, and an allocator has blocks of this size at hand.
        var writer = JSONWriter(capacity: 960)
        if form.isBarePatch {
            patch(&writer)
        } else {
            writer.append("{\"session\":")
            if let session = destination.session { writer.append(string: session) } else { writer.append("null") }
            writer.append(",\"from\":")
            Self.write(from, &writer)
            writer.append(",\"to\":")
            Self.write(destination.revision, &writer)
            writer.append(",\"dialect\":\"")
            writer.append(verbatim: form.dialect.rawValue)
            writer.append("\"")
            members(&writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
        let body = (consume writer).bytes()
        self.init(
            body: form.isEvent ? Event.changes(body, to: destination.revision) : body, from: from, to: destination.revision, reset: reset,
            form: form)
    }

    private static func write(_ revision: Revision?, _ writer: inout JSONWriter) {
        if let revision { revision.write(into: &writer) } else { writer.append("null") }
    }

    private static func writeState(_ snapshot: Snapshot, _ dialect: Dialect, _ writer: inout JSONWriter) {
        if dialect == .jsonPatch { snapshot.writeDocument(into: &writer) } else { snapshot.writeRows(into: &writer) }
    }
}
