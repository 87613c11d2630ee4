import HTTPCore
import SnapshotKit

/// Computes the changeset between two states. Nothing is stored.
enum PostDiff {
    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let shape = try call.parameters.shape() ?? .native
        let options = try ChangesOptions(call)
        return { (body) throws(Problem) in
            let envelope = try states(body, shape, call.service.settings.stateLimits)
            let old = envelope.states["old"]!.seen(options.projection)
            let new = envelope.states["new"]!.seen(options.projection)
            let changeset = Changeset(from: old, to: new)
            var options = options
            options.warnings = Warnings(envelope.warnings).seen(in: [old, new], options.projection)
                .adding(changeset)
            let answer = ChangesAnswer(
                changeset, from: nil, to: Destination(snapshot: new, isPart: !options.projection.showsAll), options)
            call.service.metrics.count(answer)
            return .now(answer.response())
        }
    }

    private static func states(
        _ body: consuming [UInt8], _ shape: StateShape, _ limits: StateLimits
    ) throws(Problem) -> Envelope {
        var document = StateDocument(body)
        do throws(StateError) {
            return try document.envelope(
                .init(states: ["old", "new"], required: ["old", "new"]), shape: shape, limits: limits)
        } catch {
            throw Problem(error).searching(
                ShapeSearch(body: document, layout: .diff, limits: limits, tried: shape.mapping))
        }
    }
}

extension Snapshot {
    fileprivate func seen(_ projection: Projection) -> Snapshot { projection.views.reduce(self) { $0.applying($1) } }
}
