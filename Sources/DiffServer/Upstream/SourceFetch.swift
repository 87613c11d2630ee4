import DiffService
import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A request to a list's source, and the commit of its answer. Confined to the loop of its `Upstream`.
struct SourceFetch: Sendable {
    let name: SourceName
    let match: ListMatch
    let feed: ListDefinition.Feed
    /// The session when the source was asked; nil if there was none.
    let base: SourceBase?
    /// The validators of a conditional request; nil if the source must send its state.
    let validators: SourceValidators?
    let upstream: Upstream

    /// The result of a fetch.
    enum Outcome: Sendable {
        /// The session now has what the source sent, but for what the warnings name.
        case succeeded(Transfer.Answer, at: SourceBase?, [StateWarning] = [])
        /// The source has no such list.
        case missing
        case failed(String, retryAfter: Int? = nil)
        /// The answer was received, but no session could be made from it.
        case unusable(Problem)
        /// Edits were committed meanwhile. The answer may not include them.
        case overtaken
        /// The file's entry has changed meanwhile.
        case outdated
    }

    /// - Parameter happen: called on the loop: with `heard` before an answer is committed, and then with `fetched`.
    func start(tracedBy trace: String?, _ happen: @escaping @Sendable (SourceLife.Event) -> Void) {
        let done = { @Sendable (outcome: Outcome) in happen(.fetched(outcome)) }
        var request = Transfer.Request(
            feed.source, at: match.url(of: feed), maxBytes: upstream.service.settings.maxBodyBytes)
        if let etag = validators?.etag { request.fields.append(RequestHeader(name: "If-None-Match", value: etag)) }
        if let date = validators?.lastModified {
            request.fields.append(RequestHeader(name: "If-Modified-Since", value: date))
        }
        request.trace(trace)
        let start = Instant.now
        upstream.transfers.start(request) { result in
            upstream.tallies.count(list) { $0.durations.add(.now - start) }
            let answer: Transfer.Answer
            do throws(Transfer.Failure) { answer = try result.get() } catch { return done(.failed(error.reason)) }
            upstream.tallies.count(list) {
                $0.bytes += answer.received
                if answer.status == 304 { $0.notModified += 1 }
            }
            guard upstream.match(name.session)?.definition == definition else { return done(.outdated) }
            switch answer.status {
            case 200:
                happen(.heard)
                commit(answer, done)
            case 304 where validators != nil: done(.succeeded(answer, at: base))
            case 404 where base == nil, 410 where base == nil: done(.missing)
            default: done(.failed("it answered \(answer.status)", retryAfter: answer.retryAfter))
            }
        }
    }

    private func commit(_ answer: Transfer.Answer, _ done: @escaping @Sendable (Outcome) -> Void) {
        let service = upstream.service.settings
        let settings = definition.settings.applied(to: service.defaultSettings)
        var answer = answer
        let context = FetchContext(name.session, upstream)
        // Large answers are read on workers. `answer` holds its share of memory until the commit is done.
        context.cost = .text(answer.body.count, times: definition.guessesShape ? ShapeGuess.cost : 1)
        let handed = Locked(exchange(&answer.body, with: []))
        context.proceed { [answer] in
            let body = PostedBody(
                document(handed.withLock { exchange(&$0, with: []) }), feed.rules(settings, service.stateLimits))
            let operation = AdoptSource(
                body: body, base: base, settings: settings, guessesShape: definition.guessesShape,
                outlines: definition.outlines)
            Transaction(operation, for: context).run().whenDone { result in
                let outcome: Outcome =
                    switch result.map(\.outcome) {
                    case .success(.adopted(let session, let result)): succeeded(answer, session, result)
                    case .success(.overtaken): .overtaken
                    case .failure(let failure): .unusable(Problem(failure, of: name.session))
                    }
                upstream.loop.perform { done(outcome) }
            }
        }
    }

    private func succeeded(_ answer: Transfer.Answer, _ adopted: Session, _ result: GuessedAnswer) -> Outcome {
        let isFirst = adopted.settings.guessedAnswers == 1
        upstream.outages.guessed(result.shapes, in: name.session, of: definition.name.text, isFirst: isFirst)
        upstream.outages.omitted(result.state.warnings, in: name, of: list.session)
        return .succeeded(
            answer, at: SourceBase(adopted.revision, adopted.fetchGround, name), result.state.warnings)
    }

    private var definition: ListDefinition { match.definition }
    private var list: SourceName { SourceName(definition.name.text, section: name.section) }

    /// What is JSON for others, or a text cut inside a character, must not stop the list.
    private func document(_ json: consuming [UInt8]) -> StateDocument {
        let replaced = json.mendJSON()
        if replaced > 0 { upstream.tallies.count(list) { $0.replaced += replaced } }
        upstream.outages.replaced(replaced, in: name, of: list.session)
        return StateDocument(json)
    }
}

extension Transfer.Request {
    package init(_ source: ListDefinition.Source, at url: String, maxBytes: Int) {
        var fields = source.headers
        if !fields.contains(where: { $0.name.lowercased() == "accept" }) {
            fields.append(RequestHeader(name: "Accept", value: "application/json, */*;q=0.1"))
        }
        self.init(url: url, fields: fields, timeout: source.timeout, maxBytes: maxBytes, maxRedirects: 5)
    }

    /// Passes on a `traceparent` (W3C Trace Context §4.3: unchanged).
    mutating func trace(_ value: String?) {
        if let value { fields.append(RequestHeader(name: "traceparent", value: value)) }
    }
}

// MARK: - Adopting the result

/// A session as a fetch finds it.
struct SourceBase: Sendable, Equatable {
    let revision: Revision
    /// What must be the same when the result is committed. A section's fetch may follow those of other sections.
    let text: String

    init(_ revision: Revision, _ ground: Session.FetchGround, _ name: SourceName) {
        (self.revision, text) = (revision, name.section == nil ? revision.text : ground.text)
    }
}

/// Replaces a session, or one section, by what its source sent, if nothing else has changed the session since the
/// source was asked: the answer may lack an edit committed since, and would undo it.
struct AdoptSource: SessionOperation {
    enum Outcome: Sendable {
        /// The session now has the source's state.
        case adopted(Session, GuessedAnswer)
        /// Another write came first.
        case overtaken
    }

    /// Nil to bring only the sections into the file's order.
    let body: PostedBody?
    /// The session when the source was asked; nil if there was none.
    let base: SourceBase?
    /// The session's settings by the file.
    let settings: Session.Settings
    /// Whether the shape is not among them, but guessed.
    var guessesShape = false
    /// The file's sections, if each has a source of its own.
    var outlines: [SectionOutline]?

    var replacesDamaged: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        guard isCurrent(session) else { return .finish(.overtaken) }
        let answer = try answer(upon: session, transition)
        let (state, isOfFetch) = (answer.state, outlines != nil)
        guard let before = session, !answer.isCorrected else {
            let first = transition.firstSession(
                state.snapshot, settings: answer.settings, after: session, maker: nil, isOfFetch: isOfFetch)
            return .swap(first, .adopted(first, answer))
        }
        let settled = transition.session(before, settled: answer.settings)
        let next = transition.session(after: settled, state.snapshot, state.shared, maker: nil, isOfFetch: isOfFetch).0
        return next === before ? .finish(.adopted(before, answer)) : .swap(next, .adopted(next, answer))
    }

    /// Whether the session is as it was when the source was asked, but for fetches of other sections.
    private func isCurrent(_ session: Session?) -> Bool {
        guard let session else { return base == nil && body != nil }
        guard outlines != nil else { return session.head.revision == base?.revision }
        return body == nil || base.map { $0.text == session.fetchGround.text } ?? session.fetchGround.isBeginning
    }

    private func answer(upon session: Session?, _ transition: SessionTransition) throws(SessionError) -> GuessedAnswer {
        if let body, guessesShape { return try body.guessed(for: session, settings, by: transition) }
        if let body, outlines == nil { return GuessedAnswer(state: try body.state(for: session), settings: settings) }
        var (section, limits): (SectionReading?, StateLimits) = (nil, .none)
        if case .section(let reading, let bounds) = try body?.content(for: session).value {
            (section, limits) = (reading, bounds)
        }
        do throws(StateError) {
            let head = session?.head.snapshot ?? .empty
            let (snapshot, shared) = try head.replacing(section, among: outlines, limits: limits)
            let state = StateReading(snapshot, shared: shared, warnings: section?.warnings ?? [])
            return GuessedAnswer(state: state, settings: settings)
        } catch { throw .unreadable(error) }
    }
}

// MARK: - Context

/// The context of a fetch, which no client requested.
final class FetchContext: ServiceContext {
    let session: String
    private let upstream: Upstream
    nonisolated(unsafe) var cost = WorkCost.none
    nonisolated(unsafe) var conflicts = 0

    init(_ session: String, _ upstream: Upstream) { (self.session, self.upstream) = (session, upstream) }

    var service: DiffService { upstream.service }
    var executor: any WorkExecutor { upstream.loop }
    var token: (any RevocableToken)? { nil }
    var scanCount: Int { 1 }

    func readiness(sessionExists: Bool) -> Progress<Void, SourceFailure>? { nil }
}
