import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The rows of one section in, and what changed out: `PostChanges` of a document that is about this section alone.
struct PostSection: SessionEndpoint {
    private let section: PostedBody.SectionTarget
    private let changes: PostChanges
    var call: Call { changes.call }
    var search: ShapeSearch? { changes.search }

    /// Parameters of the request. The path says which section it is about.
    static let parameters = PostChanges.parameters.union(Parameters.shape)
        .subtracting(StateShape.Member.ofSections.map(\.rawValue))

    init(_ call: Call) throws(Problem) {
        changes = try PostChanges(call)
        let scope = call.parameters[StateShape.Member.idScope.rawValue]
        section = PostedBody.SectionTarget(
            id: call.captures[StateSection.name], scopesIDs: scope.map { $0 == "section" })
    }

    func operation(_ body: consuming [UInt8]) throws(Problem) -> ChangeSession {
        try changes.operation(body, of: section)
    }

    func reply(_ outcome: ChangeSession.Outcome, in slot: SessionSlot?) -> Reply { changes.reply(outcome, in: slot) }
}
