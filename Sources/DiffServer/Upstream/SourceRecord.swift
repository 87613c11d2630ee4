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
    /// Where it comes from, see `ListMatch.origin`.
    private var origin: UInt64 = 0
    /// Since when it is known that what is there came from elsewhere; nil where it did not.
    private var outdated: Instant?
    /// When the answer came that is being taken over.
    private var heard: Instant?
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
    func isFresh(at now: Instant) -> Bool { !isOutdated && (fetched.map { now - $0 < interval } ?? false) }

    /// Whether the file has come to say something else since the last success, so that the source is asked anew
    /// whenever that was.
    var isOutdated: Bool { outdated != nil }

    /// For how many seconds nothing was heard of the source, if that is more than two intervals.
    func staleness(at now: Instant) -> Int? {
        let silence = now - lastHeard
        return silence > interval * 2 ? max(1, Int(silence / .seconds(1))) : nil
    }

    /// When it will be stale if nothing is heard of the source.
    var staleAt: Instant { lastHeard + interval * 2 + .milliseconds(1) }

    private var lastHeard: Instant { heard ?? fetched ?? known }

    // MARK: Steps

    /// The source answered, and what it said is about to be taken over. Who is woken by that is not to be told that
    /// the source is silent.
    mutating func hear(at now: Instant) { heard = now }

    /// The source answered with the state that it has.
    mutating func succeed(
        _ answer: Transfer.Answer, every: Duration, revision: String?, asked: Instant, at now: Instant
    ) {
        outcome = .fetched
        (fetched, heard, failures, self.revision) = (now, nil, 0, revision)
        interval = max(every, min(Self.maxAge(answer), Self.longest))
        // From one request to the next, however long the answer took.
        due = max(now, asked + interval)
        if let outdated, outdated > asked { return outdate(every: every, at: now) }
        outdated = nil
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
        heard = nil
        failures += 1
        let limit = min(Self.mostPatient.time, every * Self.mostPatient.intervals)
        let doubled = every * (1 << min(failures - 1, 12))
        let pause = min(doubled, limit) * (1 - jitter / 4)
        due = now + max(pause, min(.seconds(retryAfter ?? 0), Self.longest))
    }

    /// The source says that it has no such list.
    mutating func miss(at now: Instant) {
        outcome = .missing
        (heard, failures, validators, revision) = (nil, 0, SourceValidators(), nil)
        due = now + Self.missing
    }

    /// The state is no longer what the last success led to, so the source is asked without a condition, at once.
    mutating func forgetState(at now: Instant) {
        (heard, validators, revision) = (nil, SourceValidators(), nil)
        due = now
    }

    /// Says where the state comes from. If that is another place than it was, nobody may have said so yet.
    mutating func begin(from origin: UInt64, every: Duration, at now: Instant) {
        guard origin != self.origin else { return }
        if outcome != nil { outdate(every: every, at: now) }
        self.origin = origin
    }

    /// The file says something else of the list.
    mutating func outdate(every: Duration, at now: Instant) {
        forgetState(at: now)
        (interval, outdated) = (every, now)
    }

    /// Whether a note is of a node with another file, or from when this one said something else.
    func isForeign(_ note: SourceNote) -> Bool { note.origin != origin }

    /// Waits before it tries the turn again.
    mutating func wait(until due: Instant) { self.due = due }

    /// Takes over what another node knows.
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

    /// What other nodes are told.
    func note(at now: Instant) -> SourceNote? {
        outcome.map {
            SourceNote(
                outcome: $0, age: fetched.map { now - $0 }, interval: interval, failures: failures, revision: revision,
                validators: validators, origin: origin)
        }
    }

    // MARK: Reading fields

    /// For how long an answer is fresh (RFC 9111 §5.2.2.1), less than it was under way (§5.1).
    private static func maxAge(_ answer: Transfer.Answer) -> Duration {
        let directives = FieldList.elements(answer.cacheControl ?? "").map { $0.lowercased() }
        guard !directives.contains("no-cache"), !directives.contains("no-store"),
            let text = directives.first(where: { $0.hasPrefix("max-age=") })?.dropFirst("max-age=".count)
        else { return .zero }
        let seconds = Int(text.filter { $0 != "\"" }) ?? 0
        return .seconds(
            max(0, min(seconds, 1 << 31) - (answer.age.flatMap { Int(FieldList.trimmed(Substring($0))) } ?? 0)))
    }

    private static func short(_ validator: String?) -> String? {
        validator.flatMap { $0.utf8.count <= longestValidator ? $0 : nil }
    }
}
