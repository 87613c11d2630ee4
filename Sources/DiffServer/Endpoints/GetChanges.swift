import HTTPCore
import SnapshotKit

/// What changed since a reader's revision: at once, once there is something, or again and again.
enum GetChanges {
    /// The longest that a request is held.
    static let longestWait = 60

    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        let since = try call.parameters.since()
        let wait = try wait(call)
        let wish = try ChangesWish(call.parameters, call.acceptance, streams: true)
        let base = wish.form.isEvent ? lastEvent(call) ?? since : since
        return try call.reading(from: base) { (reading) throws(Problem) in
            if wish.form.isEvent { return .now(try EventStream.response(call, reading, since: base, wish)) }
            if wait > 0, holds(reading, base) {
                return .later { HeldRequest.hold(call, reading, base, wish, for: .seconds(wait), $0) }
            }
            if !holds(reading, base) { try reading.checkRoom() }
            return .now(call.service.counted(reading.answer(since: base, wish)).response())
        }
    }

    /// Seconds that the client would wait: `?wait=`, else `Prefer: wait=`.
    private static func wait(_ call: Call) throws(Problem) -> Int {
        if let wait = try call.parameters.count("wait") { return min(wait, longestWait) }
        guard let text = call.head.preferences.first(where: { $0.name == "wait" })?.value else { return 0 }
        return min(Parameters.count(text) ?? 0, longestWait)
    }

    /// The id of the last event that a reconnecting reader saw; one of no revision's form is no base.
    private static func lastEvent(_ call: Call) -> Since? {
        guard let id = call.head["last-event-id"], !id.isEmpty else { return nil }
        return Revision(id).map(Since.revision) ?? .unreadable
    }

    /// Whether there is nothing to tell yet.
    static func holds(_ reading: Reading, _ since: Since) -> Bool {
        guard case .revision(let revision) = since, case .head(let marks) = reading.base(revision) else { return false }
        return marks.isEmpty
    }
}
