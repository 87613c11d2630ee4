import HTTPCore
import SnapshotKit

/// Computes the changeset between two states. Nothing is stored.
enum PostDiff {
    @Sendable
    static func prepare(_ call: Call) throws(Problem) -> Answer {
        let shape = try call.parameters.shape() ?? .native
        let options = try ChangesOptions(call)
        return { (body) throws(Problem) in
            let limits = call.service.settings.stateLimits
            var document = StateDocument(body)
            let envelope: Envelope
            do throws(StateError) {
                envelope = try document.envelope(
                    .init(states: ["old", "new"], required: ["old", "new"]), shape: shape, limits: limits)
            } catch {
                throw Problem(error).searching(
                    ShapeSearch(body: document, layout: .diff, limits: limits, tried: shape.mapping))
            }
            let old = envelope.states["old"]!.seen(options.projection)
            let new = envelope.states["new"]!.seen(options.projection)
            let changeset = Changeset(from: old, to: new)
            var options = options
            options.warnings = Warnings(envelope.warnings, of: changeset).seen(in: [old, new], options.projection)
            let answer = ChangesAnswer(
                changeset, from: nil, to: Destination(snapshot: new, isPart: !options.projection.showsAll), options)
            call.service.metrics.count(answer)
            return .now(answer.response())
        }
    }

}

extension Snapshot {
    fileprivate func seen(_ projection: Projection) -> Snapshot { projection.views.reduce(self) { $0.applying($1) } }
}
