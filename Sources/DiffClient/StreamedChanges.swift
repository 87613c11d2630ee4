import Foundation
import SnapshotKit

/// The stream that one loop over updates reads: opened when somebody waits for it, and anew where it leads no more from
/// what is shown to what is wanted.
final class StreamedChanges: @unchecked Sendable {
    /// What a stream was opened for.
    private struct Terms: Equatable {
        /// The rows that are followed.
        let rows: StateWindow?
        /// When there was last a reason to ask anew.
        let moment: Int
    }

    private let lock = NSLock()
    // Both are the lock's.
    private var open: (stream: EventStream, terms: Terms)?
    private var hasSpoken = false

    /// Whether there is a stream now.
    var isOpen: Bool { lock.withLock { open != nil } }

    /// Whether it need not be asked whether there is a session: a stream says the reader's revision at once if so.
    var isSettled: Bool { lock.withLock { open != nil && hasSpoken } }

    /// From now on it is waited for as long as it takes.
    func settle() { lock.withLock { hasSpoken = true } }

    /// Closes it; the next one begins at what is shown then.
    func close() { lock.withLock { open = nil } }

    /// Waits for what comes next; nil where that took longer than `seconds`, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - rows: the rows that are followed.
    ///   - revision: what a new stream leads from.
    ///   - seconds: how long to wait, if not for ever.
    func next(
        of client: ListClient, rows: StateWindow?, since revision: String?, within seconds: TimeInterval?
    ) async throws(ServerProblem) -> EventStream.News? {
        let terms = Terms(rows: rows, moment: client.connectivity.held.moment)
        let current = lock.withLock { open?.terms == terms ? open?.stream : nil }
        let stream: EventStream
        if let current {
            stream = current
        } else {
            stream = Carrier.shared.open(try await client.streamRequest(since: revision, in: rows))
            lock.withLock { (open, hasSpoken) = ((stream, terms), false) }
        }
        let news = try await stream.next(within: seconds)
        if news != nil { settle() }
        return news
    }
}
