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
        private let reader = ChangesReader()
        /// How many polls until a stream is tried again.
        private var polls = 0
        /// Whether an answer is wanted that nobody holds.
        private var isUrgent: Bool
        /// Whether it was asked for since a stream was silent, or says that there is no session: streams may be silent
        /// then, and wait for it.
        private var isAsked = false
        /// Until when nothing is asked: for good, or until there is a reason to ask anew.
        private var pause: (end: TimeInterval, isNamed: Bool, moment: Int)?

        fileprivate init(client: ListClient, followed: FollowedList) {
            self.client = client
            self.followed = followed
            shown = followed.list
            isUrgent = followed.revision == nil
        }

        /// Waits until the list is another one; nil when the task is cancelled.
        ///
        /// - Throws: `ServerProblem` when asking again cannot help.
        public mutating func next() async throws -> ListUpdate? {
            while !Task.isCancelled {
                if let update = editedUpdate() { return update }
                do throws(ServerProblem) {
                    if try await isPaused() { continue }
                    if let update = try await read() { return update }
                } catch {
                    reader.close()
                    if Task.isCancelled { return nil }
                    let isRenewable = client.renewsToken && error.status == 401
                    guard error.isPassing || isRenewable else {
                        client.onStatus?(.stopped(error))
                        throw error
                    }
                    // Nobody need wait to ask for what the server waits for itself.
                    let isMissing = error.status == 404
                    let isSoon = (error.isStale || isMissing) && failures == 0
                    (isUrgent, isAsked) = (followed.revision == nil && !isMissing, isMissing)
                    let delay = isSoon ? 0 : delay(error.retryAfter)
                    failures += 1
                    rest(for: delay, isNamed: error.retryAfter != nil)
                    client.onStatus?(.waiting(error, seconds: delay))
                }
            }
            return nil
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

        /// How to ask next. A session that may not be there is asked for first, so that its user learns that: a stream
        /// would wait for it.
        private var way: ChangesReader.Way {
            if isUrgent { return .poll(0) }
            return client.polls || client.transport != nil || polls > 0 ? .poll(client.wait) : .stream
        }

        /// What comes next, by the client's rule; nil if that is nothing new.
        private mutating func read() async throws(ServerProblem) -> ListUpdate? {
            let isBehind = client.pending.isAnswered(beyond: followed)
            if isBehind, reader.way == nil { isUrgent = true }
            let (way, start) = reader.way ?? (way, start: .uptime)
            // What was answered is told in a moment, unless it was told already, with what came behind it. And a stream
            // says something at once, unless there is no session: then its user learns that from an answer.
            let isSilent = way == .stream && !reader.isSettled && !isAsked
            let limit = way == .poll(0) ? nil : isBehind ? 0.25 : isSilent ? 2 : nil
            let began = TimeInterval.uptime
            let news = try await client.nextNews(
                of: reader, since: followed.revision, by: way, within: limit, unlessEditedSince: moment)
            switch (news, way) {
            case (.changes(let answer), .stream):
                isAsked = false
                return try adopt(answer, readTime: nil)
            case (.changes(let answer), .poll(let wait)): return try adopt(answer, since: start, heldFor: wait)
            case (.revision(let revision), _):
                isAsked = false
                heard()
                if followed.revision != revision { moment = -1 }  // edits that were pending may be confirmed by that
                followed.advance(to: revision)
            case (.overrun, _): reader.close()
            case (.unavailable, _):
                reader.close()
                polls = 5
            case (nil, _):
                guard let limit, .uptime >= began + limit else { break }
                reader.close()
                (isUrgent, isAsked) = (true, isSilent)
            }
            return nil
        }

        /// Adopts a poll's answer.
        private mutating func adopt(
            _ answer: [UInt8], since start: TimeInterval, heldFor wait: TimeInterval
        ) throws(ServerProblem) -> ListUpdate? {
            reader.close()
            isUrgent = false
            if polls > 0 { polls -= 1 }
            if let update = try adopt(answer, readTime: start) { return update }
            moment = -1  // edits that were answered are no change, or none that is seen
            // Where something on the way does not let the server hold the request, it must not go in a circle.
            if wait > 0, .uptime - start < 1 { rest(for: delay(nil), isNamed: false) }
            return nil
        }

        /// The server has said something that fits.
        private mutating func heard() {
            failures = 0
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
