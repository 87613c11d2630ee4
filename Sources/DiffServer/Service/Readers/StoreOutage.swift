import DiffStores
import HTTPCore

/// What a process tells its streams while it does not reach the store, which others may reach (CONTRACT §12): that the
/// lists are stale, once, and when that is over; and that they must leave, each minute for those that have begun since.
/// Held requests end at their time, as ever. A pure value that reads no clock.
struct StoreOutage: Sendable {
    enum Action: Hashable, Sendable {
        /// Readers look again for how long their lists have been stale. Whoever was to leave may stay.
        case tell
        /// Streams leave over `window`.
        case dismiss
    }

    /// The silence of which nobody is told.
    private static let tolerance = Duration.seconds(10)
    /// The silence after which streams leave.
    private static let patience = Duration.seconds(60)
    /// From the first departure to the last.
    static let window = Duration.seconds(60)

    /// The silence after which there is something to do.
    private var due = Self.tolerance

    /// Called each second. One step at a time: if the whole process stood still, the store may answer before anybody
    /// leaves.
    ///
    /// - Parameter silence: the time since the first question that the store has not answered.
    mutating func tick(after silence: Duration) -> Action? {
        let isTold = due > Self.tolerance
        if silence < Self.tolerance {
            due = Self.tolerance
            return isTold ? .tell : nil
        }
        guard silence >= due else { return nil }
        due = isTold ? silence + Self.window : Self.patience
        return isTold ? .dismiss : .tell
    }

    /// For how many seconds a list has been stale: the longer of the silences of its source and the store.
    static func staleness(of source: Int?, after silence: Duration) -> Int? {
        silence < tolerance ? source : max(source ?? 0, Int(silence.components.seconds))
    }
}
