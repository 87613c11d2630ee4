import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// Creates or replaces a session, or changes its settings.
final class PutSession: SessionEndpoint {
    private let call: Call
    /// The shape in the query.
    private let shape: StateShape?
    /// Set before the operation is carried out, and read afterwards.
    private nonisolated(unsafe) var warnings = Warnings()

    init(_ call: Call) throws(Problem) {
        self.call = call
        shape = try call.parameters.shape()
    }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ReplaceSession {
        let options = call.service.settings
        do throws(StateError) {
            if call.service.source?.hasSource(call.session) == true {
                try StateDocument(body).check(options.stateLimits)
                throw .unwanted
            }
            var members = Session.Settings.besideState
            if shape != nil { members.shape = nil }
            let envelope = try Envelope(
                json: body, members: members, shape: shape ?? .native, limits: options.stateLimits)
            warnings = Warnings(envelope.warnings)
            let named = try Session.SettingsChange(envelope)
            return ReplaceSession(
                state: envelope.states["state"], settings: named.applied(to: options.defaultSettings), named: named,
                condition: WriteCondition(call))
        } catch {
            if case .unwanted = error { throw .hasSource }
            throw Problem(error)
        }
    }

    func reply(_ outcome: ReplaceSession.Outcome, in slot: SessionSlot?) -> Reply {
        let view = SessionView(slot, outcome.session, of: call.service.table)
        let revision = outcome.session.head.revision.text
        var object = JSONObject()
        object.text("session", call.session)
        object.text("revision", revision)
        object.text("expiresAt", view.table.expiry(of: view.slot).text)
        warnings.write(into: &object.writer)
        var fields = [Field("Content-Type", "application/json"), Field("ETag", "\"\(revision)\"")]
        if outcome.isNew { fields.append(Field("Location", "/v1/sessions/\(call.session)")) }
        return .now(Response(status: outcome.isNew ? 201 : 200, fields: fields, body: .bytes(object.bytes())))
    }
}
