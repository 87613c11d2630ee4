// A window moves while its rows are followed: the stream or the poll of the rows before is given up, and the next one
// leads from the revision that is shown. So a late answer needs no rule of its own: one that still arrives
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
    /// The lock's.
    private var wanted: StateWindow
    private let held = HeldRequests()

    /// A window that shows these rows at first.
    public init(_ rows: StateWindow) { wanted = rows }

    /// The rows that are wanted.
    public var rows: StateWindow { lock.withLock { wanted } }

    /// Asks for other rows, at once; those that stay are not sent again. What is shown stays until the next update.
    public func show(_ rows: StateWindow) {
        let isNew = lock.withLock {
            defer { wanted = rows }
            return rows != wanted
        }
        if isNew { held.interrupt() }
    }

    /// Asks for the rows that are wanted; nil if meanwhile others are, and no answer came.
    func answer<Answer: Sendable>(
        asking: @escaping @Sendable (StateWindow) async throws(ServerProblem) -> Answer?
    ) async throws(ServerProblem) -> Answer? {
        try await held.answer(since: held.moment) { () throws(ServerProblem) in try await asking(self.rows) }
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
