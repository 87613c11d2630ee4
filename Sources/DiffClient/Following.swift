import Foundation
import SnapshotKit

/// The state machine of one loop over `updates`: the next step, given what has happened. A pure value without a clock
/// or a network; `ListUpdates.Iterator` carries out its steps.
///
/// A loop has at most one request. It reads a stream, or polls where streams do not get through. Where a stream may be
/// silent, it polls without being held by the server: at first, when there may be no session, and after an edit was
/// answered, which may have arrived along with a later one.
struct Following: Sendable {
    enum Mode: Sendable, Equatable {
        case stream
        /// A request that the server may hold for this many seconds.
        case poll(TimeInterval)
    }

    /// What a request depends on: the rows to follow, nil for all, and how often the client was told to reconnect.
    typealias Terms = (rows: StateWindow?, reconnections: Int)

    /// Why nothing is asked: the server has named when to come back; something failed, until the client is told to
    /// reconnect; or the next poll is not due, until other rows are wanted or an edit is answered.
    private enum PauseReason { case named, failure, interval }

    enum Step: Sendable, Equatable {
        /// Make this request in place of the one in progress.
        case ask(Mode)
        /// Wait until this time for an answer, or for a change of what steps depend on.
        case wait(until: TimeInterval)
    }

    /// The longest silence of a stream, at its start and later, in seconds. The server sends its first bytes at once,
    /// and a comment every 15 seconds.
    private static let (longestStart, longestSilence) = (5.0, 45.0)

    /// How to ask unless something is urgent.
    private let usual: Mode
    private let wait: TimeInterval
    private let interval: TimeInterval?
    private let backOff: ListClient.BackOff

    private var terms: Terms = (nil, 0)
    /// The request in progress. A stream may be silent once it has spoken, or after a poll has told what there is.
    private var request: (mode: Mode, start: TimeInterval, maySayNothing: Bool)?
    /// Nothing is asked until `end`.
    private var pause: (end: TimeInterval, reason: PauseReason)?
    private var failures = 0
    /// How many polls are left until a stream is tried again.
    private var pollsLeft = 0
    /// Whether the server must not hold the next request.
    private var isUrgent: Bool
    /// Whether the next stream may be silent.
    private var allowsSilence = false
    /// Since when an answered edit is not known to be in the list.
    private var behindSince: TimeInterval?

    init(_ client: ListClient, hasList: Bool) {
        (interval, backOff, isUrgent) = (client.pollInterval, client.backOff, !hasList)
        wait = interval == nil ? client.wait : 0
        usual = interval != nil || client.polls || client.transport != nil ? .poll(wait) : .stream
    }

    /// When the poll in progress began; nil for a stream.
    var readTime: TimeInterval? { request?.mode == .stream ? nil : request?.start }

    /// - Parameters:
    ///   - isBehind: whether an answered edit is not known to be in the list.
    ///   - lastHeard: when the last bytes of a stream arrived, if any have.
    ///   - hasNews: whether the request has brought unread news, which a late loop must not take for silence.
    /// - Throws: `ServerProblem` if a stream fell silent.
    mutating func step(
        at now: TimeInterval, _ terms: Terms, isBehind: Bool, lastHeard: TimeInterval?, hasNews: Bool = false
    ) throws(ServerProblem) -> Step {
        let isAnswered = isBehind && behindSince == nil
        behindSince = isBehind ? behindSince ?? now : nil
        if let pause, pause.end > now {
            let holds =
                switch pause.reason {
                case .named: true
                case .failure: terms.reconnections == self.terms.reconnections
                case .interval: terms == self.terms && !isAnswered
                }
            if holds { return .wait(until: pause.end) }
        }
        pause = nil
        if terms != self.terms { request = nil }
        self.terms = terms
        guard let request else { return ask(at: now) }
        if hasNews { return .wait(until: now) }
        if request.mode == .poll(0) { return .wait(until: .infinity) }
        // A stream should bring an edit soon, and a new stream should say something at once. If not, there may be
        // nothing more to say, or no session.
        let isSilent = request.mode == .stream && !request.maySayNothing
        let patience = behindSince.map { $0 + 0.25 } ?? (isSilent ? request.start + 2 : .infinity)
        if now >= patience {
            (isUrgent, allowsSilence) = (true, isSilent)
            return ask(at: now)
        }
        guard request.mode == .stream else { return .wait(until: patience) }
        let end = lastHeard.map { $0 + Self.longestSilence } ?? request.start + Self.longestStart
        if now < end { return .wait(until: min(patience, end)) }
        if lastHeard != nil { throw ServerProblem(title: "The server fell silent") }
        streamsAreHeldBack()
        return ask(at: now)
    }

    private mutating func ask(at now: TimeInterval) -> Step {
        let mode = isUrgent || behindSince != nil ? .poll(0) : pollsLeft > 0 ? .poll(wait) : usual
        request = (mode, now, allowsSilence)
        return .ask(mode)
    }

    // MARK: Events

    /// The request has brought an answer that fits, and perhaps changed what is shown; then a poll is over.
    mutating func succeeded(at now: TimeInterval, isNews: Bool) {
        failures = 0
        guard let request, case .poll(let wait) = request.mode else {
            self.request?.maySayNothing = true
            return allowsSilence = false
        }
        if let interval { pause = (now + max(0, interval) * .random(in: 0.9...1.1), .interval) }
        // Do not spin if something on the way keeps the server from holding the request.
        if !isNews, wait > 0, now - request.start < 1 {
            pause = (now + backOff.pause(after: 0, retryAfter: nil), .failure)
        }
        (self.request, isUrgent, pollsLeft) = (nil, false, max(0, pollsLeft - 1))
    }

    /// More has arrived than was read: a new request brings all of it in one step.
    mutating func isOverrun() { request = nil }

    /// The server has no streams, or something on the way holds them back.
    mutating func streamsAreHeldBack() { (request, pollsLeft) = (nil, 5) }

    /// The request has failed, or brought an answer that does not fit. Returns the pause, in seconds.
    mutating func failed(by problem: ServerProblem, at now: TimeInterval, hasList: Bool) -> TimeInterval {
        let isMissing = problem.status == 404
        (request, isUrgent, allowsSilence) = (nil, !hasList && !isMissing, isMissing)
        // The first retry is immediate: the server itself waits for a missing session.
        let isSoon = (problem == .otherList || isMissing) && failures == 0
        let delay = isSoon ? 0 : backOff.pause(after: failures, retryAfter: problem.retryAfter)
        failures += 1
        pause = (now + delay, problem.retryAfter == nil ? .failure : .named)
        return delay
    }
}
