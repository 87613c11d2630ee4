#if canImport(Observation)
    import Foundation
    import Observation
    import SnapshotKit

    /// A list that a view shows and that follows a session.
    ///
    /// ```swift
    /// struct Fires: View {
    ///     @State private var fires = LiveList<Fire>()
    ///     let client: ListClient
    ///
    ///     var body: some View {
    ///         List(fires.rows) { row in Text(row.item.name) }
    ///             .task { await fires.follow(client) }
    ///     }
    /// }
    /// ```
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    @MainActor @Observable
    public final class LiveList<Item: Decodable & Sendable> {
        /// What is shown, with contents decoded once an update.
        public private(set) var sections: [LiveSection<Item>] = []
        /// The same with contents as JSON, rows whose contents are no `Item` included.
        public private(set) var list = RowList()
        /// Its revision; nil before the first answer.
        public private(set) var revision: String?
        /// Where what is shown stands among all rows, if the client that is followed has a window.
        public private(set) var window: WindowBounds?
        /// What the connection is doing.
        public private(set) var status = ListClient.Status.connecting
        /// Rows that are left out of `sections` since their contents are no `Item`, with what is wrong with them.
        public private(set) var failures: [ElementID: any Error] = [:]

        @ObservationIgnored private var decoder: ItemDecoder<Item>
        @ObservationIgnored private let adopt: @MainActor (ListUpdate, () -> Void) -> Void
        /// What is followed, without edits that are pending.
        @ObservationIgnored private var followed = FollowedList()
        @ObservationIgnored private var client: ListClient?

        /// An empty list.
        ///
        /// - Parameters:
        ///   - decoder: decodes contents.
        ///   - adopting: carries each change out, so that it can be animated.
        public init(
            decoder: JSONDecoder = JSONDecoder(),
            adopting: @escaping @MainActor (ListUpdate, () -> Void) -> Void = { $1() }
        ) {
            self.decoder = ItemDecoder(decoder)
            adopt = adopting
        }

        /// The rows of all sections, in order. O(n).
        public var rows: [LiveRow<Item>] { sections.flatMap(\.rows) }

        /// Why it follows no more; nil while it does.
        public var problem: ServerProblem? { if case .stopped(let problem) = status { problem } else { nil } }

        /// Follows a session until the task is cancelled, or until asking again cannot help; then `problem` says why.
        /// Goes on from what is shown, so that a view that appears again receives only what it missed.
        public func follow(_ client: ListClient) async {
            status = .connecting
            self.client = client
            var told = client
            told.onStatus = { [weak self] status in
                client.onStatus?(status)
                // In the order in which they come, which tasks do not promise.
                DispatchQueue.main.async { MainActor.assumeIsolated { self?.tell(status) } }
            }
            do {
                for try await update in told.updates(from: followed) {
                    followed = update.followed
                    show(by: update.change)
                }
            } catch {
                status = .stopped(error as? ServerProblem ?? ServerProblem(title: "\(error)"))
            }
        }

        /// Shows edits at once, before this returns for the first time, and sends them to the session that is followed.
        /// If they are refused the rows are as before when it throws. See `ListClient.edit(_:)`.
        @discardableResult
        public func edit(_ edits: JSONText) async throws(ServerProblem) -> String {
            guard let client else { throw ServerProblem(title: "No session is followed") }
            let sent = client.begin(edits)
            show(by: .keyed)
            defer { show(by: .keyed) }
            return try await sent.revision()
        }

        /// Follows other rows, if the client has a window. Rows that stay are not sent again.
        public func show(_ rows: StateWindow) { client?.window?.show(rows) }

        private func tell(_ status: ListClient.Status) { if self.status != status { self.status = status } }

        /// Shows what is followed, with the edits that are pending now: those of an update may be older.
        private func show(by change: ListUpdate.Change) {
            guard let client, let revision = followed.revision else { return }
            let next = client.pending.applied(to: followed)
            guard next != list || revision != self.revision || followed.window != window else { return }
            let update = ListUpdate(
                list: next, revision: revision, window: followed.window, change: change, followed: followed)
            let sections = decoder.sections(of: next)
            adopt(update) {
                list = next
                self.sections = sections
                failures = decoder.failures
                self.revision = revision
                window = followed.window
            }
        }
    }
#endif
