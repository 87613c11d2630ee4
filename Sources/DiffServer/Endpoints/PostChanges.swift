import HTTPCore
import SnapshotKit

/// A new state, or edits, in; what changed out.
enum PostChanges {
    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let since = try call.parameters.since()
        let shape = try call.parameters.shape()
        let wish = try ChangesWish(call.parameters, call.acceptance)
        return { (body) throws(Problem) in
            let conditions = try WriteConditions(call)
            let fingerprint = RequestFingerprint(body, shape: call.parameters)
            let request = try ChangesRequest(posting: body, shape, call.service.options)
            if !call.identity.maySendStates, case .state = request.content {
                throw Problem(.forbidden, "a token is good for edits; whole states need a key")
            }
            return .now(try write(call, request, fingerprint, conditions, since, wish))
        }
    }

    /// Computes the next session and commits it, again from the start whenever somebody else was faster.
    private static func write(
        _ call: Call, _ request: ChangesRequest, _ fingerprint: RequestFingerprint, _ conditions: WriteConditions,
        _ since: Since, _ wish: ChangesWish
    ) throws(Problem) -> Response {
        let writing = call.service.writing(call.session)
        while true {
            let slot = call.service.table.slot(call.session)
            guard let slot, let before = slot.session else {
                if let written = try create(writing, request, fingerprint, conditions) {
                    return answer(call, written, since, wish, conditions)
                }
                continue
            }
            let reading = Reading(slot: slot, session: before, bounds: call.service.table.bounds.history)
            if let entry = try conditions.replayed(before, fingerprint) {
                return answer(call, reading, entry, since, wish, conditions)
            }
            if try !conditions.isMet(before.head.revision, call) {
                // Not the head that was named; but perhaps the head is what this very write made of it, and the answer was lost.
                guard let parent = before.head.parent, conditions.match?.revision == parent,
                    try request.leads(to: before, writing, fingerprint)
                else { throw .mismatch(current: before.head.revision) }
                return answer(call, reading, parent: parent, since, wish, conditions)
            }
            let (next, changeset) = try request.session(after: before, writing, fingerprint)
            var written = Written(before: before, after: next, slot: slot, changeset: changeset)
            conditions.remember(&written, fingerprint)
            if try commit(written, writing.table) { return answer(call, written, since, wish, conditions) }
        }
    }

    /// Makes the session; nil if somebody else did meanwhile.
    private static func create(
        _ writing: Writing, _ request: ChangesRequest, _ fingerprint: RequestFingerprint, _ conditions: WriteConditions
    ) throws(Problem) -> Written? {
        guard case .state(let state) = request.content else { throw .noSession(writing.name) }
        if conditions.match != nil { throw .mismatch(current: nil) }
        var session = writing.firstSession(state, settings: request.settings, after: nil, maker: fingerprint)
        conditions.remember(&session, status: 201, before: nil, fingerprint)
        do throws(SessionTable.Refusal) {
            let slot = try writing.table.create(writing.name, session)
            return Written(before: nil, after: session, slot: slot, changeset: nil)
        } catch {
            guard case .conflict = error else { throw .full }
            return nil
        }
    }

    /// Puts the written session in place; false if somebody else was faster.
    private static func commit(_ written: Written, _ table: SessionTable) throws(Problem) -> Bool {
        guard let before = written.before, written.isNews || written.remembersKey else { return true }
        do throws(SessionTable.Refusal) {
            try table.commit(written.slot, at: before.head.revision, written.after)
            return true
        } catch {
            guard case .conflict = error else { throw .full }
            return false
        }
    }

    // MARK: Answers

    private static func answer(
        _ call: Call, _ written: Written, _ since: Since, _ wish: ChangesWish, _ conditions: WriteConditions
    ) -> Response {
        let reading = Reading(slot: written.slot, session: written.after, bounds: call.service.table.bounds.history)
        let before = written.before?.head.revision
        let location = written.before == nil ? [Field("Location", "/v1/sessions/\(call.session)")] : []
        if conditions.wantsMinimal { return minimal(call, since, before, written.after, written.status, location) }
        let isDirect = since == .absent || before.map { since == .revision($0) } == true
        if isDirect, let before, let changeset = written.changeset {
            let answer = ChangesAnswer(changeset, from: before, to: reading.destination, wish)
            return call.service.counted(answer).response(fields: location)
        }
        let answer = reading.answer(since: since == .absent ? .nothing : since, wish)
        return call.service.counted(answer).response(status: written.status, fields: location)
    }

    /// A write that was done before: what it would answer now, from the head before the first try.
    private static func answer(
        _ call: Call, _ reading: Reading, _ entry: ReplayWindow.Entry, _ since: Since, _ wish: ChangesWish,
        _ conditions: WriteConditions
    ) -> Response {
        let location = entry.status == 201 ? [Field("Location", "/v1/sessions/\(call.session)")] : []
        if conditions.wantsMinimal {
            return minimal(call, since, entry.before, reading.session, entry.status, location)
        }
        let base = since == .absent ? entry.before.map(Since.revision) ?? .nothing : since
        return call.service.counted(reading.answer(since: base, wish)).response(status: entry.status, fields: location)
    }

    /// A write whose answer was lost.
    private static func answer(
        _ call: Call, _ reading: Reading, parent: Revision, _ since: Since, _ wish: ChangesWish,
        _ conditions: WriteConditions
    ) -> Response {
        if conditions.wantsMinimal { return minimal(call, since, parent, reading.session, 200, []) }
        let base = since == .absent ? .revision(parent) : since
        return call.service.counted(reading.answer(since: base, wish)).response()
    }

    private static func minimal(
        _ call: Call, _ since: Since, _ before: Revision?, _ session: Session, _ status: Int, _ fields: [Field]
    ) -> Response {
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
