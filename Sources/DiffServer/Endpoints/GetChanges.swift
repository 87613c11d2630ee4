import HTTPCore
import SnapshotKit

/// What changed since a reader's revision: at once, once there is something, or again and again.
struct GetChanges: ReadingEndpoint {
    /// The longest that a request is held.
    private static let longestWait = 60

    let call: Call
    private let since: Since
    private let wait: Int
    private let options: ChangesOptions

    init(_ call: Call) throws(Problem) {
        self.call = call
        let since = try call.parameters.since()
        let wait = try Self.wait(call)
        options = try ChangesOptions(call.parameters, call.acceptance, streams: true)
        if wait != nil, !options.form.dialect.isAdopted {
            throw .malformed(
                "a request for \(options.form.dialect.rawValue) is not held: ask without wait, or for a stream")
        }
        self.wait = wait ?? 0
        self.since = options.form.isEvent ? Self.lastEvent(call) ?? since : since
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        if options.form.isEvent { return .now(try EventStream.response(call, view, since: since, options)) }
        let hasNothing = view.hasNothing(since: since)
        if wait > 0, hasNothing {
            return .later { HeldRequest.hold(call, view, since, options, for: .seconds(wait), $0) }
        }
        if !hasNothing { try view.checkRoom() }
        return .now(call.service.counted(view.answer(since: since, options)).response())
    }

    /// Seconds that the client would wait: `?wait=`, else `Prefer: wait=`; nil if it says nothing of that.
    private static func wait(_ call: Call) throws(Problem) -> Int? {
        if let wait = try call.parameters.count("wait") { return min(wait, longestWait) }
        guard let text = call.head.preferences.first(where: { $0.name == "wait" })?.value else { return nil }
        return Parameters.count(text).map { min($0, longestWait) }
    }

    /// The id of the last event that a reconnecting reader saw; one of no revision's form is no base.
    private static func lastEvent(_ call: Call) -> Since? {
        guard let id = call.head["last-event-id"], !id.isEmpty else { return nil }
        return Revision(id).map(Since.revision) ?? .unreadable
    }
}
