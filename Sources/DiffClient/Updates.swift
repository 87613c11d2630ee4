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
        case diffable(Arrangement)
    }

    /// What to show.
    public let list: RowList
    /// Its revision.
    public let revision: String
    /// Where `list` stands among all rows, if the client has a window.
    public let window: WindowBounds?
    /// How it came about.
    public let change: Change
}

extension DiffClient {
    /// What the session holds, and from then on each change, for as long as somebody asks for the next one.
    ///
    /// The first update is a reset. Whatever happens on the way, what is shown stays: after 404, 429, 503 and lost
    /// connections the client waits and goes on from the list that it has. It ends when its task is cancelled, and
    /// throws a `Problem` when asking again cannot help: the token is refused, or the request is wrong.
    public var updates: Updates { updates(from: FollowedList()) }

    /// Each change from a list on that was shown earlier.
    public func updates(from followed: FollowedList) -> Updates { Updates(client: self, followed: followed) }
}

/// The updates of a session. Each iteration follows it by itself.
public struct Updates: AsyncSequence, Sendable {
    /// An update.
    public typealias Element = ListUpdate

    let client: DiffClient
    let followed: FollowedList

    /// Begins to follow.
    public func makeAsyncIterator() -> Iterator { Iterator(client: client, followed: followed) }

    /// Follows a session: the list that is shown, and the failures since something went well.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private let client: DiffClient
        private var followed: FollowedList
        private var failures = 0

        fileprivate init(client: DiffClient, followed: FollowedList) {
            self.client = client
            self.followed = followed
        }

        /// Waits until the list is another one; nil when the task is cancelled.
        ///
        /// - Throws: `Problem` when asking again cannot help.
        public mutating func next() async throws -> ListUpdate? {
            while !Task.isCancelled {
                do throws(Problem) {
                    if let update = try await poll() { return update }
                } catch {
                    if Task.isCancelled { return nil }
                    let isRenewable = client.renewsToken && error.status == 401
                    guard error.isPassing || isRenewable else { throw error }
                    let delay = error.isStale && failures == 0 ? .zero : pause(error.retryAfter)
                    failures += 1
                    client.onStatus?(.waiting(error, delay))
                    try? await Task.sleep(for: delay)
                }
            }
            return nil
        }

        /// One request, and the client's rule on its answer; nil if it brought nothing new.
        private mutating func poll() async throws(Problem) -> ListUpdate? {
            let clock = ContinuousClock()
            let start = clock.now
            // Nil where the window was moved meanwhile.
            guard let answer = try await client.nextChanges(since: followed.revision) else { return nil }
            client.onStatus?(.live)
            let outcome = try take(answer)
            failures = 0
            if let change = ListUpdate.Change(outcome, client.form), let revision = followed.revision {
                return ListUpdate(list: followed.list, revision: revision, window: followed.window, change: change)
            }
            // Where something on the way does not let the server hold the request, it must not go in a circle.
            if clock.now - start < .seconds(1) { try? await Task.sleep(for: pause(nil)) }
            return nil
        }

        private mutating func take(_ answer: [UInt8]) throws(Problem) -> FollowedList.Outcome {
            let outcome: FollowedList.Outcome
            do throws(ApplyError) {
                outcome = try followed.take(answer)
            } catch {
                throw Problem(title: "A changeset did not fit", detail: "\(error)")
            }
            if case .elsewhere = outcome { throw Problem(title: "An answer was for another list", isStale: true) }
            return outcome
        }

        private func pause(_ retryAfter: Duration?) -> Duration {
            client.backOff.pause(after: failures, retryAfter: retryAfter, chance: .random(in: 0...1))
        }
    }
}

extension ListUpdate.Change {
    /// Nil if an answer changed nothing.
    fileprivate init?(_ outcome: FollowedList.Outcome, _ form: DiffClient.Form) {
        switch outcome {
        case .replaced(let reason): self = .reset(reason: reason)
        // A new revision may look as the old one did; then there are no stages.
        case .changed(let stages): if case .staged = form { self = .staged(stages) } else { self = .keyed }
        case .arranged(let arrangement): self = .diffable(arrangement)
        case .current, .elsewhere: return nil
        }
    }
}
