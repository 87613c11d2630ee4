import DiffSessions
import DiffStores
import HTTPCore

/// The changes since a reader's revision: now, as soon as there are any (a long poll), or as a stream.
struct GetChanges: SessionEndpoint {
    /// The longest time that a request is held, in seconds.
    private static let maxWait = 60

    let call: Call
    private let since: Since
    /// Whether the request resumes a broken stream.
    private let isResumed: Bool
    private let wait: Int
    private let options: ChangesOptions
    private let pace: Duration

    init(_ call: Call) throws(Problem) {
        self.call = call
        let since = try call.parameters.since()
        let wait = try Self.wait(call)
        pace = try EventForm.pace(call.parameters)
        options = try ChangesOptions(call, streams: true)
        if wait != nil, !options.form.dialect.isAdopted {
            let dialect = options.form.dialect.rawValue
            throw .malformed("\(dialect) cannot be combined with wait: leave wait out, or ask for an event stream")
        }
        self.wait = wait ?? 0
        let resumed = options.form.isEvent ? Self.lastEvent(call) : nil
        (self.since, isResumed) = (resumed ?? since, resumed != nil)
    }

    func operation(_ body: consuming [UInt8]) -> FindSession { FindSession() }

    func reply(_ session: Session?, in slot: SessionSlot?) throws(Problem) -> Reply {
        let view = session.map { SessionView(slot, $0, of: call.service.table) }
        if options.form.isEvent {
            let options = isResumed ? view?.resuming(options, since: since) ?? options : options
            let resume = ResumeRequest(session: call.session, since: since, isRead: true)
            return .now(try EventStream.response(call, [resume], EventForm(options, pace: pace), first: view))
        }
        let options = call.service.remarked(options, of: call.session)
        // From here on, the session need not exist yet.
        guard wait > 0 else {
            guard let view else { throw .noSession(call.session) }
            try view.checkRoom(since: since, options)
            return .now(call.service.counted(view.answer(since: since, options)).response())
        }
        var base: ReaderState?
        if let view {
            try view.checkRoom(since: since, options)
            switch view.update(since: since, options) {
            case .changes(let answer): return .now(call.service.counted(answer).response())
            case .nothing(let same): base = same
            }
        }
        let lasting = try call.lasting(self.options.projection)
        return .later { [base] in
            HeldRequest.hold(lasting, view, since: since, compared: base, self.options, for: .seconds(wait), $0)
        }
    }

    /// How long the client wants to wait, in seconds: `?wait=`, or else `Prefer: wait=`.
    private static func wait(_ call: Call) throws(Problem) -> Int? {
        let preferred = { call.head.preferences.first { $0.name == "wait" }?.value.wholeNumber }
        return (try call.parameters.count("wait") ?? preferred()).map { min($0, maxWait) }
    }

    /// The last event that a reconnecting reader has seen.
    private static func lastEvent(_ call: Call) -> Since? {
        guard let id = call.head["last-event-id"], !id.isEmpty else { return nil }
        return Revision(id).map(Since.revision) ?? .unreadable
    }
}
