import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews

/// The format of changes.
struct ChangesStyle: Hashable, Sendable {
    var form: ChangesForm
    var staging = Staging.safe
    var content = ContentStyle.full
    /// Beyond this many operations, the answer is the whole state.
    var maxChanges: Int?
    /// Whether the answer is the whole state if that is shorter than the changes.
    var smallest = false

    static let parameters: Set<String> = ["dialect", "staging", "content", "maxChanges", "smallest"]

    /// - Parameter streams: whether the endpoint can stream events.
    init(_ call: Call, streams: Bool = false) throws(Problem) {
        let (parameters, acceptance) = (call.parameters, call.acceptance)
        var dialect: Dialect?
        if !parameters.isEmpty {
            dialect = try parameters.choice("dialect")
            if let named: Staging = try parameters.choice("staging") { staging = named }
            if let named: ContentStyle = try parameters.choice("content") { content = named }
            maxChanges = try parameters.count("maxChanges")
            smallest = try parameters.flag("smallest")
        }
        let event = ChangesForm.eventType
        form =
            streams && acceptance.best(of: ChangesForm.mediaTypes + [event]) == event
            ? ChangesForm(dialect: dialect ?? .keyed, isEvent: true, mediaType: event)
            : try ChangesForm(named: dialect, acceptance)
    }
}

/// Which changes a client wants, and in which format.
struct ChangesOptions: Hashable, Sendable {
    var style: ChangesStyle
    /// The part of the session that the client shows.
    var projection: Projection
    /// The seconds since the session's source was last heard from, if that is too long ago. Like warnings, it is left
    /// out of a bare patch.
    var staleness: Int?
    var warnings = Warnings()

    var form: ChangesForm { style.form }
}

extension ChangesOptions {
    /// - Throws: 403 if the caller may not read.
    init(_ call: Call, streams: Bool = false) throws(Problem) {
        let projection = try call.windowedProjection()
        let style = try ChangesStyle(call, streams: streams)
        let dialect = style.form.dialect
        if projection.window != nil, dialect == .jsonPatch || !dialect.isAdopted {
            throw .malformed("\(dialect.rawValue) cannot show a window: leave out at or around")
        }
        self.init(style: style, projection: projection)
    }
}

/// An answer with changes or the whole state: the body of a response, or an event.
package struct ChangesAnswer: Sendable {
    /// The bytes for this reader alone: all of them, or those before `rest`.
    private var own: [UInt8]
    /// The bytes that are shared with other readers.
    private var rest: SharedBody?
    var from: Revision?
    var to: Revision?
    var reset: ResetReason?
    var counts = OperationCounts()
    /// The anchor of the new window.
    private(set) var anchor: ElementID?
    /// Whether nothing changed; waiting readers do not get such an answer.
    var isOfNothing = false
    let form: ChangesForm

    /// The answer with its body made shareable.
    func shared(in budget: MemoryBudget) -> (answer: ChangesAnswer, body: SharedBody) {
        precondition(rest == nil, "a part of the answer is shared already")
        let body = form.isEvent ? SharedBody(partOfStream: own, in: budget) : SharedBody(own, in: budget)
        return (with(body), body)
    }

    /// The answer with a shared body, or none.
    func with(_ body: SharedBody?) -> ChangesAnswer {
        var answer = self
        (answer.own, answer.rest) = ([], body)
        return answer
    }

    var fields: [Field] {
        let isPlain = form.mediaType == ChangesForm.mediaTypes[0]
        var fields: [Field] = isPlain ? .uncachedJSON : .uncached(form.mediaType)
        guard form.isBarePatch else { return fields }
        if let from, reset == nil { fields.append(Field("Delta-Base", "\"\(from.text)\"")) }
        if let to { fields.append(Field("ETag", "\"\(to.text)\"")) }
        return fields
    }

    func response(status: Int = 200, fields more: [Field] = []) -> Response {
        Response(status: status, fields: more.isEmpty ? fields : fields + more, body: body, isCompressible: true)
    }

    var body: Body { rest.map { .shared(prefix: own, $0) } ?? .bytes(own) }

    /// Writes the answer as an event, after its beginning for this reader alone. Returns its length in bytes.
    func write(to writer: StreamWriter, after start: [UInt8]) -> Int {
        let own = start.isEmpty ? own : start + own
        if !own.isEmpty { writer.write(own) }
        if let rest { writer.write(rest) }
        return start.count + count
    }

    /// Compresses the shared bytes before they are written.
    func deflate() { rest?.deflate() }

    /// Its length in bytes.
    package var count: Int { own.count + (rest?.count ?? 0) }

}

/// The target of an answer: a session's head as the reader sees it, or a state that is not stored.
package struct Destination: Sendable {
    var session: String?
    var revision: Revision?
    var snapshot: Snapshot
    /// The window that the state shows; nil for none.
    var window: WindowedState?
    /// Whether the state is a part of another one, and shares its text.
    var isPart = false

    /// An estimate of the state's length when written. O(1).
    var size: Int { isPart ? 1024 + snapshot.textBytes + snapshot.itemCount * 32 : snapshot.footprint }
}

extension ChangesAnswer {
    /// The whole state, for a reader without a usable base; `end(ofReset:)` may be shared.
    init(
        reset: ResetReason, from: Revision?, to destination: Destination, _ options: ChangesOptions,
        sharing end: SharedBody? = nil
    ) {
        let form = options.form
        var start: [UInt8] = []
        if !form.isBarePatch {
            var writer = JSONWriter()
            Self.begin(from, destination, form, &writer)
            Self.writeStart(from, destination, options, &writer)
            writer.append(",\"reset\":\"")
            writer.append(verbatim: reset.rawValue)
            writer.append(form.dialect.isAdopted ? "\",\"state\":" : "\",\"rows\":")
            start = writer.bytes()
        }
        self.init(
            own: end == nil ? start + Self.end(ofReset: destination, form) : start, rest: end, from: from,
            to: destination.revision, reset: reset, anchor: destination.window?.anchor, form: form)
    }

    /// The part of a reset that is the same for all readers.
    static func end(ofReset destination: Destination, _ form: ChangesForm) -> [UInt8] {
        let snapshot = destination.snapshot
        // Sized in advance: a buffer that grows by doubling takes up to three times as much memory.
        var writer = JSONWriter(capacity: form.dialect.isAdopted ? destination.size : 32)
        if form.isBarePatch { writer.append("[{\"op\":\"replace\",\"path\":\"\",\"value\":") }
        switch form.dialect {
        case .jsonPatch: snapshot.writeDocument(into: &writer)
        case .counts: writer.append(snapshot.rowCount)
        default: snapshot.writeRows(into: &writer)
        }
        writer.append(byte: UInt8(ascii: "}"))
        if form.isBarePatch { writer.append(byte: UInt8(ascii: "]")) }
        return ended(consume writer, form)
    }

    /// Ends an event, whose JSON begins at `start`, or the body of a response.
    private static func ended(_ writer: consuming JSONWriter, jsonFrom start: Int = 0, _ form: ChangesForm) -> [UInt8] {
        if form.isEvent { return Event.ended(writer.bytes(), jsonFrom: start) }
        writer.append("\n")
        return writer.bytes()
    }

    /// A changeset, or the whole state if the changeset exceeds the limits of the options.
    init(_ changeset: Changeset, from: Revision?, to destination: Destination, _ options: ChangesOptions) {
        if let limit = options.style.maxChanges, changeset.counts.total > limit {
            self.init(reset: .large, from: from, to: destination, options)
            return
        }
        let form = options.form
        var writer = JSONWriter(capacity: Self.capacity(for: changeset, to: destination, options))
        Self.begin(from, destination, form, &writer)
        let start = writer.count
        if !form.isBarePatch {
            Self.writeStart(from, destination, options, &writer)
            if changeset.changesList, form.dialect.isAdopted, form.dialect != .jsonPatch {
                writer.append(",\"list\":")
                changeset.writeList(content: options.style.content, into: &writer)
            }
            writer.append(",\"changes\":")
        }
        let changes = writer.count
        changeset.write(form.dialect, staging: options.style.staging, content: options.style.content, into: &writer)
        if options.style.smallest, destination.snapshot.isShorter(than: writer.count - changes, in: form.dialect) {
            self.init(reset: .large, from: from, to: destination, options)
            return
        }
        if !form.isBarePatch { writer.append(byte: UInt8(ascii: "}")) }
        self.init(
            own: Self.ended(consume writer, jsonFrom: start, form), from: from, to: destination.revision,
            counts: changeset.counts, anchor: destination.window?.anchor, form: form)
    }

    /// Enough for most answers: a buffer that grows by doubling takes up to three times as much memory. O(1).
    private static func capacity(
        for changeset: Changeset, to destination: Destination, _ options: ChangesOptions
    ) -> Int {
        // Most answers are small, and allocators keep blocks of this size ready.
        let small = 960
        let (rows, snapshot) = (changeset.counts.insertions + changeset.counts.updates, destination.snapshot)
        let all = snapshot.itemCount + snapshot.sectionCount
        guard rows > 64, all > 0, !destination.isPart, options.style.content == .full, options.form.dialect != .counts
        else { return small }
        // At most a little more than the whole state.
        return small + min(rows, all) * (32 + snapshot.textBytes * 9 / 8 / all)
    }

    /// Writes the part of an event before its JSON.
    private static func begin(
        _ from: Revision?, _ destination: Destination, _ form: ChangesForm, _ writer: inout JSONWriter
    ) {
        guard form.isEvent else { return }
        if form.isOfMany { return writer.append("data: ") }
        Event.begin(form.dialect.isAdopted ? destination.revision : from, &writer)
    }

    private static func writeStart(
        _ from: Revision?, _ destination: Destination, _ options: ChangesOptions, _ writer: inout JSONWriter
    ) {
        writer.append("{\"session\":")
        if let session = destination.session { writer.append(string: session) } else { writer.append("null") }
        writer.append(",\"from\":")
        writer.append(from)
        writer.append(",\"to\":")
        writer.append(destination.revision)
        writer.append(",\"dialect\":\"")
        writer.append(verbatim: options.form.dialect.rawValue)
        writer.append("\"")
        if let window = destination.window {
            writer.append(",\"window\":")
            window.write(into: &writer)
        }
        if let staleness = options.staleness {
            writer.append(",\"stale\":")
            writer.append(staleness)
        }
        options.warnings.write(into: &writer)
    }
}

extension JSONWriter {
    /// Appends a revision, or null for none.
    fileprivate mutating func append(_ revision: Revision?) {
        if let revision { revision.write(into: &self) } else { append("null") }
    }
}

extension JSONObject {
    /// A member that is null if there is no revision.
    mutating func revision(_ name: StaticString, _ revision: Revision?) {
        self.name(name)
        writer.append(revision)
    }
}

/// Warnings to a writer about an accepted body.
struct Warnings: Hashable, Sendable {
    private var stateWarnings: [StateWarning]
    /// Whether unchanged rows have new ids.
    private let hasIdentityChurn: Bool

    init(_ stateWarnings: [StateWarning] = [], of changeset: Changeset? = nil) {
        (self.stateWarnings, hasIdentityChurn) = (stateWarnings, changeset?.showsIdentityChurn ?? false)
    }

    /// Drops warnings about items that the reader sees in none of the states.
    func seen(in states: @autoclosure () -> [Snapshot], _ projection: Projection) -> Warnings {
        guard !projection.views.isEmpty, !stateWarnings.isEmpty else { return self }
        let states = states()
        var warnings = self
        warnings.stateWarnings = stateWarnings.filter { warning in
            warning.id.map { id in states.contains { $0.item(withID: id.text) != nil } } ?? false
        }
        return warnings
    }

    /// Drops warnings about items that the reader does not see in the head.
    func seen(in view: SessionView, _ projection: Projection) -> Warnings {
        seen(in: [view.seen(through: projection.views).head.seen.snapshot], projection)
    }

    /// Writes the warnings as the next member of an object, if there are any. At most 20.
    func write(into writer: inout JSONWriter) {
        if stateWarnings.isEmpty, !hasIdentityChurn { return }
        writer.append(",\"warnings\":[")
        if hasIdentityChurn { writer.append("{\"code\":\"identity-churn\"}") }
        for warning in stateWarnings.prefix(StateWarning.maxCount - (hasIdentityChurn ? 1 : 0)) {
            writer.separate()
            writer.append("{\"code\":")
            writer.append(string: warning.code)
            writer.append(",\"pointer\":")
            writer.append(string: warning.pointer)
            if let id = warning.id {
                writer.append(",\"id\":")
                writer.append(id: id)
            }
            writer.append(byte: UInt8(ascii: "}"))
        }
        writer.append(byte: UInt8(ascii: "]"))
    }
}
