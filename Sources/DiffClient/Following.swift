import Foundation
import SnapshotKit

/// How one loop over `updates` asks its session: the next step, given what has happened. A pure value without a clock
/// or a network; `ListUpdates.Iterator` carries out its steps.
///
/// A loop has at most one request. It reads a stream, or polls where streams do not get through. A poll that the server
/// does not hold is made where a stream may be silent: at first, when there may be no session, and after an edit was
/// answered, which may have arrived along with a later one.
struct Following: Sendable {
    enum Mode: Sendable, Equatable {
        case stream
        /// By a request that the server may hold for this many seconds.
        case poll(TimeInterval)
    }

    /// What a request depends on: the rows to follow, nil for all, and how often the client was told to reconnect.
    typealias Terms = (rows: StateWindow?, reconnections: Int)

    enum Step: Sendable, Equatable {
        /// Make this request in place of the one in progress.
        case ask(Mode)
        /// Wait until this time, for what the request brings or for a change of what steps depend on.
        case wait(until: TimeInterval)
    }

    /// For how many seconds a stream may be silent. The server sends its first bytes at once, and a comment every 15
    /// seconds.
    private static let (longestStart, longestSilence) = (5.0, 45.0)

    /// How to ask unless something is urgent.
    private let usual: Mode
    private let wait: TimeInterval
    private let backOff: ListClient.BackOff

    private var terms: Terms = (nil, 0)
    /// The request in progress. A stream may be silent if it was not before, or if a poll has told what there is.
    private var request: (mode: Mode, start: TimeInterval, maySayNothing: Bool)?
    /// Nothing is asked until `end`. Reconnecting ends the pause, unless the server named its end.
    private var pause: (end: TimeInterval, isNamed: Bool)?
    private var failures = 0
    /// How many polls are left until a stream is tried again.
    private var pollsLeft = 0
    /// Whether the next request is one that the server does not hold.
    private var isUrgent: Bool
    /// Whether the next stream may be silent.
    private var allowsSilence = false
    /// Since when an edit was answered that the list is not known to contain.
    private var behindSince: TimeInterval?

    /// - Parameter hasList: whether there is a list to continue from.
    init(_ client: ListClient, hasList: Bool) {
        (wait, backOff, isUrgent) = (client.wait, client.backOff, !hasList)
        usual = client.polls || client.transport != nil ? .poll(client.wait) : .stream
    }

    /// When the poll in progress began; nil for a stream.
    var readTime: TimeInterval? { request?.mode == .stream ? nil : request?.start }

    /// - Parameters:
    ///   - isBehind: whether an edit was answered that the list is not known to contain.
    ///   - lastHeard: when the last bytes of a stream arrived, if any have.
    ///   - hasNews: whether the request has brought something that nobody has read. A loop that comes late to it must
    ///     not take that for silence.
    /// - Throws: `ServerProblem` if a stream fell silent.
    mutating func step(
        at now: TimeInterval, _ terms: Terms, isBehind: Bool, lastHeard: TimeInterval?, hasNews: Bool = false
    ) throws(ServerProblem) -> Step {
        if let pause, pause.end > now, pause.isNamed || terms.reconnections == self.terms.reconnections {
            return .wait(until: pause.end)
        }
        pause = nil
        if terms != self.terms { request = nil }
        self.terms = terms
        behindSince = isBehind ? behindSince ?? now : nil
        guard let request else { return ask(at: now) }
        if hasNews { return .wait(until: now) }
        if request.mode == .poll(0) { return .wait(until: .infinity) }
        // A stream should bring an edit soon, and a new one should say something at once. If not, there may be nothing
        // more to say, or no session.
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

    // MARK: What has happened

    /// The request has brought something that fits. A poll is over then.
    ///
    /// - Parameter isNews: whether it changed what is shown.
    mutating func succeeded(at now: TimeInterval, isNews: Bool) {
        failures = 0
        guard let request, case .poll(let wait) = request.mode else {
            self.request?.maySayNothing = true
            return allowsSilence = false
        }
        // Do not spin if something on the way keeps the server from holding the request.
        if !isNews, wait > 0, now - request.start < 1 {
            pause = (now + backOff.pause(after: 0, retryAfter: nil), false)
        }
        (self.request, isUrgent, pollsLeft) = (nil, false, max(0, pollsLeft - 1))
    }

    /// More has arrived than was read: a new request brings all of it in one step.
    mutating func isOverrun() { request = nil }

    /// The server has no streams, or something on the way holds them back.
    mutating func streamsAreHeldBack() { (request, pollsLeft) = (nil, 5) }

    /// The request has failed, or brought something that does not fit. Returns the pause, in seconds.
    mutating func failed(by problem: ServerProblem, at now: TimeInterval, hasList: Bool) -> TimeInterval {
        let isMissing = problem.status == 404
        (request, isUrgent, allowsSilence) = (nil, !hasList && !isMissing, isMissing)
        // The first retry is immediate: for a missing session, the server waits itself.
        let isSoon = (problem == .otherList || isMissing) && failures == 0
        let delay = isSoon ? 0 : backOff.pause(after: failures, retryAfter: problem.retryAfter)
        failures += 1
        pause = (now + delay, problem.retryAfter != nil)
        return delay
    }
}
