import HTTPCore

/// What this process knows of a list's source: a value, which each answer takes further.
struct SourceRecord: Sendable {
    /// What the last request came to; nil before there was one.
    private(set) var outcome: SourceNote.Outcome?
    /// The last success.
    private(set) var fetched: Instant?
    /// When the source may be asked again.
    private(set) var due: Instant
    /// From a success to the next request.
    private(set) var interval: Duration
    /// In a row.
    private(set) var failures = 0
    /// What the last success led to, and what the source calls that.
    private(set) var revision: String?
    private(set) var validators = SourceValidators()
    /// Since when there may have been a success of which nobody knows any more.
    private let known: Instant

    /// The longest that a source may ask to be left alone, where it answers and where it fails.
    private static let longest = Duration.seconds(3600)
    /// The longest between two tries of a source that fails; and so many intervals.
    private static let mostPatient = (time: Duration.seconds(300), intervals: 10)
    /// How long it is known that there is no such list.
    private static let missing = Duration.seconds(10)
    /// A validator that is longer is not sent back, in bytes.
    private static let longestValidator = 1024

    /// A source that was never asked.
    init(every interval: Duration, at now: Instant) { (self.interval, due, known) = (interval, now, now) }

    /// Whether the last success is younger than an interval.
    func isFresh(at now: Instant) -> Bool { fetched.map { now - $0 < interval } ?? false }

    /// For how many seconds nothing was heard of the source, if that is more than two intervals.
    func staleness(at now: Instant) -> Int? {
        let silence = now - (fetched ?? known)
        return silence > interval * 2 ? Int(silence / .seconds(1)) : nil
    }

    /// When it will be stale if nothing is heard of the source.
    var staleAt: Instant { (fetched ?? known) + interval * 2 + .milliseconds(1) }

    // MARK: Steps

    /// The source answered with the state that it has.
    mutating func succeed(
        _ answer: Transfer.Answer, every: Duration, revision: String?, asked: Instant, at now: Instant
    ) {
        outcome = .fetched
        (fetched, failures, self.revision) = (now, 0, revision)
        interval = max(every, min(Self.maxAge(answer), Self.longest))
        // From one request to the next, however long the answer took.
        due = max(now, asked + interval)
        // A `304` need not repeat them.
        if answer.status != 304 || answer.etag != nil || answer.lastModified != nil {
            validators = SourceValidators(
                etag: Self.short(answer.etag), lastModified: Self.short(answer.lastModified))
        }
    }

    /// The source did not answer as it should.
    ///
    /// - Parameters:
    ///   - retryAfter: seconds that it asks for.
    ///   - jitter: from 0 to 1.
    mutating func fail(every: Duration, retryAfter: Int?, jitter: Double, at now: Instant) {
        outcome = .failed
        failures += 1
        let limit = min(Self.mostPatient.time, every * Self.mostPatient.intervals)
        let doubled = every * (1 << min(failures - 1, 12))
        let pause = min(doubled, limit) * (1 - jitter / 4)
        due = now + max(pause, min(.seconds(retryAfter ?? 0), Self.longest))
    }

    /// The source says that it has no such list.
    mutating func miss(at now: Instant) {
        outcome = .missing
        (failures, validators, revision) = (0, SourceValidators(), nil)
        due = now + Self.missing
    }

    /// The state is no longer what the last success led to, so the source is asked without a condition, at once.
    mutating func forgetState(at now: Instant) {
        (validators, revision) = (SourceValidators(), nil)
        due = now
    }

    /// Waits before it tries the turn again.
    mutating func wait(until due: Instant) { self.due = due }

    /// Takes over what another node knows.
    mutating func adopt(_ note: SourceNote, at now: Instant) {
        outcome = note.outcome
        if let age = note.age, fetched.map({ now - $0 > age }) ?? true { fetched = now + (.zero - age) }
        (interval, failures) = (note.interval, note.failures)
        (revision, validators) = (note.revision, note.validators)
    }

    /// What other nodes are told.
    func note(at now: Instant) -> SourceNote? {
        outcome.map {
            SourceNote(
                outcome: $0, age: fetched.map { now - $0 }, interval: interval, failures: failures, revision: revision,
                validators: validators)
        }
    }

    // MARK: Reading fields

    /// For how long an answer is fresh (RFC 9111 §5.2.2.1), less than it was under way (§5.1).
    private static func maxAge(_ answer: Transfer.Answer) -> Duration {
        let directives = (answer.cacheControl ?? "").split(separator: ",").map { FieldList.trimmed($0).lowercased() }
        guard !directives.contains("no-cache"), !directives.contains("no-store"),
            let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count)
        else { return .zero }
        let seconds = Int(text.filter { $0 != "\"" }) ?? 0
        return .seconds(max(0, min(seconds, 1 << 31) - (answer.age.flatMap { Int(FieldList.trimmed(Substring($0))) } ?? 0)))
    }

    private static func short(_ validator: String?) -> String? {
        validator.flatMap { $0.utf8.count <= longestValidator ? $0 : nil }
    }
}

