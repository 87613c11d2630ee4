import SnapshotKit

@testable import DiffSessions

extension PostedBody {
    /// A body without a shape.
    ///
    /// - Parameter settings: those of a session that it makes.
    convenience init(json: String, _ settings: Session.Settings) {
        self.init(StateDocument(Array(json.utf8)), Rules(limits: StateLimits(), defaults: settings))
    }
}
