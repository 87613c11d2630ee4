#if canImport(Observation)
    import Observation
    import SnapshotKit

    /// A list that a view shows and that follows a session.
    ///
    /// ```swift
    /// struct Inbox: View {
    ///     @State private var inbox = LiveList()
    ///     let client: DiffClient
    ///
    ///     var body: some View {
    ///         List(inbox.list.sections) { section in
    ///             Section { ForEach(section.rows) { MailRow($0.content) } }
    ///         }
    ///         .task { await inbox.follow(client) }
    ///     }
    /// }
    /// ```
    @MainActor @Observable
    public final class LiveList {
        /// What is shown.
        public private(set) var list = RowList()
        /// Its revision; nil before the first answer.
        public private(set) var revision: String?
        /// Where what is shown stands among all rows, if the client that is followed has a window.
        public private(set) var window: WindowBounds?
        /// Why it follows no more; nil while it does.
        public private(set) var problem: Problem?

        private let adopt: @MainActor (ListUpdate, () -> Void) -> Void
        /// What is followed, without edits that are pending.
        private var followed = FollowedList()
        private var client: DiffClient?

        /// An empty list.
        ///
        /// - Parameter adopting: carries each change out, so that it can be animated.
        public init(adopting: @escaping @MainActor (ListUpdate, () -> Void) -> Void = { $1() }) { adopt = adopting }

        /// Follows a session until the task is cancelled, or until asking again cannot help; then `problem` says why.
        /// Goes on from what is shown, so that a view that appears again receives only what it missed.
        public func follow(_ client: DiffClient) async {
            problem = nil
            self.client = client
            do {
                for try await update in client.updates(from: followed) {
                    followed = update.followed
                    show(by: update.change)
                }
            } catch {
                problem = error as? Problem ?? Problem(title: "\(error)")
            }
        }

        /// Shows edits at once, before this returns for the first time, and sends them to the session that is followed.
        /// If they are refused the rows are as before when it throws. See `DiffClient.edit(_:)`.
        @discardableResult
        public func edit(_ edits: JSONText) async throws(Problem) -> String {
            guard let client else { throw Problem(title: "No session is followed") }
            let sent = client.begin(edits)
            show(by: .keyed)
            defer { show(by: .keyed) }
            return try await sent.revision()
        }

        /// Shows what is followed, with the edits that are pending now: those of an update may be older.
        private func show(by change: ListUpdate.Change) {
            guard let client, let revision = followed.revision else { return }
            let next = client.pending.applied(to: followed)
            guard next != list || revision != self.revision || followed.window != window else { return }
            let update = ListUpdate(
                list: next, revision: revision, window: followed.window, change: change, followed: followed)
            adopt(update) {
                list = next
                self.revision = revision
                window = followed.window
            }
        }
    }
#endif
