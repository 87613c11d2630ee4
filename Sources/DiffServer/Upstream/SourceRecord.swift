import DiffService
import DiffStores
import HTTPCore

/// This process's knowledge of a list's source: a value that each answer updates.
struct SourceRecord: Sendable {
    /// Of the last request.
    private(set) var outcome: SourceNote.Outcome?
    /// When the last success was.
    private(set) var fetched: Instant?
    /// When the source may be asked again.
    private(set) var due: Instant
    /// When this node last tried to take the lease.
    private var tried: Instant
    /// The time from a success to the next request.
    private(set) var interval: Duration
    /// Failures in a row.
    private(set) var failures = 0
    /// The session's revision after the last success, and the source's validators of that state.
    private(set) var revision: String?
    private(set) var validators = SourceValidators()
    /// See `ListMatch.sourceHash`.
    private var sourceHash: UInt64 = 0
    /// Since when the session's state has been known to come from another source; nil if it does not.
    private var outdated: Instant?
    /// When the answer that is being committed arrived.
    private var heard: Instant?
    /// When this record began; before the first success, silence counts from here.
    private let known: Instant

    /// The shortest pause between two questions to the other nodes about a failing source.
    private static let minPause = Duration.seconds(1)
    /// The longest pause that a source may ask for, by `max-age` or `Retry-After`.
    private static let maxPause = Duration.seconds(3600)
    /// The longest pause between two tries of a failing source, absolute and in intervals.
    private static let maxBackOff = (time: Duration.seconds(300), intervals: 10)
    /// How long a 404 is remembered.
    private static let missing = Duration.seconds(10)
    /// The longest validator that is sent back, in bytes.
    private static let maxValidator = 1024

    init(every interval: Duration, at now: Instant) { (self.interval, due, tried, known) = (interval, now, now, now) }

    /// Whether the last success is younger than an interval.
    func isFresh(at now: Instant) -> Bool { outdated == nil && (fetched.map { now - $0 < interval } ?? false) }

    /// When this node may try to take the lease again: another may hear from a failing source before it is due here.
    func nextTry(isSole: Bool) -> Instant {
        isSole || outcome != .failed ? due : min(due, tried + max(interval, Self.minPause))
    }

    /// The seconds since the source last answered, if that is more than two intervals ago.
    func staleness(at now: Instant) -> Int? {
        let silence = now - lastHeard
        return silence > interval * 2 ? max(1, Int(silence / .seconds(1))) : nil
    }

    /// When the list will be stale if the source stays silent.
    var staleAt: Instant { lastHeard + interval * 2 + .milliseconds(1) }

    private var lastHeard: Instant { heard ?? fetched ?? known }

    // MARK: Steps

    /// Readers woken by the commit of an answer must not be told that the source is silent.
    mutating func noteAnswer(at now: Instant) { heard = now }

    mutating func succeed(
        _ answer: Transfer.Answer, every: Duration, revision: String?, asked: Instant, at now: Instant
    ) {
        outcome = .fetched
        (fetched, heard, failures, self.revision) = (now, nil, 0, revision)
        interval = max(every, min(Self.maxAge(answer), Self.maxPause))
        // Counted from the request, however long the answer took.
        due = max(now, asked + interval)
        if let outdated, outdated > asked { return invalidate(every: every, at: now) }
        outdated = nil
        // A `304` need not repeat the validators.
        if answer.status != 304 || answer.etag != nil || answer.lastModified != nil {
            validators = SourceValidators(etag: Self.short(answer.etag), lastModified: Self.short(answer.lastModified))
        }
    }

    /// - Parameter retryAfter: the seconds that the source asks for.
    mutating func fail(every: Duration, retryAfter: Int?, jitter: Double, at now: Instant) {
        outcome = .failed
        heard = nil
        failures += 1
        let limit = min(Self.maxBackOff.time, every * Self.maxBackOff.intervals)
        let doubled = every * (1 << min(failures - 1, 12))
        let pause = min(doubled, limit) * (1 - jitter / 4)
        due = now + max(pause, min(.seconds(retryAfter ?? 0), Self.maxPause))
    }

    mutating func noteMissing(at now: Instant) {
        outcome = .missing
        (heard, failures, validators, revision) = (nil, 0, SourceValidators(), nil)
        due = now + Self.missing
    }

    /// The session is no longer as the last success made it: the source must be asked at once, unconditionally.
    mutating func forgetState(at now: Instant) {
        (heard, validators, revision) = (nil, SourceValidators(), nil)
        due = now
    }

    /// This node tries to take the lease. If the hash has changed, `invalidate` may not have been called yet.
    mutating func begin(from sourceHash: UInt64, every: Duration, at now: Instant) {
        tried = now
        guard sourceHash != self.sourceHash else { return }
        if outcome != nil { invalidate(every: every, at: now) }
        self.sourceHash = sourceHash
    }

    /// The file's entry for the list has changed.
    mutating func invalidate(every: Duration, at now: Instant) {
        forgetState(at: now)
        (interval, outdated) = (every, now)
    }

    mutating func wait(until due: Instant) { self.due = due }

    /// Whether a note comes from a node with another file, or from before a reload at this node.
    func isForeign(_ note: SourceNote) -> Bool { note.sourceHash != sourceHash }

    /// Whether a failing source should not be asked yet. If this node has the lease nevertheless, the store lost that.
    func isTooEarly(at now: Instant) -> Bool { outcome == .failed && due > now }

    mutating func adopt(_ note: SourceNote, at now: Instant) {
        guard !isForeign(note) else {
            outdated = outdated ?? now
            return
        }
        outcome = note.outcome
        if let since = outdated {
            guard note.outcome == .fetched, let age = note.age, now - since > age else { return }
            outdated = nil
        }
        if let age = note.age, fetched.map({ now - $0 > age }) ?? true { fetched = now + (.zero - age) }
        (interval, failures) = (note.interval, note.failures)
        (revision, validators) = (note.revision, note.validators)
    }

    func note(at now: Instant) -> SourceNote? {
        outcome.map {
            SourceNote(
                outcome: $0, age: fetched.map { now - $0 }, interval: interval, failures: failures, revision: revision,
                validators: validators, sourceHash: sourceHash)
        }
    }

    // MARK: Reading fields

    /// How long an answer stays fresh: its `max-age` (RFC 9111 §5.2.2.1) minus its `Age` (§5.1).
    private static func maxAge(_ answer: Transfer.Answer) -> Duration {
        let directives = FieldList.elements(answer.cacheControl ?? "").map { $0.lowercased() }
        guard !directives.contains("no-cache"), !directives.contains("no-store"),
            let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count)
        else { return .zero }
        let age = answer.age.map { FieldList.trimmed(Substring($0)) }
        return .seconds(max(0, seconds(text.filter { $0 != "\"" }) - (age.map { seconds($0) } ?? 0)))
    }

    /// Whole seconds, within the range for calculations; 0 for anything but a number.
    private static func seconds(_ text: some StringProtocol) -> Int { min(max(0, Int(text) ?? 0), 1 << 31) }

    /// A validator that can be sent back unchanged in a request.
    private static func short(_ validator: String?) -> String? {
        validator.flatMap { $0.utf8.count <= maxValidator && RequestHeader.isValue($0) ? $0 : nil }
    }
}
