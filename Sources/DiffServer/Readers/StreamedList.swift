import HTTPCore
import Synchronization

/// One session on a stream: what was sent of it, and whether there is more. Confined to the stream's loop.
final class StreamedList: SessionReader, @unchecked Sendable {
    // Sendable for the slot; everything but `isWoken` is confined to the loop.

    let name: String
    private let stream: EventStream
    private var slot: SessionSlot?
    /// What the reader has: the last event's revision, or the request's if events are not adopted.
    private var sent: Since
    /// The newest base that shows the same as `sent`, if it is known.
    private var base: ReaderBase?
    /// Whether `sent` differs from what the request says.
    private var hasMoved = false
    /// With the current anchor of a window.
    private var options: ChangesOptions
    /// Whether a broken stream is resumed, and no session has been found yet.
    private var isResumed: Bool
    /// Keeps the reader's view up to date.
    private var seen: SeenView?
    /// The head that the reader was last told of.
    private var told: Revision?
    /// Whether the last event said that the session's source is silent.
    private var isToldStale = false
    /// Whether the last event said that the session has ended: when it is back, the next one says so, even if it has
    /// nothing else to say.
    private var isToldEnded = false
    private var isDirty = true
    /// Whether the next event is being made, by the store or by a worker.
    private var isBusy = false
    private var lastWrite: Instant?
    private var timer: Timer?
    private let isWoken = Atomic<Bool>(false)

    /// Its memory in bytes, besides its slot's.
    static let footprint = 256
    /// Until the store is asked again after a failure.
    private static let retry = Duration.seconds(1)

    init(_ stream: EventStream, _ base: FollowedBase) {
        (self.stream, name, sent, hasMoved) = (stream, base.session, base.since, base.isOfCursor)
        (options, isResumed) = (stream.form.options, base.isResumed)
    }

    private var service: DiffService { stream.call.service }
    private var writer: StreamWriter { stream.writer }

    /// What the reader has, if the request says something else.
    var moved: Revision? {
        if hasMoved, case .revision(let revision) = sent { revision } else { nil }
    }

    // MARK: Life

    /// Registers with the session's slot, or with the slot where the session will appear.
    ///
    /// - Parameter known: the slot, if it has been found.
    /// - Returns: why it could not.
    func join(at known: SessionSlot?) -> Problem? {
        var known = known
        while true {
            guard let slot = known ?? service.table.slotToAwait(name) else { return .tooManyAwaited }
            switch slot.add(self, limit: service.table.bounds.readers) {
            case .tooMany: return Problem(.tooManyStreams, "too many readers wait already")
            // The session has just been deleted.
            case .gone: known = nil
            case .added:
                self.slot = slot
                service.watch(slot)
                return nil
            }
        }
    }

    func leave() {
        timer?.cancel()
        timer = nil
        guard let slot else { return }
        service.table.remove(self, from: slot)
        service.watch(slot)
        (self.slot, seen) = (nil, nil)
    }

    /// Waits for the session again, of whose end the reader was told.
    func rejoin() -> Problem? {
        leave()
        isToldEnded = true
        return join(at: nil)
    }

    /// Reads the session, and sends what is new.
    func begin() {
        (isDirty, told) = (true, nil)
        _ = send()
    }

    /// The same if the session has been read.
    ///
    /// - Parameters:
    ///   - view: the head; nil if there is no session.
    ///   - prime: called with the base that changes can start from, before anything is sent.
    func begin(from view: SessionView?, prime: (Revision?) -> Void) {
        let isUsable = view?.isUsable(sent, options.sight) == true
        if isUsable, case .revision(let revision) = sent { prime(revision) } else { prime(nil) }
        // There may have been a commit since.
        guard slot?.revision == view?.session.head.revision else { return begin() }
        isDirty = false
        if let view { _ = send(view) }
    }

    func sessionChanged() {
        guard !isWoken.exchange(true, ordering: .relaxed) else { return }
        writer.loop.execute { [self] in
            isWoken.store(false, ordering: .relaxed)
            isDirty = true
            stream.send()
        }
    }

    func sourceChanged() { sessionChanged() }

    /// Whether the reader has to be told that the session's source is silent, or is heard again.
    private var isNewsOfSource: Bool { (service.upstream?.staleness(of: name) != nil) != isToldStale }

    func sessionEnded(_ problem: Problem) { writer.loop.execute { self.stream.ended(self, problem) } }

    // MARK: Sending

    /// Sends one changeset to the head, if there is news and the last one was long enough ago.
    ///
    /// - Returns: the bytes written.
    func send() -> Int {
        guard isDirty, !isBusy, let slot else { return 0 }
        if let lastWrite, .now - lastWrite < stream.form.pace {
            after(stream.form.pace - (.now - lastWrite))
            return keepUp(with: slot)
        }
        guard let view = SessionView(slot, of: service.table) else {
            fetch()
            return 0
        }
        return send(view)
    }

    /// Moves the base on before it is forgotten, though it is too early for another event. At most the reader's
    /// revision is sent.
    private func keepUp(with slot: SessionSlot) -> Int {
        guard !options.sight.showsAll, !isToldEnded, let base, let session = slot.awakeSession else { return 0 }
        let view = SessionView(slot, session, of: service.table)
        guard view.isFading(base.revision), !view.isLong(options.sight, from: base.revision),
            case .nothing(let same) = view.news(since: sent, from: base, options)
        else { return 0 }
        (told, self.base) = (session.head.revision, same)
        return refresh(view)
    }

    /// Reads the session from the store. The stream stays open while the store is unreachable.
    private func fetch() {
        (isDirty, isBusy) = (false, true)
        // If the session was in memory before.
        let known = slot?.revision
        let call = stream.form.isOfMany ? stream.call.of(name) : stream.call
        call.find().whenDone { [self] result in
            writer.loop.execute { [self] in
                isBusy = false
                guard !writer.isClosed else { return }
                switch result {
                case .success(let view?): _ = send(view)
                case .success(nil):
                    // It has ended without notice, or does not exist yet.
                    if let slot, let known { _ = service.table.drop(slot, at: known) }
                    _ = send()
                case .failure:
                    isDirty = true
                    after(Self.retry)
                }
            }
        }
    }

    private func send(_ view: SessionView) -> Int {
        isDirty = false
        guard told != view.session.head.revision || isNewsOfSource else {
            checkOvertaken(view)
            return 0
        }
        seen = view.seen(of: options.sight)
        guard view.isLong(options.sight, from: base?.revision) else { return write(news(of: view), from: view) }
        isBusy = true
        service.workers.run { [self, slot = view.slot, held = view.held, isCompressed = writer.isCompressed] in
            // Nothing of this list changes while it is busy.
            let view = held ?? SessionView(slot, of: service.table)
            let news = view.flatMap { $0.hasRoom ? (self.news(of: $0), $0) : nil }
            if isCompressed, case .changes(let answer) = news?.0.news { answer.deflate() }
            writer.loop.execute { [self, hasLeft = view == nil] in
                isBusy = false
                guard !writer.isClosed else { return }
                if let (news, view) = news { _ = write(news, from: view) } else { isDirty = true }
                if hasLeft { stream.send() } else if isDirty { after(news == nil ? Self.retry : stream.form.pace) }
            }
        }
        return 0
    }

    /// What there is to tell, and the options of what follows.
    private func news(of view: SessionView) -> (news: News, ChangesOptions) {
        let options = isResumed ? view.resuming(options, since: sent) : options
        // A reader of the whole session is told of each commit once it has its first answer; one of counts, of each
        // that it sees.
        if let told, options.sight.showsAll || !options.form.dialect.isAdopted {
            let isSame = !options.sight.showsAll && view.isSame(since: told, options.sight)
            let head = ReaderBase(revision: view.session.head.revision)
            let isSilent = isSame && !isNewsOfSource
            return (isSilent ? .nothing(head) : .changes(view.answer(since: sent, options)), options)
        }
        let news = view.news(since: sent, from: base, options)
        guard case .nothing(let same) = news, isNewsOfSource || isToldEnded else { return (news, options) }
        return (.changes(view.answer(since: sent, from: same, options)), options)
    }

    private func write(_ news: (news: News, options: ChangesOptions), from view: SessionView) -> Int {
        (options, isResumed) = (news.options, false)
        guard seen?.isRefused != true else {
            stream.end(.crowded)
            return 0
        }
        let head = view.session.head
        let isAdopted = options.form.dialect.isAdopted
        let isOfSource = told == head.revision
        told = head.revision
        defer { checkOvertaken(view) }
        switch news.news {
        case .nothing(let same):
            guard isAdopted else { return 0 }
            base = same
            return options.sight.showsAll ? 0 : refresh(view)
        case .changes(let answer):
            // The source may have been heard again while a worker wrote that it is silent.
            if isOfSource, !isNewsOfSource { return 0 }
            let answer = service.told(answer, of: name)
            (isToldStale, isToldEnded) = (answer.isStale, false)
            if isAdopted {
                if let to = answer.to { sent = .revision(to) }
                (base, hasMoved) = (ReaderBase(revision: head.revision, place: answer.to?.place), true)
            }
            if let anchor = answer.anchor, case .around = options.sight.window?.anchor {
                options.sight.window?.anchor = .around(anchor)
            }
            let now = Instant.now
            lastWrite = now
            service.metrics.streamLagged(now - head.made)
            return answer.write(to: writer, after: stream.form.isOfMany ? Event.begin(stream.cursor) : [])
        }
    }

    /// Sends the reader's newer revision before the one that it has is forgotten.
    func refresh() {
        guard !isBusy, !options.sight.showsAll, let slot, writer.isWritable, let session = slot.awakeSession,
            session.head.revision == told
        else { return }
        _ = refresh(SessionView(slot, session, of: service.table))
    }

    private func refresh(_ view: SessionView) -> Int {
        guard case .revision(let revision) = sent, let base, view.isFading(revision) else { return 0 }
        let name = view.name(of: base, options.sight)
        guard name != revision else { return 0 }
        (sent, hasMoved) = (.revision(name), true)
        let event = Event.moved(stream.form.isOfMany ? stream.cursor : name.text)
        writer.write(event)
        return event.count
    }

    /// The session may have changed while the store was reading it, too early for `sessionChanged`.
    private func checkOvertaken(_ view: SessionView) {
        guard let now = slot?.revision, now.sequence > view.session.head.revision.sequence else { return }
        isDirty = true
        after(stream.form.pace)
    }

    private func after(_ time: Duration) {
        guard timer == nil else { return }
        timer = writer.loop.schedule(after: time) { [weak self] in
            guard let self, !self.writer.isClosed else { return }
            self.timer = nil
            self.stream.send()
        }
    }
}

extension Problem {
    static var tooManyAwaited: Problem { Problem(.capacity, "too many readers wait for sessions that do not exist") }
}
