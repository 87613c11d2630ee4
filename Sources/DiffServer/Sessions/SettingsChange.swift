import SnapshotKit

extension Session {
    /// What a request says of a session's settings; nil is what it does not name.
    struct SettingsChange: Sendable, Equatable {
        var timeToLive: Duration?
        var ignored: [JSONPointer]?
        var shape: StateShape?
        var keepsExpanded: Bool?

        /// Settings of which those that are named are these.
        func applied(to settings: Settings) -> Settings {
            var next = settings
            if let timeToLive { next.timeToLive = timeToLive }
            if let ignored { next.ignored = ignored }
            if let shape { next.shape = shape }
            if let keepsExpanded { next.keepsExpanded = keepsExpanded }
            return next
        }
    }
}
