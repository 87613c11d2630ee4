// A stream has no queue: it is (last sent, dirty). Whatever happened since the last event, the next one leads from
// there to the head; a slow reader gets fewer and larger steps, and costs no memory that grows. All of it runs on the
// connection's loop.

import HTTPCore
import Synchronization

/// One reader's stream of events.
final class EventStream: SessionReader, @unchecked Sendable {
    // Sendable to be handed to the slot; everything but `isWoken` is confined to the loop of `writer`.

    /// Between two writes, at least.
    static let pace = Duration.milliseconds(50)
    static let heartbeat = Duration.seconds(15)
    /// Until a store that did not bring the session is asked again.
    private static let retry = Duration.seconds(1)

    private let call: Call
    private let slot: SessionSlot
    private let options: ChangesOptions
    private let writer: StreamWriter
    /// What the reader has: where the last event led, or, where that is not adopted, what it came with.
    private var sent: Since
    private var isDirty = true
    /// Whether the next event is being made: the store was asked for the session, which has left memory, or a worker
    /// compares states.
    private var isBusy = false
    private var lastWrite = Instant.now
    private var timers: [Purpose: Timer] = [:]
    private let isWoken = Atomic<Bool>(false)

    /// What a timer is for; there is one each at most.
    private enum Purpose {
        case pace, heartbeat, expiry, life
    }

    private init(_ call: Call, _ slot: SessionSlot, _ since: Since, _ options: ChangesOptions, _ writer: StreamWriter) {
        (self.call, self.slot, self.options, self.writer) = (call, slot, options, writer)
        sent = since
    }

    /// The answer that begins a stream.
    static func response(_ call: Call, _ view: SessionView, since: Since, _ options: ChangesOptions) throws(Problem)
        -> Response
    {
        let limit = call.service.table.bounds.readers
        if view.slot.readerCount >= limit { throw Problem(.tooManyStreams, "\(limit) readers wait already") }
        let slot = view.slot
        return Response(
            status: 200,
            fields: [
                Field("Content-Type", ChangesForm.eventType), Field("Cache-Control", "no-store"),
                // Asks nginx not to collect the stream before it passes it on.
                Field("X-Accel-Buffering", "no"),
            ],
            body: .stream { writer in EventStream(call, slot, since, options, writer).begin(from: view) })
    }

    // MARK: Life

    private func begin(from first: SessionView) {
        switch slot.add(self, limit: call.service.table.bounds.readers) {
        case .tooMany: return refuse(Problem(.tooManyStreams, "too many readers wait already"))
        case .gone: return refuse(.noSession(call.session))
        case .added: call.service.store.watch(slot)
        }
        call.service.metrics.streamOpened()
        writer.onClose { self.leave() }
        guard !writer.isClosed else { return }
        writer.onWritable { self.send() }
        primeAndSend(first)
        beat()
        if let expires = call.identity.expires {
            let left = Duration.seconds(max(0, expires.seconds - WallTime.now.seconds))
            after(left, .expiry) { $0.end(Problem(.unauthenticated, "the token has expired")) }
        }
        if let life = call.service.options.streamLife {
            // Not all at once: readers that came together would also come back together.
            after(life * Double.random(in: 0.8...1), .life) { $0.close() }
        }
    }

    /// - Parameter first: the head as it was when the stream was asked for.
    private func primeAndSend(_ first: SessionView) {
        var own: Revision?
        if case .revision(let revision) = sent, first.isUsable(sent) { own = revision }
        writer.write(Event.primer(own))
        // A commit may have come since.
        guard slot.revision == first.session.head.revision else { return sendNow() }
        if first.hasNothing(since: sent) { isDirty = false } else { send(first) }
    }

    private var view: SessionView? { SessionView(slot, of: call.service.table) }

    func sessionChanged() {
        guard !isWoken.exchange(true, ordering: .relaxed) else { return }
        writer.loop.execute { [self] in
            isWoken.store(false, ordering: .relaxed)
            isDirty = true
            send()
        }
    }

    func sessionEnded(_ problem: Problem) { writer.loop.execute { self.end(problem) } }

    // MARK: Sending

    /// Sends one changeset to the head, if there is news, the last one has left, and it was long enough ago.
    private func send() {
        guard isDirty, !isBusy, !writer.isClosed, writer.isWritable else { return }
        let wait = Self.pace - (Instant.now - lastWrite)
        guard wait <= .zero else { return after(wait, .pace) { $0.send() } }
        sendNow()
    }

    private func sendNow() {
        guard let view else { return fetch() }
        send(view)
    }

    /// Has the store bring the session back. A stream stays open while the store is out
    /// of reach.
    private func fetch() {
        isBusy = true
        call.view().whenDone { [self] result in
            writer.loop.execute { [self] in
                isBusy = false
                guard isDirty, !writer.isClosed else { return }
                switch result {
                case .success(let view): send(view)
                case .failure(let problem) where problem.type == .sessionNotFound: end(problem)
                case .failure: after(Self.retry, .pace) { $0.send() }
                }
            }
        }
    }

    private func send(_ view: SessionView) {
        isDirty = false
        guard view.isLong else { return write(view.answer(since: sent, options), from: view) }
        isBusy = true
        call.service.workers.run { [self, since = sent] in
            let answer = view.hasRoom ? view.answer(since: since, options) : nil
            writer.loop.execute { [self] in
                isBusy = false
                guard !writer.isClosed else { return }
                if let answer { write(answer, from: view) } else { isDirty = true }
                if isDirty { after(answer == nil ? Self.retry : Self.pace, .pace) { $0.send() } }
            }
        }
    }

    private func write(_ answer: ChangesAnswer, from view: SessionView) {
        let answer = call.service.counted(answer)
        if options.form.dialect.isAdopted { sent = .revision(view.session.head.revision) }
        lastWrite = .now
        call.service.metrics.streamLagged(lastWrite - view.session.head.made)
        answer.write(to: writer)
        // What the store brought may have been overtaken on the way, and that wake was for nothing then.
        if let now = slot.revision, now.sequence > view.session.head.revision.sequence {
            isDirty = true
            after(Self.pace, .pace) { $0.send() }
        }
    }

    private func beat() {
        after(Self.heartbeat, .heartbeat) { stream in
            // An open stream is a read.
            _ = stream.call.service.table.slot(stream.call.session)
            if stream.writer.isWritable { stream.writer.write(Event.heartbeat) }
            stream.beat()
        }
    }

    private func after(_ time: Duration, _ purpose: Purpose, _ action: @escaping @Sendable (EventStream) -> Void) {
        guard timers[purpose] == nil else { return }
        timers[purpose] = writer.loop.schedule(after: time) { [weak self] in
            guard let self, !self.writer.isClosed else { return }
            self.timers[purpose] = nil
            action(self)
        }
    }

    private func end(_ problem: Problem) {
        guard !writer.isClosed else { return }
        writer.write(Event.end(problem, instance: call.instance))
        close()
    }

    /// Ends a stream that the session does not know.
    private func refuse(_ problem: Problem) {
        writer.write(Event.end(problem, instance: call.instance))
        writer.finish()
    }

    private func close() {
        writer.finish()
        leave()
    }

    private func leave() {
        call.service.table.remove(self, from: slot)
        call.service.store.watch(slot)
        for timer in timers.values { timer.cancel() }
        timers = [:]
        call.service.metrics.streamClosed()
    }
}
