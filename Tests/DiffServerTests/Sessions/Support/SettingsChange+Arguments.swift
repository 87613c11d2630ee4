import SnapshotKit

@testable import DiffSessions

extension Session.SettingsChange {
    init(
        timeToLive: Duration? = nil, ignored: [JSONPointer]? = nil, shape: StateShape? = nil,
        keepsExpanded: Bool? = nil,
        isPublic: Bool? = nil
    ) {
        self.init()
        (self.timeToLive, self.ignored, self.shape, self.keepsExpanded) = (timeToLive, ignored, shape, keepsExpanded)
        self.isPublic = isPublic
    }
}
