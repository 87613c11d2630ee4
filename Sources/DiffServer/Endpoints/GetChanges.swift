import HTTPCore
import SnapshotKit

/// What changed since a reader's revision: at once, once there is something, or again and again.
struct GetChanges: SessionEndpoint {
    /// The longest that a request is held.
    private static let longestWait = 60

    private let call: Call
    private let since: Since
    /// Whether a stream goes on that broke.
    private let isResumed: Bool
    private let wait: Int
    private let options: ChangesOptions
    private let events: EventForm

    init(_ call: Call) throws(Problem) {
        self.call = call
        let since = try call.parameters.since()
        let wait = try Self.wait(call)
        options = try ChangesOptions(call, streams: true)
        if wait != nil, !options.form.dialect.isAdopted {
            throw .malformed(
                "a request for \(options.form.dialect.rawValue) is not held: ask without wait, or for a stream")
        }
        events = try EventForm(options, call.parameters)
        self.wait = wait ?? 0
        let resumed = options.form.isEvent ? Self.lastEvent(call) : nil
        (self.since, isResumed) = (resumed ?? since, resumed != nil)
    }

    func operation(_ body: consuming [UInt8]) -> FindSession { FindSession() }

    func reply(_ session: Session?, in slot: SessionSlot?) throws(Problem) -> Reply {
        let view = session.map { SessionView(slot, $0, of: call.service.table) }
        if options.form.isEvent {
            let base = FollowedBase(session: call.session, since: since, isResumed: isResumed)
            return .now(try EventStream.response(call, [base], events, first: view))
        }
        // One that does not exist yet is waited for, too.
        guard wait > 0 else {
            guard let view else { throw .noSession(call.session) }
            try view.checkRoom(since: since, options)
            return .now(call.told(view.answer(since: since, options)).response())
        }
        var base: ReaderBase?
        if let view {
            try view.checkRoom(since: since, options)
            switch view.news(since: since, options) {
            case .changes(let answer): return .now(call.told(answer).response())
            case .nothing(let same):
                if view.seen(of: options.sight)?.isRefused == true { throw .crowded }
                base = same
            }
        }
        return .later { [base] in HeldRequest.hold(call, view, since, from: base, options, for: .seconds(wait), $0) }
    }

    /// Seconds that the client would wait: `?wait=`, else `Prefer: wait=`; nil if it says nothing of that.
    private static func wait(_ call: Call) throws(Problem) -> Int? {
        if let wait = try call.parameters.count("wait") { return min(wait, longestWait) }
        guard let text = call.head.preferences.first(where: { $0.name == "wait" })?.value else { return nil }
        return text.wholeNumber.map { min($0, longestWait) }
    }

    /// The id of the last event that a reconnecting reader saw; one of no revision's form is no base.
    private static func lastEvent(_ call: Call) -> Since? {
        guard let id = call.head["last-event-id"], !id.isEmpty else { return nil }
        return Revision(id).map(Since.revision) ?? .unreadable
    }
}
