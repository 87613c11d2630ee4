import Foundation
import SnapshotKit

/// A newer list, and how it differs from the previous one.
public struct ListUpdate: Sendable {
    /// How the list has changed.
    public enum Change: Sendable {
        /// Everything is new, for a reason such as `initial`, `expired`, `unknown`, `replaced` or `large`.
        case reset(reason: String)
        /// By ids: compare the lists.
        case keyed
        /// In stages, the last of which has `list`.
        case staged([ListStage])
        /// To this arrangement.
        case diffable(ListArrangement)
    }

    /// The list to show.
    public let list: RowList
    /// The list's revision; while edits are pending, that of the list without them.
    public let revision: String
    /// The position of `list` among all rows, if the client has a window.
    public var window: WindowBounds? { followed.window }
    /// How the list differs from the previous one.
    public let change: Change
    /// The list without pending edits, to continue from later.
    public let followed: FollowedList
}

extension ListClient {
    /// The session's list, and then each change, for as long as somebody asks for the next one.
    ///
    /// The first update is a reset. The list shown stays in any case: after 404, 429, 503 and lost connections the
    /// client waits and continues from there. The sequence ends when its task is cancelled, and throws a
    /// `ServerProblem` when trying again cannot help: the token is refused, or the request is wrong.
    public var updates: ListUpdates { updates(from: FollowedList()) }

    /// Each change since a list that was followed earlier.
    public func updates(from followed: FollowedList) -> ListUpdates { ListUpdates(client: self, followed: followed) }
}

/// The updates of a session. Each iteration follows it independently.
public struct ListUpdates: AsyncSequence, Sendable {
    let client: ListClient
    let followed: FollowedList

    /// Starts following.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client, followed: followed) }

    /// Follows a session.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let client: ListClient
        private var followed: FollowedList
        /// The list of the last update: `followed` with the edits pending at that time.
        private var shown: RowList
        private var following: Following
        private var request: OpenRequest?
        private let alarm = Alarm()
        private var toldStatus: ListClient.Status?
        private var toldPending = ListClient.Pending.none
        /// Whether the task was cancelled: then the sequence has ended.
        private var isOver = false

        fileprivate init(client: ListClient, followed: FollowedList) {
            self.client = client
            self.followed = followed
            shown = followed.list
            following = Following(client, hasList: followed.revision != nil)
            client.queue.edits.wakes(alarm)
            client.connectivity.reconnections.wakes(alarm)
            client.window?.wanted.wakes(alarm)
        }

        /// Waits for the next list; nil when the task is cancelled.
        ///
        /// - Throws: `ServerProblem` when trying again cannot help.
        public mutating func next() async throws -> ListUpdate? {
            while true {
                isOver = isOver || Task.isCancelled
                if isOver { return nil }
                tellPending()
                if let update = editedUpdate() { return update }
                do throws(ServerProblem) {
                    if let news = try await news(), let update = try adopt(news) { return update }
                } catch {
                    request = nil
                    if Task.isCancelled { continue }
                    let delay = following.failed(by: error, at: .uptime, hasList: followed.revision != nil)
                    tell(client.mayPass(error) ? .waiting(error, seconds: delay) : .stopped(error))
                    if !client.mayPass(error) { throw error }
                }
            }
        }

        /// Makes the next request, or waits for its news; nil if the caller must check again.
        private mutating func news() async throws(ServerProblem) -> News.Item? {
            let terms = (rows: client.window?.rows, reconnections: client.connectivity.reconnections.value)
            let news = request?.news.value
            let step = try following.step(
                at: .uptime, terms, isBehind: client.queue.isAnswered(beyond: followed), lastHeard: news?.lastHeard,
                hasNews: news?.isEmpty == false)
            switch step {
            case .ask(let mode):
                followed.stale = nil
                let reading = client.reading(by: mode, since: followed.revision, in: terms.rows)
                request = OpenRequest(waking: alarm, reading)
            case .wait(let time):
                if let news = request?.next() { return try news.get() }
                await alarm.wait(until: time)
            }
            return nil
        }

        private mutating func adopt(_ news: News.Item) throws(ServerProblem) -> ListUpdate? {
            switch news {
            case .overrun: following.isOverrun()
            case .unavailable: following.streamsAreHeldBack()
            case .revision(let revision):
                succeeded(isNews: true)
                followed.revision = revision
            case .changes(let answer):
                let before = followed.list
                let outcome: FollowedList.Outcome
                do throws(ApplyError) { outcome = try followed.take(answer) } catch {
                    throw ServerProblem(title: "A changeset could not be applied", detail: "\(error)")
                }
                if case .elsewhere = outcome { throw .otherList }
                if let time = following.readTime { followed.readTime = time }
                // Sequences of different histories cannot be compared: answered edits are in this one, or lost.
                if case .replaced(reason: "unknown") = outcome { followed.readTime = .uptime }
                let change = ListUpdate.Change(outcome, client.form)
                succeeded(isNews: change != nil)
                return change.flatMap { update(by: $0, outcome, from: before) }
            }
            return nil
        }

        private mutating func succeeded(isNews: Bool) {
            following.succeeded(at: .uptime, isNews: isNews)
            tell(followed.stale.map { .stale(seconds: $0) } ?? .live)
        }

        private mutating func tell(_ status: ListClient.Status) {
            if status != toldStatus { client.onStatus?(status) }
            toldStatus = status
        }

        private mutating func tellPending() {
            let pending = client.pending
            if pending != toldPending { client.onPending?(pending) }
            toldPending = pending
        }

        /// The update for an answer: the server's own changes, if no edits are pending before or after it.
        private mutating func update(
            by change: ListUpdate.Change, _ outcome: FollowedList.Outcome, from before: RowList
        ) -> ListUpdate? {
            let next = client.queue.applied(to: followed)
            if case .reset = change { return show(next, change) }
            if shown == before, next == followed.list { return show(next, change) }
            let marks = outcome.marks(from: before, to: followed.list)
            return show(next, shown.change(to: next, in: client.form, marks: marks))
        }

        /// The update for edits alone; nil if they change nothing that is shown.
        private mutating func editedUpdate() -> ListUpdate? {
            guard followed.revision != nil else { return nil }
            let next = client.queue.applied(to: followed)
            return next == shown ? nil : show(next, shown.change(to: next, in: client.form))
        }

        private mutating func show(_ list: RowList, _ change: ListUpdate.Change) -> ListUpdate? {
            guard let revision = followed.revision else { return nil }
            shown = list
            return ListUpdate(list: list, revision: revision, change: change, followed: followed)
        }
    }
}

extension ListUpdate.Change {
    /// Nil if nothing changed.
    fileprivate init?(_ outcome: FollowedList.Outcome, _ form: ListClient.Form) {
        switch outcome {
        case .replaced(let reason): self = .reset(reason: reason)
        // A new revision may look like the old one; then there are no stages.
        case .changed(let stages): if case .staged = form { self = .staged(stages) } else { self = .keyed }
        case .arranged(let arrangement): self = .diffable(arrangement)
        case .current, .elsewhere: return nil
        }
    }
}
