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

        /// An empty list.
        ///
        /// - Parameter adopting: carries each change out, so that it can be animated.
        public init(adopting: @escaping @MainActor (ListUpdate, () -> Void) -> Void = { $1() }) { adopt = adopting }

        /// Follows a session until the task is cancelled, or until asking again cannot help; then `problem` says why.
        /// Goes on from what is shown, so that a view that appears again receives only what it missed.
        public func follow(_ client: DiffClient) async {
            problem = nil
            let shown = revision.map { FollowedList(list, revision: $0) } ?? FollowedList()
            do {
                for try await update in client.updates(from: shown) {
                    adopt(update) {
                        list = update.list
                        revision = update.revision
                        window = update.window
                    }
                }
            } catch {
                problem = error as? Problem ?? Problem(title: "\(error)")
            }
        }
    }
#endif
