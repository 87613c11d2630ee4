import HTTPCore
import SnapshotKit

/// Two states in, a changeset out; nothing is stored.
enum PostDiff {
    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let shape = try call.parameters.shape()
        let options = try ChangesOptions(call.parameters, call.acceptance)
        return { (body) throws(Problem) in
            let (old, new) = try states(body, shape, call.service.options.stateLimits)
            let answer = ChangesAnswer(
                Changeset(from: old, to: new), from: nil, to: Destination(snapshot: new), options)
            return .now(call.service.counted(answer).response())
        }
    }

    private static func states(
        _ body: consuming [UInt8], _ shape: StateShape, _ limits: StateLimits
    ) throws(Problem) -> (Snapshot, Snapshot) {
        do throws(StateError) {
            let envelope = try Envelope(
                json: body, members: .init(states: ["old", "new"], required: ["old", "new"]), shape: shape,
                limits: limits)
            return (envelope.states["old"]!, envelope.states["new"]!)
        } catch { throw Problem(error) }
    }
}
