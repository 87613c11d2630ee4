import HTTPCore
import SnapshotKit

/// One request to a list's source, and the commit of what it answers. Confined to the loop of its `Upstream`.
struct SourceFetch: Sendable {
    let session: String
    let definition: ListDefinition
    /// The session's head when the source is asked; nil if there is no session.
    let base: Revision?
    /// What a conditional request names; nil where the source has to send its state.
    let validators: SourceValidators?
    let upstream: Upstream

    /// What came of a fetch.
    enum Outcome: Sendable {
        /// The session, at this revision, is as the source says.
        case succeeded(Transfer.Answer, at: Revision?)
        /// The source has no such list.
        case missing
        case failed(String, retryAfter: Int? = nil)
        /// The answer was received, and the session could not be made of it.
        case unusable(Problem)
        /// Edits were committed meanwhile, which the answer may not know.
        case overtaken
        /// The file says something else of the list by now.
        case outdated
    }

    /// - Parameters:
    ///   - received: called before an answer is committed.
    ///   - done: called once, on the loop.
    func start(
        _ source: ListDefinition.Source, at url: String, received: @escaping () -> Void,
        done: @escaping @Sendable (Outcome) -> Void
    ) {
        var request = Transfer.Request(source, at: url, maxBytes: upstream.service.options.maxBodyBytes)
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
        let options = upstream.service.options
        let settings = definition.settings.applied(to: options.defaultSettings)
        var answer = answer
        let errand = FetchErrand(session, upstream)
        // Workers read large ones. The answer, and so its share of memory, is kept until it is committed.
        errand.isLong = answer.body.count > DiffService.largeBody
        let body = PostedBody(
            StateDocument(exchange(&answer.body, with: [])),
            PostedBody.Rules(shape: settings.shape ?? .native, limits: options.stateLimits, defaults: settings))
        let operation = AdoptSource(body, base: base, settings: settings)
        let begin = { @Sendable [answer] in
            Transaction(operation, for: errand).run().whenDone { result in
                let outcome: Outcome =
                    switch result.map(\.outcome) {
                    case .success(.adopted(let session)): .succeeded(answer, at: session.head.revision)
                    case .success(.overtaken): .overtaken
                    case .failure(let problem): .unusable(problem)
                    }
                upstream.loop.perform { done(outcome) }
            }
        }
        if errand.isLong { upstream.service.workers.run(begin) } else { begin() }
    }
}

extension Transfer.Request {
    /// Asks a source for its list.
    init(_ source: ListDefinition.Source, at url: String, maxBytes: Int) {
        var fields = source.headers
        if !fields.contains(where: { $0.name.lowercased() == "accept" }) {
            fields.append(RequestHeader(name: "Accept", value: "application/json, */*;q=0.1"))
        }
        self.init(url: url, fields: fields, timeout: source.timeout, maxBytes: maxBytes, maxRedirects: 5)
    }
}
