import DiffStores
import HTTPCore

/// What a process tells its streams while it cannot reach the store, though others may (CONTRACT §12): once that their
/// lists are stale, and when that is over; later that they must leave, each minute for those begun since. Held requests
/// end at their own time. A pure value that reads no clock.
struct StoreOutage: Sendable {
    enum Action: Hashable, Sendable {
        /// Readers check the staleness of their lists again. Streams that were to leave may stay.
        case tell
        /// Streams leave, spread over `window`.
        case dismiss
    }

    /// Shorter silences are not announced.
    private static let tolerance = Duration.seconds(10)
    /// The silence after which streams leave.
    private static let patience = Duration.seconds(60)
    /// The time from the first departure to the last.
    static let window = Duration.seconds(60)

    /// The silence at which the next action is due.
    private var due = Self.tolerance

    /// Called each second, with the time since the first unanswered question to the store. Takes one step at a time:
    /// after the whole process stood still, the store may answer before anybody leaves.
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

    /// For how many seconds a list is stale, nil if it is not: the longer of the silences of its source and the store.
    static func staleness(of source: Int?, after silence: Duration) -> Int? {
        silence < tolerance ? source : max(source ?? 0, Int(silence.components.seconds))
    }
}
