import HTTPCore
import SnapshotKit

/// A new state, or edits, in; what changed out.
final class PostChanges: Sendable {
    private let call: Call
    private let shape: StateShape
    private let conditions: WriteConditions
    private let since: Since
    private let wish: ChangesWish

    private init(_ call: Call) throws(Problem) {
        self.call = call
        since = try call.parameters.since()
        shape = try call.parameters.shape()
        wish = try ChangesWish(call.parameters, call.acceptance)
        conditions = WriteConditions(call)
    }

    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let post = try PostChanges(call)
        return { (body) throws(Problem) in try post.answer(body) }
    }

    private func answer(_ body: consuming [UInt8]) throws(Problem) -> Reply {
        try conditions.check()
        let service = call.service
        let keyed =
            conditions.key == nil ? nil : RequestFingerprint(body, shape: call.parameters, by: service.store.hash)
        let request = try ChangesRequest(
            posting: body, shape, known: call.expected()?.head.snapshot,
            takesStates: call.identity.maySendStates, limits: service.options.stateLimits,
            defaults: service.options.defaultSettings)
        // Of edits, and of whatever has a key: a state is compared itself.
        let fingerprint =
            keyed ?? request.edits.map { RequestFingerprint($0, shape: call.parameters, by: service.store.hash) }
        return try SessionWork(call: call, isWrite: true) { [self] (reading) throws(Problem) in
            guard let reading else { return try first(request, fingerprint) }
            return try next(reading, request, fingerprint)
        }.reply()
    }

    // MARK: Steps

    /// Makes the session.
    private func first(_ request: ChangesRequest, _ fingerprint: RequestFingerprint?) throws(Problem) -> Step {
        guard case .state(let state, _) = request.content else { throw .noSession(call.session) }
        if conditions.match != nil { throw .mismatch(current: nil) }
        var session = call.writing.firstSession(state, settings: request.settings, after: nil, maker: fingerprint)
        conditions.remember(&session, status: 201, before: nil, fingerprint)
        return .put(session) { [self, session] slot in
            answer(slot, session, status: 201, minimalFrom: nil, base: since == .absent ? .nothing : since)
        }
    }

    /// Computes the next session, unless this request was done before or changes nothing.
    private func next(_ reading: Reading, _ request: ChangesRequest, _ fingerprint: RequestFingerprint?) throws(Problem)
        -> Step
    {
        let before = reading.session
        if let entry = try conditions.replayed(before, fingerprint) {
            return again(reading, status: entry.status, from: entry.before)
        }
        if try !conditions.isMet(before.head.revision, call) {
            // Not the head that was named; but perhaps the head is what this very write made of it, and the answer was
            // lost.
            guard let parent = before.head.parent, conditions.match?.revision == parent,
                try request.leads(to: before, call.writing, fingerprint)
            else { throw .mismatch(current: before.head.revision) }
            return again(reading, status: 200, from: parent)
        }
        if let sequence = reading.missing(since) { return .recall(sequence) }
        var (after, changeset) = try request.session(after: before, call.writing, fingerprint)
        if conditions.key == nil, after.head.revision == before.head.revision {
            return reading.isCertain
                ? .answer(.now(answer(reading.slot, after, changeset, from: before.head.revision))) : .verify
        }
        conditions.remember(&after, status: 200, before: before.head.revision, fingerprint)
        return .put(after) { [self, after, changeset] slot in answer(slot, after, changeset, from: before.head.revision)
        }
    }

    /// What a write that was done before would answer now: from the head before the first try, if the client names no
    /// other.
    private func again(_ reading: Reading, status: Int, from before: Revision?) -> Step {
        guard reading.isCertain else { return .verify }
        let base = since == .absent ? before.map(Since.revision) ?? .nothing : since
        if let sequence = reading.missing(base) { return .recall(sequence) }
        return .answer(.now(answer(reading.slot, reading.session, status: status, minimalFrom: before, base: base)))
    }

    // MARK: Answers

    /// Of a write to a session that was at `before`: its own changeset, unless the client stands elsewhere.
    private func answer(_ slot: SessionSlot, _ after: Session, _ changeset: Changeset, from before: Revision)
        -> Response
    {
        guard !conditions.wantsMinimal, since == .absent || since == .revision(before) else {
            return answer(slot, after, status: 200, minimalFrom: before, base: since)
        }
        let reading = Reading(slot, after, of: call.service.table)
        return call.service.counted(ChangesAnswer(changeset, from: before, to: reading.destination, wish)).response()
    }

    private func answer(
        _ slot: SessionSlot, _ session: Session, status: Int, minimalFrom before: Revision?, base: Since
    ) -> Response {
        let location = status == 201 ? [Field("Location", "/v1/sessions/\(call.session)")] : []
        if conditions.wantsMinimal { return minimal(before, session, status, location) }
        let reading = Reading(slot, session, of: call.service.table)
        return call.service.counted(reading.answer(since: base, wish)).response(status: status, fields: location)
    }

    private func minimal(_ before: Revision?, _ session: Session, _ status: Int, _ fields: [Field]) -> Response {
        var from = before
        if case .revision(let revision) = since { from = revision }
        if since == .nothing { from = nil }
        var writer = JSONWriter()
        writer.append("{\"session\":")
        writer.append(string: call.session)
        writer.append(",\"from\":")
        if let from { writer.append(string: from.text) } else { writer.append("null") }
        writer.append(",\"to\":")
        writer.append(string: session.head.revision.text)
        writer.append(byte: UInt8(ascii: "}"))
        return Response(
            status: status,
            fields: [
                Field("Content-Type", "application/json"), Field("Cache-Control", "no-store"),
                Field("Preference-Applied", "return=minimal"),
            ] + fields, body: .bytes(writer.bytes()))
    }
}
