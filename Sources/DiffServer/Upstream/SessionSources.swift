import DiffService
import DiffStores
import HTTPCore

/// All that a session is fetched from: one source, or one for each section. A value of a definition of its list; the
/// sources go on when the file is read again.
struct SessionSources: Sendable {
    let all: [SourcedList]

    /// - Parameter others: sources to go on with if the list still has them.
    init(_ session: String, of definition: ListDefinition, _ upstream: Upstream, others: [SourcedList] = []) {
        all = definition.feeds.map { feed in
            let name = SourceName(session, section: feed.section?.id)
            return others.first { $0.name.isSame(as: name) } ?? SourcedList(name, upstream, every: feed.source.every)
        }
    }

    /// The seconds since the source last answered that has been silent for longest, if that is too long ago.
    var staleness: Int? { all.compactMap(\.staleness).max() }

    /// Why a fetch failed, for callers that are allowed to know.
    var failureDetail: String? { all.lazy.map(\.failureDetail).first { !$0.isEmpty } }

    var isInUse: Bool { all.contains(where: \.isInUse) }
    func isIdle(at now: Instant) -> Bool { all.allSatisfy { $0.isIdle(at: now) } }

    func readersArrived() { for list in all { list.readersArrived() } }

    /// What a reader must wait for before it is answered; nil for nothing. See `SourcedList.readiness`.
    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>? {
        let answers = all.compactMap { $0.readiness(sessionExists: sessionExists, patience: patience) }
        return answers.isEmpty ? nil : Self.together(answers)
    }

    /// Asks all sources now.
    func fetch() -> Progress<Void, SourceFailure> { Self.together(all.map { $0.fetch() }) }

    /// Done once all are. A failure only if none succeeds: the list is missing if all are.
    private static func together(_ answers: [Progress<Void, SourceFailure>]) -> Progress<Void, SourceFailure> {
        let count = answers.count
        if count == 1 { return answers[0] }
        return .of { done in
            let results = Locked<[Result<Void, SourceFailure>]>([])
            for answer in answers {
                answer.whenDone { result in
                    let all = results.withLock { results -> [Result<Void, SourceFailure>]? in
                        results.append(result)
                        return results.count == count ? results : nil
                    }
                    if let all { done(joined(all)) }
                }
            }
        }
    }

    static func joined(_ results: [Result<Void, SourceFailure>]) -> Result<Void, SourceFailure> {
        let failures = results.compactMap { result -> SourceFailure? in
            if case .failure(let failure) = result { failure } else { nil }
        }
        guard failures.count == results.count else { return .success(()) }
        return .failure(failures.first { $0 != .missing } ?? .missing)
    }
}
