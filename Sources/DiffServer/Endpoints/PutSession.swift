import HTTPCore
import SnapshotKit

/// Makes a session, or starts it over.
struct PutSession: SessionEndpoint {
    private let call: Call
    private let shape: StateShape

    init(_ call: Call) throws(Problem) {
        self.call = call
        shape = try call.parameters.shape()
    }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ReplaceSession {
        let options = call.service.options
        let condition = WriteCondition(call)
        guard shape == .native else {
            return ReplaceSession(
                state: try Snapshot.read(body, shape, options.stateLimits).snapshot, settings: options.defaultSettings,
                condition: condition)
        }
        let envelope: Envelope
        do throws(StateError) {
            envelope = try Envelope(
                json: body, members: .init(states: ["state"], values: ["ttl", "ignore"], required: ["state"]),
                limits: options.stateLimits)
        } catch { throw Problem(error) }
        let settings = try Session.Settings(envelope, defaults: options.defaultSettings)
        return ReplaceSession(state: envelope.states["state"]!, settings: settings, condition: condition)
    }

    func reply(_ outcome: ReplaceSession.Outcome, in slot: SessionSlot?) -> Reply {
        let view = SessionView(slot, outcome.session, of: call.service.table)
        let revision = outcome.session.head.revision.text
        var writer = JSONWriter()
        writer.append("{\"session\":")
        writer.append(string: call.session)
        writer.append(",\"revision\":")
        writer.append(string: revision)
        writer.append(",\"expiresAt\":")
        writer.append(string: view.table.expiry(of: view.slot).text)
        writer.append(byte: UInt8(ascii: "}"))
        var fields = [Field("Content-Type", "application/json"), Field("ETag", "\"\(revision)\"")]
        if outcome.isNew { fields.append(Field("Location", "/v1/sessions/\(call.session)")) }
        return .now(Response(status: outcome.isNew ? 201 : 200, fields: fields, body: .bytes(writer.bytes())))
    }
}
