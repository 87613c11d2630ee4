import DiffService
import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// A request to a list's source, and the commit of its answer. Confined to the loop of its `Upstream`.
struct SourceFetch: Sendable {
    let session: String
    let definition: ListDefinition
    /// The session's head when the source was asked; nil if there was no session.
    let base: Revision?
    /// The validators of a conditional request; nil if the source must send its state.
    let validators: SourceValidators?
    let upstream: Upstream

    /// The result of a fetch.
    enum Outcome: Sendable {
        /// The session now has the source's state, at this revision.
        case succeeded(Transfer.Answer, at: Revision?)
        /// The source has no such list.
        case missing
        case failed(String, retryAfter: Int? = nil)
        /// The answer was received, but no session could be made from it.
        case unusable(Problem)
        /// Edits were committed meanwhile. The answer may not include them.
        case overtaken
        /// The file's entry for the list has changed meanwhile.
        case outdated
    }

    /// - Parameters:
    ///   - received: called before an answer is committed.
    ///   - done: called once, on the loop.
    func start(
        _ source: ListDefinition.Source, at url: String, received: @escaping () -> Void,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        var request = Transfer.Request(source, at: url, maxBytes: upstream.service.settings.maxBodyBytes)
        if let etag = validators?.etag { request.fields.append(RequestHeader(name: "If-None-Match", value: etag)) }
        if let date = validators?.lastModified {
            request.fields.append(RequestHeader(name: "If-Modified-Since", value: date))
        }
        upstream.transfers.start(request) { result in
            let answer: Transfer.Answer
            switch result {
            case .failure(let failure): return done(.failed(failure.reason))
            case .success(let found): answer = found
            }
            upstream.tallies.count(answer, definition.name.text)
            guard upstream.match(session)?.definition == definition else { return done(.outdated) }
            switch answer.status {
            case 200:
                received()
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
        let context = FetchContext(session, upstream)
        // Large answers are read on workers. `answer` holds its share of memory until the commit is done.
        context.cost = .text(answer.body.count)
        let handed = Locked(exchange(&answer.body, with: []))
        context.proceed { [answer] in
            let body = PostedBody(
                document(handed.withLock { exchange(&$0, with: []) }),
                PostedBody.Rules(shape: settings.shape ?? .native, limits: service.stateLimits, defaults: settings))
            let operation = AdoptSource(body, base: base, settings: settings)
            Transaction(operation, for: context).run().whenDone { result in
                let outcome: Outcome =
                    switch result.map(\.outcome) {
                    case .success(.adopted(let session)): .succeeded(answer, at: session.head.revision)
                    case .success(.overtaken): .overtaken
                    case .failure(let failure): .unusable(Problem(failure, of: session))
                    }
                upstream.loop.perform { done(outcome) }
            }
        }
    }
}

extension SourceFetch {
    /// The document in a source's answer. A text that was cut inside a character must not stop the list.
    private func document(_ json: consuming [UInt8]) -> StateDocument {
        let replaced = json.replaceLoneSurrogates()
        let list = definition.name.text
        if replaced > 0 { upstream.tallies.count(replaced: replaced, list) }
        upstream.outages.replaced(replaced, in: session, of: list)
        return StateDocument(json)
    }
}

extension Transfer.Request {
    /// A request to a source for its list.
    package init(_ source: ListDefinition.Source, at url: String, maxBytes: Int) {
        var fields = source.headers
        if !fields.contains(where: { $0.name.lowercased() == "accept" }) {
            fields.append(RequestHeader(name: "Accept", value: "application/json, */*;q=0.1"))
        }
        self.init(url: url, fields: fields, timeout: source.timeout, maxBytes: maxBytes, maxRedirects: 5)
    }
}

// MARK: - Adopting the result

/// Replaces a session by the state that its source sent, if the session is unchanged since the source was asked: the
/// answer may lack an edit committed since, and would undo it.
final class AdoptSource: SessionOperation {
    enum Outcome: Sendable {
        /// The session now has the source's state.
        case adopted(Session)
        /// Another write came first.
        case overtaken
    }

    private let body: PostedBody
    private let base: Revision?
    private let settings: Session.Settings

    /// - Parameters:
    ///   - base: the session's head when the source was asked; nil if there was no session.
    ///   - settings: the session's settings by the file.
    init(_ body: PostedBody, base: Revision?, settings: Session.Settings) {
        (self.body, self.base, self.settings) = (body, base, settings)
    }

    var isWrite: Bool { true }
    var replacesDamaged: Bool { true }

    func decide(_ session: Session?, by transition: SessionTransition) throws(SessionError) -> Decision<Outcome> {
        guard session?.head.revision == base else { return .finish(.overtaken) }
        guard case .state(let state, _) = try body.content(for: session).value else {
            throw .unreadable(.wrongMember("/edits", "a source must answer with a state"))
        }
        guard let before = session else {
            let first = transition.firstSession(state.snapshot, settings: settings, after: nil, maker: nil)
            return .swap(first, .adopted(first))
        }
        let settled = transition.session(before, settled: settings)
        let next = transition.session(after: settled, state.snapshot, state.reused, maker: nil).0
        return next === before ? .finish(.adopted(before)) : .swap(next, .adopted(next))
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
