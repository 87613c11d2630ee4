import Foundation
import SnapshotKit

/// A newer list, and how it differs from the previous one.
public struct ListUpdate: Sendable {
    /// How a list became another one.
    public enum Change: Sendable {
        /// All of it is new, for a reason such as `initial`, `expired`, `unknown`, `replaced` or `large`.
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
    /// Its revision; while edits are pending, that of the list they are applied to.
    public let revision: String
    /// The position of `list` among all rows, if the client has a window.
    public var window: WindowBounds? { followed.window }
    /// How it differs from the previous list.
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
    /// An update.
    public typealias Element = ListUpdate

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
        /// The generation of pending edits that `shown` has; -1 to look at them again.
        private var editGeneration = -1
        /// Failures in a row.
        private var failures = 0
        private let reader = ChangesReader()
        /// How many polls are left until a stream is tried again.
        private var pollsLeft = 0
        /// Whether to ask with a request that the server does not hold: at first, since a stream would wait silently
        /// for a session that is missing.
        private var isUrgent: Bool
        /// Whether such a request was made because a stream was silent, or there was no session. Streams may then be
        /// silent, and wait for the session.
        private var allowsSilence = false
        /// Nothing is asked until `end`. Unless the server named that, reconnecting ends the pause.
        private var pause: (end: TimeInterval, isNamed: Bool, generation: Int)?

        fileprivate init(client: ListClient, followed: FollowedList) {
            self.client = client
            self.followed = followed
            shown = followed.list
            isUrgent = followed.revision == nil
        }

        /// Waits for the next list; nil when the task is cancelled.
        ///
        /// - Throws: `ServerProblem` when trying again cannot help.
        public mutating func next() async throws -> ListUpdate? {
            while !Task.isCancelled {
                if let update = editedUpdate() { return update }
                do throws(ServerProblem) {
                    if try await isPaused() { continue }
                    if let update = try await read() { return update }
                } catch {
                    reader.close()
                    if Task.isCancelled { return nil }
                    guard client.mayPass(error) else {
                        client.onStatus?(.stopped(error))
                        throw error
                    }
                    // The first retry is immediate: for a missing session, the server waits itself.
                    let isMissing = error.status == 404
                    let isSoon = (error.isStale || isMissing) && failures == 0
                    (isUrgent, allowsSilence) = (followed.revision == nil && !isMissing, isMissing)
                    let delay = isSoon ? 0 : client.backOff.pause(after: failures, retryAfter: error.retryAfter)
                    failures += 1
                    beginPause(for: delay, isNamed: error.retryAfter != nil)
                    client.onStatus?(.waiting(error, seconds: delay))
                }
            }
            return nil
        }

        private mutating func beginPause(for seconds: TimeInterval, isNamed: Bool) {
            pause = (.uptime + seconds, isNamed, client.connectivity.heldRequests.generation)
        }

        /// Sits out a pause; true if that was interrupted.
        private mutating func isPaused() async throws(ServerProblem) -> Bool {
            guard let (end, isNamed, generation) = pause, end > .uptime else { return false }
            let connectivity = client.connectivity.heldRequests
            if !isNamed, generation != connectivity.generation {
                pause = nil
                return false
            }
            let sleep = { @Sendable () async throws(ServerProblem) -> Bool? in
                await Task.pause(for: end - .uptime)
                return true
            }
            let slept = try await client.pending.heldRequests.answer(since: editGeneration) {
                () throws(ServerProblem) in
                isNamed ? try await sleep() : try await connectivity.answer(since: generation, asking: sleep)
            }
            return slept == nil
        }

        /// How to ask next.
        private var mode: ChangesReader.Mode {
            if isUrgent { return .poll(0) }
            return client.polls || client.transport != nil || pollsLeft > 0 ? .poll(client.wait) : .stream
        }

        /// Waits for an update; nil if it changes nothing.
        private mutating func read() async throws(ServerProblem) -> ListUpdate? {
            let isBehind = client.pending.isAnswered(beyond: followed)
            if isBehind, reader.mode == nil { isUrgent = true }
            let (mode, start) = reader.mode ?? (mode, start: .uptime)
            // After an edit is answered, a stream should bring it soon, and a new stream should say something at once.
            // If not, ask: the edit may have arrived already along with a later one, or there is no session.
            let isSilent = mode == .stream && !reader.isSettled && !allowsSilence
            let limit = mode == .poll(0) ? nil : isBehind ? 0.25 : isSilent ? 2 : nil
            let began = TimeInterval.uptime
            let update = try await client.nextUpdate(
                of: reader, since: followed.revision, by: mode, within: limit, unlessEditedSince: editGeneration)
            switch (update, mode) {
            case (.changes(let answer), .stream):
                allowsSilence = false
                return try adopt(answer, readTime: nil)
            case (.changes(let answer), .poll(let wait)): return try adopt(answer, since: start, heldFor: wait)
            case (.revision(let revision), _):
                allowsSilence = false
                confirmLive()
                if followed.revision != revision { editGeneration = -1 }  // that may confirm pending edits
                followed.advance(to: revision)
            case (.overrun, _): reader.close()
            case (.unavailable, _):
                reader.close()
                pollsLeft = 5
            case (nil, _):
                guard let limit, .uptime >= began + limit else { break }
                reader.close()
                (isUrgent, allowsSilence) = (true, isSilent)
            }
            return nil
        }

        /// Adopts a poll's answer.
        private mutating func adopt(
            _ answer: [UInt8], since start: TimeInterval, heldFor wait: TimeInterval
        ) throws(ServerProblem) -> ListUpdate? {
            reader.close()
            isUrgent = false
            if pollsLeft > 0 { pollsLeft -= 1 }
            if let update = try adopt(answer, readTime: start) { return update }
            editGeneration = -1  // that may confirm pending edits
            // Do not spin if something on the way keeps the server from holding the request.
            if wait > 0, .uptime - start < 1 {
                beginPause(for: client.backOff.pause(after: failures, retryAfter: nil), isNamed: false)
            }
            return nil
        }

        /// The server's answer was fine.
        private mutating func confirmLive() {
            failures = 0
            client.onStatus?(.live)
        }

        private mutating func adopt(_ answer: [UInt8], readTime: TimeInterval?) throws(ServerProblem) -> ListUpdate? {
            let before = followed.list
            let outcome = try take(answer)
            confirmLive()
            if let readTime { followed.readTime = readTime }
            return ListUpdate.Change(outcome, client.form).flatMap { update(by: $0, outcome, from: before) }
        }

        /// The update for an answer. If no edits are pending before or after it, the server's own changes.
        private mutating func update(
            by change: ListUpdate.Change, _ outcome: FollowedList.Outcome, from before: RowList
        ) -> ListUpdate? {
            let next = client.pending.applied(to: followed)
            if case .reset = change { return show(next, change) }
            if shown == before, next == followed.list { return show(next, change) }
            let marks = outcome.marks(from: before, to: followed.list)
            return show(next, shown.change(to: next, in: client.form, marks: marks))
        }

        /// The update for edits alone; nil if they change nothing that is shown.
        private mutating func editedUpdate() -> ListUpdate? {
            let generation = client.pending.heldRequests.generation
            guard generation != editGeneration else { return nil }
            editGeneration = generation
            guard followed.revision != nil else { return nil }
            let next = client.pending.applied(to: followed)
            return next == shown ? nil : show(next, shown.change(to: next, in: client.form))
        }

        private mutating func show(_ list: RowList, _ change: ListUpdate.Change) -> ListUpdate? {
            guard let revision = followed.revision else { return nil }
            shown = list
            return ListUpdate(list: list, revision: revision, change: change, followed: followed)
        }

        private mutating func take(_ answer: [UInt8]) throws(ServerProblem) -> FollowedList.Outcome {
            let outcome: FollowedList.Outcome
            do throws(ApplyError) {
                outcome = try followed.take(answer)
            } catch {
                throw ServerProblem(title: "A changeset could not be applied", detail: "\(error)")
            }
            if case .elsewhere = outcome { throw ServerProblem(title: "An answer was for another list", isStale: true) }
            return outcome
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
