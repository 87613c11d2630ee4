import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// One reader's stream of events, of one session or of several on one connection. Writes the answers of its
/// subscriptions as soon as the peer has taken the previous ones.
final class EventStream: Subscriber, @unchecked Sendable {
    // Sendable, since its subscriptions are; everything is confined to the loop of `writer`.

    static let heartbeat = Duration.seconds(15)
    /// How many bytes to write before the peer must have taken them.
    private static let batch = 64 * 1024

    let call: Call
    let form: EventForm
    let writer: StreamWriter
    /// The subscriptions, which also hold the stream; empty once it is over.
    private(set) var lists: [Subscription] = []
    /// The list to send first.
    private var first = 0
    private var timers: [Purpose: Timer] = [:]

    private enum Purpose { case heartbeat, expiry, life, drain, outage }

    private init(_ call: Call, _ form: EventForm, _ writer: StreamWriter) {
        (self.call, self.form, self.writer) = (call, form, writer)
    }

    /// - Parameter view: the head of the first session, if it has been read and exists.
    static func response(_ call: Call, _ bases: [ResumeRequest], _ form: EventForm, first view: SessionView? = nil)
        throws(Problem) -> Response
    {
        let table = call.service.table
        let limit = table.bounds.readers
        let isAnonymous = call.identity.isAnonymous
        for base in bases where table.anySlot(base.session)?.isFull(limit, isAnonymous: isAnonymous) == true {
            throw .tooManyReaders(isAnonymous ? limit / 2 : limit)
        }
        let call = try call.lasting(form.options.projection, lists: bases.count)
        return Response(
            status: 200,
            fields: [
                Field("Content-Type", ChangesForm.eventType), Field("Cache-Control", "no-store"),
                // Asks proxies to pass on each event at once (RFC 10036), and nginx in its own way.
                Field("Incremental", "?1"), Field("X-Accel-Buffering", "no"),
            ],
            body: .stream { writer in EventStream(call, form, writer).begin(bases, view) },
            label: AnswerLabel(.stream).code, isCompressible: true)
    }

    // MARK: Life

    private func begin(_ bases: [ResumeRequest], _ view: SessionView?) {
        lists = bases.map { base in
            let holds = call.service.source?.list(of: base.session)?.holdsChanges == true
            return Subscription(
                call, base, .stream(pace: form.pace, hold: holds ? EventForm.hold : .zero), form.options, for: self,
                on: writer.loop)
        }
        writer.shortenHead(to: call.head)
        call.times?.enter(.held)
        call.follow(lists[0])
        call.service.metrics.began(.stream)
        writer.onClose { self.leave() }
        for list in lists {
            if let problem = list.join(at: view?.slot) { return end(problem) }
        }
        guard !writer.isClosed else { return }
        writer.onWritable { self.send() }
        if form.isOfMany {
            // The lists follow as soon as the primer has been sent.
            writer.write(Event.primer(cursor))
        } else {
            let isUsable = view?.isUsable(bases[0].since, form.options.projection) == true
            writer.write(Event.primer(isUsable ? bases[0].since.revision?.text ?? "" : ""))
            lists[0].begin(from: view)
        }
        beat()
        if let expires = call.identity.token?.expires {
            let left = Duration.seconds(max(0, expires.seconds - WallTime.now.seconds))
            after(left, .expiry) { $0.end(Problem(.unauthenticated, "the token has expired")) }
        }
        if let life = call.service.settings.streamLife {
            // Spread out: readers that came together would also come back together.
            after(life * Double.random(in: 0.8...1), .life) { $0.close() }
        }
        if let time = call.service.timeToLeave { leave(after: time) }
    }

    var cursor: String { StreamCursor.text(lists.map(\.moved)) }

    /// Lets the lists send their news, unless their last events were too recent.
    func send() {
        guard !writer.isClosed, writer.isWritable else { return }
        var room = Self.batch
        // A copy, since any of them may end the stream.
        let lists = lists
        for index in lists.indices.map({ ($0 + first) % lists.count }) {
            guard room > 0 else { return }
            room -= lists[index].proceed()
            if room <= 0 { first = (index + 1) % lists.count }
        }
    }

    private func beat() {
        after(Self.heartbeat, .heartbeat) { stream in
            // An open stream counts as a read.
            for list in stream.lists { _ = stream.call.service.table.slot(list.name) }
            if stream.writer.isWritable { for list in stream.lists { list.handle(.beat) } }
            if stream.writer.isWritable { stream.writer.write(Event.heartbeat) }
            stream.beat()
        }
    }

    private func after(_ time: Duration, _ purpose: Purpose, _ action: @escaping @Sendable (EventStream) -> Void) {
        timers[purpose]?.cancel()
        timers[purpose] = writer.loop.schedule(after: time) { [weak self] in
            guard let self, !self.writer.isClosed else { return }
            self.timers[purpose] = nil
            action(self)
        }
    }

    // MARK: Subscriptions

    var isCompressed: Bool { writer.isCompressed }

    func isDue(_ list: Subscription) { send() }

    func answered(_ list: Subscription, _ answer: ChangesAnswer, lag: Duration) -> Int {
        let count = answer.write(to: writer, after: form.isOfMany ? Event.begin(cursor) : [])
        call.service.metrics.streamed(count, of: list.name, lag: lag)
        return count
    }

    func renamed(_ list: Subscription, _ name: Revision) -> Int {
        let event = Event.moved(form.isOfMany ? cursor : name.text)
        writer.write(event)
        return event.count
    }

    func isMissing(_ list: Subscription) -> Int {
        let comment = Event.missing(list.name)
        writer.write(comment)
        return comment.count
    }

    func refused(_ list: Subscription, _ problem: Problem) { end(problem) }

    func leave(after time: Duration) { after(time, .drain) { $0.end(.draining) } }

    func storeChanged(leavingAfter time: Duration?) {
        timers.removeValue(forKey: .outage)?.cancel()
        if let time { after(time, .outage) { $0.end(.storeIsSilent) } }
    }

    /// A session has ended. A stream of several continues, and waits for the session to be created again.
    func ended(_ list: Subscription, _ problem: Problem) {
        guard form.isOfMany, problem.type == .sessionNotFound else { return end(problem) }
        var problem = problem
        problem.session = list.name
        writer.write(Event.end(problem, instance: call.head.instance))
        if let problem = list.restart() { end(problem) }
    }

    private func end(_ problem: Problem) {
        guard !writer.isClosed else { return }
        writer.write(Event.end(problem, instance: call.head.instance))
        close()
    }

    private func close() {
        writer.finish()
        leave()
    }

    private func leave() {
        let left = exchange(&lists, with: [])
        for list in left { list.leave() }
        call.leave(left[0])
        for timer in timers.values { timer.cancel() }
        timers = [:]
        call.service.metrics.ended(.stream)
    }
}

/// The format of a stream's events, and their pace.
struct EventForm: Sendable {
    private(set) var options: ChangesOptions
    /// The least time between two events of one session.
    let pace: Duration

    /// Whether the stream covers several sessions, so that each event names its own and carries the reader's cursor.
    var isOfMany: Bool { options.form.isOfMany }

    /// The shortest and the default pace, in milliseconds.
    private static let minPace = 50
    /// How long a change of a list of several sources is held back.
    static let hold = Duration.milliseconds(minPace)

    init(_ options: ChangesOptions, pace: Duration, isOfMany: Bool = false) {
        (self.options, self.pace) = (options, pace)
        self.options.style.form.isOfMany = isOfMany
    }

    static func pace(_ parameters: Parameters) throws(Problem) -> Duration {
        try parameters.seconds("every", milliseconds: minPace...60_000) ?? .milliseconds(minPace)
    }
}

/// The revisions that a reader of several sessions has, as the id of an event, which browsers send back when they
/// reconnect: by the sessions' indexes in the request, `3=17-9f86d081884c7d65,5=2-…`. Those that the reader still has
/// from the request are left out. For other sessions it leads to resets, since digests differ.
enum StreamCursor {
    static func text(_ revisions: [Revision?]) -> String {
        revisions.enumerated().compactMap { index, revision in revision.map { "\(index)=\($0.text)" } }
            .joined(separator: ",")
    }

    /// Parses a cursor into revisions by index; nil if it is malformed or has other indexes.
    static func revisions(_ text: String, count: Int) -> [Int: Revision]? {
        var revisions: [Int: Revision] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, let index = pair[0].wholeNumber, index < count,
                let revision = Revision(String(pair[1])), revisions.updateValue(revision, forKey: index) == nil
            else { return nil }
        }
        return revisions
    }
}
