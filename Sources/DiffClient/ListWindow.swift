// A window moves while its rows are followed: the request that the server holds for the rows before is given up, and
// the next one leads from the revision that is shown. So a late answer needs no rule of its own: one that still arrives
// is taken or asked for again as any other.

import Foundation
import SnapshotKit

/// Which rows of a list a client follows, over all sections in order. A scroll view moves it while they are followed.
///
/// ```swift
/// let window = ListWindow(StateWindow(.start, after: 100))
/// client.window = window
/// for try await update in client.updates { … }
/// // meanwhile
/// window.show(StateWindow(.around(row.id), before: 50, after: 100))
/// ```
public final class ListWindow: @unchecked Sendable {
    private let lock = NSLock()
    // All of these are the lock's.
    private var wanted: StateWindow
    private var moves = 0
    private var requests: [UUID: Task<[UInt8], any Error>] = [:]

    /// A window that shows these rows at first.
    public init(_ rows: StateWindow) { wanted = rows }

    /// The rows that are wanted.
    public var rows: StateWindow { lock.withLock { wanted } }

    /// Asks for other rows, at once; those that stay are not sent again. What is shown stays until the next update.
    public func show(_ rows: StateWindow) {
        let given = lock.withLock {
            guard rows != wanted else { return [Task<[UInt8], any Error>]() }
            wanted = rows
            moves += 1
            return Array(requests.values)
        }
        for request in given { request.cancel() }
    }

    /// Asks for the rows that are wanted; nil if meanwhile others are, and no answer came.
    func answer(
        asking: @escaping @Sendable (StateWindow) async throws(Problem) -> [UInt8]
    ) async throws(Problem) -> [UInt8]? {
        let id = UUID()
        let (request, before) = lock.withLock {
            let request = Task { [wanted] in try await asking(wanted) }
            requests[id] = request
            return (request, moves)
        }
        let result = await withTaskCancellationHandler {
            await request.result
        } onCancel: {
            request.cancel()
        }
        let isWanted = lock.withLock {
            requests[id] = nil
            return before == moves
        }
        do {
            return try result.get()
        } catch {
            guard isWanted else { return nil }
            throw error as? Problem ?? Problem(title: "No connection", detail: "\(error)")
        }
    }
}

extension StateWindow {
    /// As the server's parameters say it.
    var query: [URLQueryItem] {
        let place =
            switch anchor {
            case .start: URLQueryItem(name: "at", value: "start")
            case .end: URLQueryItem(name: "at", value: "end")
            case .row(let row): URLQueryItem(name: "at", value: "\(row)")
            case .around(let id): URLQueryItem(name: "around", value: id.text)
            }
        return [place, .init(name: "before", value: "\(before)"), .init(name: "after", value: "\(after)")]
    }
}
