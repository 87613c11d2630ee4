import HTTPCore
import SnapshotKit

/// Makes a session, or starts it over: the history goes, the sequence goes on.
enum PutSession {
    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let shape = try call.parameters.shape()
        return { (body) throws(Problem) in
            let request = try SessionRequest(putting: body, shape, call.service.options)
            let work = SessionWork(call: call, isWrite: true, replacesDamaged: call.isUnconditional) {
                (reading) throws(Problem) in
                try step(call, request, reading)
            }
            return try work.reply()
        }
    }

    private static func step(_ call: Call, _ request: SessionRequest, _ reading: Reading?) throws(Problem) -> Step {
        let before = reading?.session
        let session = call.writing.firstSession(
            request.state, settings: request.settings, after: before, maker: nil)
        if let reading, let before, try wasAnswered(call, before, session) {
            return reading.isCertain ? .answer(.now(answer(call, before, reading.slot, isNew: false))) : .verify
        }
        try checkAbsence(call.head, before?.head.revision)
        return .put(session) { answer(call, session, $0, isNew: before == nil) }
    }

    private static func checkAbsence(_ head: RequestHead, _ current: Revision?) throws(Problem) {
        if let absent = EntityTags(head, "if-none-match"), let current, absent.matches(current) {
            throw Problem(.sessionExists, "the session is at \(current.text)")
        }
        if EntityTags(head, "if-match") != nil, current == nil { throw .mismatch(current: nil) }
    }

    /// Checks `If-Match`. True if the head is what this PUT made of the revision that it names: its answer was lost.
    private static func wasAnswered(_ call: Call, _ before: Session, _ session: Session) throws(Problem) -> Bool {
        let head = before.head
        guard let condition = try EntityTags.condition(call) else { return false }
        if condition.matches(head.revision) { return false }
        if let parent = head.parent, condition.revision == parent,
            head.fingerprints.areOfSameState(as: session.head.fingerprints)
        {
            return true
        }
        throw .mismatch(current: head.revision)
    }

    private static func answer(_ call: Call, _ session: Session, _ slot: SessionSlot, isNew: Bool) -> Response {
        var writer = JSONWriter()
        writer.append("{\"session\":")
        writer.append(string: call.session)
        writer.append(",\"revision\":")
        writer.append(string: session.head.revision.text)
        writer.append(",\"expiresAt\":")
        writer.append(string: call.service.table.expiry(of: slot).text)
        writer.append(byte: UInt8(ascii: "}"))
        var fields = [
            Field("Content-Type", "application/json"), Field("ETag", "\"\(session.head.revision.text)\""),
        ]
        if isNew { fields.append(Field("Location", "/v1/sessions/\(call.session)")) }
        return Response(status: isNew ? 201 : 200, fields: fields, body: .bytes(writer.bytes()))
    }
}
