import Foundation
import SnapshotKit

/// A list that is newer than the one before, and how it came about.
public struct ListUpdate: Sendable {
    /// How a list became another one.
    public enum Change: Sendable {
        /// All of it is new, for the given reason: `initial`, `expired`, `unknown`, `replaced`, `large`, or another.
        case reset(reason: String)
        /// By ids; the list says the rest.
        case keyed
        /// In these stages, of which the last one's list is `list`.
        case staged([ListStage])
        /// To this arrangement.
        case diffable(ListArrangement)
    }

    /// What to show.
    public let list: RowList
    /// Its revision; while edits are pending, that of the list which they are done to.
    public let revision: String
    /// Where `list` stands among all rows, if the client has a window.
    public let window: WindowBounds?
    /// How it came about.
    public let change: Change
    /// What to go on from later: the list without edits that are pending.
    public let followed: FollowedList
}

extension ListClient {
    /// What the session holds, and from then on each change, for as long as somebody asks for the next one.
    ///
    /// The first update is a reset. Whatever happens on the way, what is shown stays: after 404, 429, 503 and lost
    /// connections the client waits and goes on from the list that it has. It ends when its task is cancelled, and
    /// throws a `ServerProblem` when asking again cannot help: the token is refused, or the request is wrong.
    public var updates: ListUpdates { updates(from: FollowedList()) }

    /// Each change from a list on that was shown earlier.
    public func updates(from followed: FollowedList) -> ListUpdates { ListUpdates(client: self, followed: followed) }
}

/// The updates of a session. Each iteration follows it by itself.
public struct ListUpdates: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = ListUpdate

    let client: ListClient
    let followed: FollowedList

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client, followed: followed) }

    /// Follows a session: the list that is shown, and the failures since something went well.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let client: ListClient
        private var followed: FollowedList
        /// What the last update showed: `followed`, with the edits that were pending.
        private var shown: RowList
        /// When edits were last looked at.
        private var moment = -1
        private var failures = 0
        private let stream = StreamedChanges()
        /// How many polls until a stream is tried again.
        private var polls = 0
        /// Whether the server was asked for a session that it does not have; from then on it is waited for.
        private var isMissing = false
        /// Until when nothing is asked: for good, or until there is a reason to ask anew.
        private var pause: (end: TimeInterval, isNamed: Bool, moment: Int)?

        fileprivate init(client: ListClient, followed: FollowedList) {
            self.client = client
            self.followed = followed
            shown = followed.list
        }

        /// Waits until the list is another one; nil when the task is cancelled.
        ///
        /// - Throws: `ServerProblem` when asking again cannot help.
        public mutating func next() async throws -> ListUpdate? {
            while !Task.isCancelled {
                if let update = editedUpdate() { return update }
                do throws(ServerProblem) {
                    if try await isPaused() { continue }
                    if let update = try await readsStream ? event() : poll() { return update }
                } catch {
                    stream.close()
                    if Task.isCancelled { return nil }
                    let isRenewable = client.renewsToken && error.status == 401
                    guard error.isPassing || isRenewable else {
                        client.onStatus?(.stopped(error))
                        throw error
                    }
                    // Nobody need wait to ask for what the server waits for itself.
                    let isSoon = error.isStale || error.status == 404 && !isMissing
                    isMissing = error.status == 404
                    let delay = isSoon && failures == 0 ? 0 : delay(error.retryAfter)
                    failures += 1
                    rest(for: delay, isNamed: error.retryAfter != nil)
                    client.onStatus?(.waiting(error, seconds: delay))
                }
            }
            return nil
        }

        /// A session that may not be there is asked for first, so that its user learns that; a stream would wait for it.
        private var readsStream: Bool {
            !client.polls && client.transport == nil && polls == 0 && (followed.revision != nil || isMissing)
        }

        private mutating func rest(for seconds: TimeInterval, isNamed: Bool) {
            pause = (.uptime + seconds, isNamed, client.connectivity.held.moment)
        }

        /// Sits a pause out; true if that was given up before it was over.
        private mutating func isPaused() async throws(ServerProblem) -> Bool {
            guard let (end, isNamed, moment) = pause, end > .uptime else { return false }
            if !isNamed, moment != client.connectivity.held.moment {
                pause = nil
                return false
            }
            let connectivity = client.connectivity.held
            let sleep = { @Sendable () async throws(ServerProblem) -> Bool? in
                await Task.pause(for: end - .uptime)
                return true
            }
            let slept = try await client.pending.held.answer(since: self.moment) { () throws(ServerProblem) in
                isNamed ? try await sleep() : try await connectivity.answer(since: moment, asking: sleep)
            }
            return slept == nil
        }

        /// What the stream brings next, by the client's rule; nil if that is nothing new.
        private mutating func event() async throws(ServerProblem) -> ListUpdate? {
            let isBehind = client.pending.isAnswered(beyond: followed)
            if isBehind, !stream.isOpen { return try await poll() }
            // What was answered is told in a moment, unless it was told already, with what came behind it. And a stream
            // says something at once, unless there is no session: then its user learns that from an answer.
            let limit = isBehind ? 0.25 : stream.isSettled || isMissing ? nil : 2
            let news = try await client.nextNews(
                of: stream, since: followed.revision, within: limit, unlessEditedSince: moment)
            switch news {
            case .changes(let answer): return try adopt(answer, readTime: nil)
            case .revision(let revision):
                heard()
                if followed.revision != revision { moment = -1 }  // edits that were pending may be confirmed by that
                followed.advance(to: revision)
            case .overrun: stream.close()
            case .unavailable:
                stream.close()
                polls = 5
            case nil:
                guard limit != nil, client.pending.held.moment == moment else { break }
                stream.settle()
                return try await poll(waits: false)
            }
            return nil
        }

        /// One request, and the client's rule on its answer; nil if it brought nothing new.
        private mutating func poll(waits: Bool = true) async throws(ServerProblem) -> ListUpdate? {
            let start = TimeInterval.uptime
            let isBehind = client.pending.isAnswered(beyond: followed)
            let waits = waits && !isBehind && (followed.revision != nil || isMissing)
            guard
                let answer = try await client.nextChanges(
                    since: followed.revision, wait: waits ? client.wait : 0, unlessEditedSince: moment)
            else { return nil }
            if polls > 0 { polls -= 1 }
            let (before, update) = (followed.revision, try adopt(answer, readTime: start))
            // It leads from what it sent last.
            if followed.revision != before { stream.close() }
            if update == nil, isBehind {
                moment = -1  // what was answered is no change, or none that is seen
            } else if update == nil, waits, .uptime - start < 1 {
                // Where something on the way does not let the server hold the request, it must not go in a circle.
                rest(for: delay(nil), isNamed: false)
            }
            return update
        }

        /// The server has said something that fits.
        private mutating func heard() {
            (failures, isMissing) = (0, false)
            client.onStatus?(.live)
        }

        private mutating func adopt(_ answer: [UInt8], readTime: TimeInterval?) throws(ServerProblem) -> ListUpdate? {
            let before = followed.list
            let outcome = try take(answer)
            heard()
            if let readTime { followed.readTime = readTime }
            return ListUpdate.Change(outcome, client.form).flatMap { update(by: $0, outcome, from: before) }
        }

        /// An update by an answer. With nothing pending, before and after, it is as the server said.
        private mutating func update(
            by change: ListUpdate.Change, _ outcome: FollowedList.Outcome, from before: RowList
        ) -> ListUpdate? {
            let next = client.pending.applied(to: followed)
            if case .reset = change { return show(next, change) }
            if shown == before, next == followed.list { return show(next, change) }
            let marks = outcome.marks(from: before, to: followed.list)
            return show(next, shown.change(to: next, in: client.form, marks: marks))
        }

        /// An update by edits alone; nil where they change nothing that is shown.
        private mutating func editedUpdate() -> ListUpdate? {
            let now = client.pending.held.moment
            guard now != moment else { return nil }
            moment = now
            guard followed.revision != nil else { return nil }
            let next = client.pending.applied(to: followed)
            return next == shown ? nil : show(next, shown.change(to: next, in: client.form))
        }

        private mutating func show(_ list: RowList, _ change: ListUpdate.Change) -> ListUpdate? {
            guard let revision = followed.revision else { return nil }
            shown = list
            return ListUpdate(
                list: list, revision: revision, window: followed.window, change: change, followed: followed)
        }

        private mutating func take(_ answer: [UInt8]) throws(ServerProblem) -> FollowedList.Outcome {
            let outcome: FollowedList.Outcome
            do throws(ApplyError) {
                outcome = try followed.take(answer)
            } catch {
                throw ServerProblem(title: "A changeset did not fit", detail: "\(error)")
            }
            if case .elsewhere = outcome { throw ServerProblem(title: "An answer was for another list", isStale: true) }
            return outcome
        }

        private func delay(_ retryAfter: TimeInterval?) -> TimeInterval {
            client.backOff.pause(after: failures, retryAfter: retryAfter, chance: .random(in: 0...1))
        }
    }
}

extension ListUpdate.Change {
    /// Nil if an answer changed nothing.
    fileprivate init?(_ outcome: FollowedList.Outcome, _ form: ListClient.Form) {
        switch outcome {
        case .replaced(let reason): self = .reset(reason: reason)
        // A new revision may look as the old one did; then there are no stages.
        case .changed(let stages): if case .staged = form { self = .staged(stages) } else { self = .keyed }
        case .arranged(let arrangement): self = .diffable(arrangement)
        case .current, .elsewhere: return nil
        }
    }
}
