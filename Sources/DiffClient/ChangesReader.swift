import Foundation
import SnapshotKit

/// The request by which one iteration reads changes. It is started when somebody waits, and replaced when other rows
/// are to be followed or the client reconnects. A wait may be abandoned, to show an edit, and resumed: nothing is asked
/// twice or lost.
final class ChangesReader: @unchecked Sendable {
    /// How to ask.
    enum Way: Sendable, Equatable {
        case stream
        /// By a request that the server may hold for so many seconds.
        case poll(TimeInterval)
    }

    /// What a request depends on.
    private struct Terms: Equatable {
        let rows: StateWindow?
        /// Changes when the client reconnects.
        let generation: Int
    }

    /// A request in progress.
    private struct Open {
        let request: OpenRequest
        let terms: Terms
        let way: Way
        let start = TimeInterval.uptime
        var isSettled: Bool
    }

    private let lock = NSLock()
    /// Protected by the lock.
    private var open: Open?

    /// How it is asking, and since when.
    var way: (Way, start: TimeInterval)? { lock.withLock { open.map { ($0.way, $0.start) } } }

    /// Whether the request has shown that there is a session: if so, a stream sends the reader's revision at once.
    var isSettled: Bool { lock.withLock { open?.isSettled ?? false } }

    /// Abandons the request.
    func close() { lock.withLock { open = nil } }

    /// Waits for the next news; nil if that took longer than `seconds`, or the task was cancelled.
    ///
    /// - Parameters:
    ///   - rows: the rows to follow; nil for all.
    ///   - revision: the base of a new request.
    ///   - way: how to ask, if there is no request yet.
    func next(
        of client: ListClient, rows: StateWindow?, since revision: String?, by way: Way, within seconds: TimeInterval?
    ) async throws(ServerProblem) -> OpenRequest.News? {
        let terms = Terms(rows: rows, generation: client.connectivity.held.generation)
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
