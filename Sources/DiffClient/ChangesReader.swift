import Foundation
import SnapshotKit

/// The request by which one loop reads what changes: begun when somebody waits for it, and anew where it leads no more
/// from what is shown to what is wanted. Waiting for it may be given up, for an edit that is to be shown, and begin
/// again: nothing is asked twice, and nothing lost.
final class ChangesReader: @unchecked Sendable {
    /// How to ask.
    enum Way: Sendable, Equatable {
        case stream
        /// By one request, which the server may hold so long, in seconds.
        case poll(TimeInterval)
    }

    /// What a request was begun for.
    private struct Terms: Equatable {
        /// The rows that are followed.
        let rows: StateWindow?
        /// When there was last a reason to ask anew.
        let moment: Int
    }

    /// A request that is under way.
    private struct Open {
        let request: OpenRequest
        let terms: Terms
        let way: Way
        let start = TimeInterval.uptime
        var isSettled: Bool
    }

    private let lock = NSLock()
    /// The lock's.
    private var open: Open?

    /// How it asks at the moment, and since when.
    var way: (Way, start: TimeInterval)? { lock.withLock { open.map { ($0.way, $0.start) } } }

    /// Whether it need not be asked whether there is a session: a stream says the reader's revision at once if so.
    var isSettled: Bool { lock.withLock { open?.isSettled ?? false } }

    /// Gives the request up; the next one begins at what is shown then.
    func close() { lock.withLock { open = nil } }

    /// Waits for what comes next; nil where that took longer than `seconds`, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - rows: the rows that are followed.
    ///   - revision: what a new request leads from.
    ///   - way: how to ask, if it does not ask already.
    ///   - seconds: how long to wait, if not for ever.
    func next(
        of client: ListClient, rows: StateWindow?, since revision: String?, by way: Way, within seconds: TimeInterval?
    ) async throws(ServerProblem) -> OpenRequest.News? {
        let terms = Terms(rows: rows, moment: client.connectivity.held.moment)
        let current = lock.withLock { open?.terms == terms ? open?.request : nil }
        let request: OpenRequest
        if let current {
            request = current
        } else {
            request =
                switch way {
                case .stream: Carrier.shared.open(try await client.streamRequest(since: revision, in: rows))
                case .poll(let wait):
                    OpenRequest { () throws(ServerProblem) in
                        try await client.changes(since: revision, wait: wait, in: rows)
                    }
                }
            lock.withLock { open = Open(request: request, terms: terms, way: way, isSettled: way != .stream) }
        }
        let news = try await request.next(within: seconds)
        if news != nil { lock.withLock { open?.isSettled = true } }
        return news
    }
}
