import DiffService
import DiffStores
import HTTPCore
import SnapshotKit

/// All that a session is fetched from: one source, or one for each section. They go on when the file is read again.
struct SessionSources: Sendable {
    let all: [SourcedList]

    /// - Parameter others: sources to go on with if the list still has them.
    init(_ session: String, of definition: ListDefinition, _ upstream: Upstream, others: [SourcedList] = []) {
        all = definition.feeds.map { feed in
            let name = SourceName(session, section: feed.section?.id)
            return others.first { $0.name.isSame(as: name) } ?? SourcedList(name, upstream, every: feed.source.every)
        }
    }

    var staleness: Int? { all.compactMap(\.staleness).max() }

    var failureDetail: String? { all.lazy.map(\.failureDetail).first { !$0.isEmpty } }

    var isInUse: Bool { all.contains(where: \.isInUse) }
    func isIdle(at now: Instant) -> Bool { all.allSatisfy { $0.isIdle(at: now) } }

    func readersArrived() { for list in all { list.readersArrived() } }

    /// See `SourcedList.readiness`.
    func readiness(sessionExists: Bool, patience: Duration) -> Progress<Void, SourceFailure>? {
        let answers = all.compactMap { $0.readiness(sessionExists: sessionExists, patience: patience) }
        return answers.isEmpty ? nil : Self.together(answers).map { _ in }
    }

    /// Asks all sources now. The warnings are those of the first sources before those of the next.
    func fetch(tracedBy trace: String?) -> Progress<[StateWarning], SourceFailure> {
        Self.together(all.map { $0.fetch(tracedBy: trace) }).map { $0.flatMap(\.self) }
    }

    /// Done once all are. A failure only if none succeeds: the list is missing if all are.
    private static func together<Value>(_ answers: [Progress<Value, SourceFailure>]) -> Progress<[Value], SourceFailure>
    {
        let count = answers.count
        return .of { done in
            let results = Locked([Result<Value, SourceFailure>?](repeating: nil, count: count))
            for (index, answer) in answers.enumerated() {
                answer.whenDone { result in
                    let known = results.withLock { results in
                        results[index] = result
                        return results.compactMap(\.self)
                    }
                    if known.count == count { done(joined(known)) }
                }
            }
        }
    }

    static func joined<Value>(_ results: [Result<Value, SourceFailure>]) -> Result<[Value], SourceFailure> {
        let values = results.compactMap { try? $0.get() }
        guard values.isEmpty else { return .success(values) }
        let failures = results.compactMap { result -> SourceFailure? in
            if case .failure(let failure) = result { failure } else { nil }
        }
        return .failure(failures.first { $0 != .missing } ?? .missing)
    }
}
