import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The changes of several sessions, as one answer or one stream.
enum GetManyChanges {
    /// The most sessions in one request.
    static let maxSessions = 64

    static func answer(_ call: Call) throws(Problem) -> Reply {
        var bases = try bases(call)
        call.lookUpShared()
        guard bases.allSatisfy({ call.identity.has(.read, session: $0.session) }) else {
            throw Problem(.forbidden, "these credentials do not cover all of these sessions")
        }
        let pace = try EventForm.pace(call.parameters)
        let options = try ChangesOptions(call, streams: true)
        guard !options.form.isBarePatch else {
            throw .notAcceptable(ChangesForm.mediaTypes.filter { $0 != MediaType.jsonPatch })
        }
        for base in bases { call.countView(options.projection, of: base.session) }
        guard options.form.isEvent else { return .later { ManyAnswers(call, bases, options, $0).next() } }
        resume(&bases, call)
        return .later { [bases] in open(call, bases, EventForm(options, pace: pace, isOfMany: true), $0) }
    }

    /// Begins a stream once the store has been asked for every session, as a single one would be: the sessions and
    /// revoked tokens that this process knows may be out of date. Does not wait for sources. A session that cannot be
    /// read is asked for again in its turn, unless none could be read.
    private static func open(_ call: Call, _ bases: [ResumeRequest], _ form: EventForm, _ pending: Pending) {
        let asked = Locked((bases: bases, left: bases.count, problem: Problem?.none))
        for index in bases.indices {
            let name = bases[index].session
            Transaction(FindSession(fetches: false), for: call.of(name)).run().whenDone { result in
                let all = asked.withLock { asked in
                    asked.left -= 1
                    if case .failure(let failure) = result {
                        if asked.problem?.type != .unauthenticated { asked.problem = Problem(failure, of: name) }
                    } else {
                        asked.bases[index].isRead = true
                    }
                    return asked
                }
                guard all.left == 0 else { return }
                call.answer(pending) { () throws(Problem) in
                    let isRefused = all.problem?.type == .unauthenticated || !all.bases.contains(where: \.isRead)
                    if isRefused, let problem = all.problem { throw problem }
                    return .now(try EventStream.response(call, all.bases, form))
                }
            }
        }
    }

    /// The sessions in the query, each with the reader's revision: `feed@2-0c4f77d1aa19be02`.
    private static func bases(_ call: Call) throws(Problem) -> [ResumeRequest] {
        let items = call.parameters.all(["session"])
        guard !items.isEmpty else { throw .malformed("name the sessions: ?session=a&session=b@2-0c4f77d1aa19be02") }
        guard items.count <= maxSessions else {
            throw Problem(
                .limitExceeded, "at most \(maxSessions) sessions are allowed in one request", limit: maxSessions,
                actual: items.count)
        }
        var bases: [ResumeRequest] = []
        for item in items {
            let parts = item.value.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            let since: Since = try parts.count > 1 ? Since(named: String(parts[1])) : .absent
            try DiffService.check(session: name)
            guard !bases.contains(where: { $0.session == name }) else {
                throw .malformed("the session \"\(name)\" is given twice")
            }
            bases.append(ResumeRequest(session: name, since: since))
        }
        return bases
    }

    /// Resumes from the last event that a reconnecting reader has seen, or from nothing if its id is not a cursor.
    private static func resume(_ bases: inout [ResumeRequest], _ call: Call) {
        guard let id = call.head["last-event-id"], !id.isEmpty else { return }
        guard let revisions = StreamCursor.revisions(id, count: bases.count) else {
            for index in bases.indices { bases[index].since = .unreadable }
            return
        }
        for (index, revision) in revisions {
            (bases[index].since, bases[index].isOfCursor) = (.revision(revision), true)
        }
    }
}

/// One answer about several sessions. They are read one by one, so that memory need not hold them all.
private final class ManyAnswers: @unchecked Sendable {
    // Sendable, since its steps run one after another, on any thread.

    /// The limit of the answer, in bytes. The first session's part may exceed it.
    private static let maxBytes = 16 << 20

    private let call: Call
    private let bases: [ResumeRequest]
    private let options: ChangesOptions
    private let pending: Pending
    private let share: MemoryShare
    /// Parts to be written: bytes that other requests share are copied only once everything is known.
    private var parts: [Body] = []
    /// The length of all parts, with a byte between every two.
    private var length = 0
    /// The cost of the states read so far.
    private var read = WorkCost.none
    /// All sessions together wait for sources as long as one would.
    private let deadline = Instant.now + Call.patience
    /// Whether a session did not fit. Later ones are not read.
    private var isFull = false

    init(_ call: Call, _ bases: [ResumeRequest], _ options: ChangesOptions, _ pending: Pending) {
        (self.call, self.bases, self.options, self.pending) = (call, bases, options, pending)
        share = MemoryShare(of: call.service.table.account.outgoing)
    }

    /// Continues with the next session, or answers after the last one.
    func next() {
        while parts.count < bases.count, !pending.isGone {
            // Many sessions together take as long as a large one.
            if read.isLong, !call.cost.isLong {
                guard call.service.takesLongWork else { return pending.answer(call.refusal(.crowded)) }
                call.cost = read
                return call.runLong { self.next() }
            }
            let base = bases[parts.count]
            if isFull {
                put(later(base))
                continue
            }
            switch call.of(base.session, until: deadline).find() {
            case .done(let result): guard take(result) else { return }
            case .pending(let promise): return promise.whenKept { [self] in if take($0) { next() } }
            }
        }
        finish()
    }

    /// - Returns: whether to continue. Who may not read one session gets nothing, not even what was read before.
    private func take(_ result: Result<SessionView?, TransactionFailure>) -> Bool {
        let result = result.mapError { Problem($0, of: bases[parts.count].session) }
        if case .failure(let problem) = result, problem.type == .unauthenticated {
            pending.answer(call.refusal(problem))
            return false
        }
        put(answer(result))
        return true
    }

    private func finish() {
        var writer = JSONWriter(capacity: length + 16)
        for (index, part) in parts.enumerated() {
            writer.append(index == 0 ? "{\"answers\":[" : ",")
            switch part {
            case .bytes(let bytes): writer.append(bytes)
            case .shared(let prefix, let rest):
                writer.append(prefix)
                rest.bytes.withUnsafeBytes { writer.append($0.baseAddress!, $0.count) }
            case .empty, .unsent, .stream: preconditionFailure("a part has bytes")
            }
        }
        writer.append("]}\n")
        let body = SharedBody(writer.bytes(), in: call.service.table.account.outgoing)
        let response = Response(
            status: 200, fields: .uncached(options.form.mediaType), body: .shared(body), isCompressible: true)
        pending.answer(call.finish(response))
    }

    private func put(_ part: Body) {
        parts.append(part)
        length += part.count + 1
    }

    private func answer(_ result: Result<SessionView?, Problem>) -> Body {
        let base = bases[parts.count]
        do throws(Problem) {
            guard let view = try result.get() else { throw .noSession(base.session) }
            try view.checkRoom()
            if !view.hasNothing(since: base.since) { read = read + view.cost(times: call.scanCount) }
            let answer = call.service.counted(
                view.answer(since: base.since, call.service.remarked(options, of: base.session)))
            guard parts.isEmpty || length + answer.count <= Self.maxBytes else {
                isFull = true
                return later(base)
            }
            guard share.resize(to: length + answer.count) else { throw .crowded }
            return answer.body
        } catch {
            call.isCacheable = false
            return member(of: base, "problem", error.json(instance: call.head.instance))
        }
    }

    private func later(_ base: ResumeRequest) -> Body { member(of: base, "later", Array("true".utf8)) }

    private func member(of base: ResumeRequest, _ name: StaticString, _ value: [UInt8]) -> Body {
        var object = JSONObject()
        object.text("session", base.session)
        object.json(name, value)
        return .bytes(object.bytes())
    }
}
