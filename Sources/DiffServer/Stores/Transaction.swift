// The way of an operation through a store, whichever it is: the session is loaded, the operation decides, the session
// that it names takes the place of the one it was made of. Nothing is computed under a lock, so a large write delays
// nobody; where somebody else was faster, it begins again on what is there then.
//
// A write is first tried on what the table holds, without asking the store whether that is still the head: the store
// compares when it commits, so a write costs one round trip. Whatever else such a try comes to, a refusal above all, is
// found again on the head itself.

import HTTPCore
import SnapshotKit

/// Carries out one operation on the session of a request, or of another errand.
struct Transaction<Operation: SessionOperation>: Sendable {
    private let operation: Operation
    private let errand: any Errand

    init(_ operation: Operation, for errand: any Errand) { (self.operation, self.errand) = (operation, errand) }

    /// What came of it; and the slot of the session, nil where there was none.
    struct Done: Sendable {
        let outcome: Operation.Outcome
        let slot: SessionSlot?
    }

    private var store: any SessionStore { errand.service.store }

    /// What a step comes to.
    private enum Attempt {
        case end(Result<Done, Problem>)
        /// Somebody else was faster.
        case conflict
        /// A store or a worker goes on later, on the thread where that belongs.
        case waiting(Continuation)

        /// Is given what is to be done with what follows.
        typealias Continuation = (@escaping @Sendable (Attempt) -> Void) -> Void
    }

    /// Does what can be done at once: all of it, where sessions live in this process.
    func run() -> Progress<Done, Problem> {
        switch settled(begin()) {
        case .end(let result): return .done(result)
        case .waiting(let continuation):
            let promise = Promise<Done, Problem>()
            go(on: continuation, promise)
            return .pending(promise)
        case .conflict: preconditionFailure("a conflict is settled")
        }
    }

    /// Begins again, on what is the head then, for as long as somebody else is faster.
    private func settled(_ first: Attempt) -> Attempt {
        var attempt = first
        while case .conflict = attempt {
            errand.service.metrics.count(.conflict)
            attempt = store.isSole ? begin() : load(again: true)
        }
        return attempt
    }

    /// Goes on until it has ended; however often that has to wait, one promise waits for it.
    private func go(on continuation: Attempt.Continuation, _ promise: Promise<Done, Problem>) {
        continuation { attempt in
            switch settled(attempt) {
            case .end(let result): promise.keep(result)
            case .waiting(let next): go(on: next, promise)
            case .conflict: preconditionFailure("a conflict is settled")
            }
        }
    }

    // MARK: Steps

    private func begin() -> Attempt {
        guard operation.isWrite, let expected = store.expected(errand.session) else { return load(again: false) }
        return decide(on: expected)
    }

    private func load(again: Bool) -> Attempt {
        switch store.load(errand.session, again: again, on: errand.loop) {
        case .done(let result): loaded(result)
        case .pending(let promise): wait(for: promise) { loaded($0) }
        }
    }

    private func loaded(_ result: Result<SessionView?, StoreFailure>) -> Attempt {
        switch result {
        case .success(let view): fetched(view) ?? decide(on: view)
        case .failure(.damaged) where operation.replacesDamaged: discard()
        case .failure(let failure): failed(failure)
        }
    }

    /// Waits for the session's source, where it has one and this is to be fetched first; nil where it is not.
    private func fetched(_ view: SessionView?) -> Attempt? {
        guard operation.fetches, view == nil || !operation.isWrite,
            let source = errand.service.upstream?.readiness(
                of: errand.session, isThere: view != nil, patience: errand.patience)
        else { return nil }
        switch source {
        case .done(.success): return nil
        case .done(.failure(let problem)): return .end(.failure(problem))
        case .pending(let promise): return wait(for: promise) { fetched($0) }
        }
    }

    private func fetched(_ result: Result<Void, Problem>) -> Attempt {
        if case .failure(let problem) = result { return .end(.failure(problem)) }
        switch store.load(errand.session, again: false, on: errand.loop) {
        case .done(let result): return reloaded(result)
        case .pending(let promise): return wait(for: promise) { reloaded($0) }
        }
    }

    private func reloaded(_ result: Result<SessionView?, StoreFailure>) -> Attempt {
        switch result {
        case .success(let view): decide(on: view)
        case .failure(let failure): failed(failure)
        }
    }

    private func discard() -> Attempt {
        switch store.discard(errand.session, on: errand.loop) {
        case .done(let result): discarded(result)
        case .pending(let promise): wait(for: promise) { discarded($0) }
        }
    }

    private func discarded(_ result: Result<Void, StoreFailure>) -> Attempt {
        switch result {
        case .success: begin()
        case .failure(let failure): failed(failure)
        }
    }

    private func decide(on view: SessionView?) -> Attempt {
        // The store may have told of it only now.
        do throws(Problem) { try store.table.revocations.check(errand.identity) } catch { return .end(.failure(error)) }
        if let view, view.isLong(passes: errand.passes), !errand.isLong { return leaveLoop { decide(on: view) } }
        let isHead = view?.isHead ?? true
        do throws(SessionError) {
            switch try operation.decide(view?.session, by: errand.transition) {
            case .finish(let outcome):
                return isHead ? .end(.success(Done(outcome: outcome, slot: view?.slot))) : load(again: true)
            case .swap(let next, let outcome):
                switch store.swap(view, named: errand.session, for: next, on: errand.loop) {
                case .done(let result): return changed(result.map { $0 }, outcome)
                case .pending(let promise): return wait(for: promise) { changed($0.map { $0 }, outcome) }
                }
            case .delete(let revision, let outcome): return delete(view, at: revision, outcome)
            case .ask(let revision, let edits):
                guard isHead else { return load(again: true) }
                return ask(at: revision, edits)
            }
        } catch {
            return isHead ? .end(.failure(Problem(error))) : load(again: true)
        }
    }

    /// Waits for whoever has to agree, and decides again.
    private func ask(at revision: Revision, _ edits: ArraySlice<UInt8>) -> Attempt {
        guard let consent = operation.consent else { preconditionFailure("nobody has to agree") }
        switch consent.proceed(at: revision, edits: edits) {
        case .done(let result): return agreed(result)
        case .pending(let promise): return wait(for: promise) { agreed($0) }
        }
    }

    private func agreed(_ result: Result<Void, Problem>) -> Attempt {
        if case .failure(let problem) = result { return .end(.failure(problem)) }
        return begin()
    }

    private func delete(_ view: SessionView?, at revision: Revision?, _ outcome: Operation.Outcome) -> Attempt {
        guard let view else { preconditionFailure("nothing can be deleted where nothing is") }
        switch store.delete(view, at: revision, on: errand.loop) {
        case .done(let result): return changed(result.map { nil }, outcome)
        case .pending(let promise): return wait(for: promise) { changed($0.map { nil }, outcome) }
        }
    }

    private func changed(_ result: Result<SessionSlot?, StoreFailure>, _ outcome: Operation.Outcome) -> Attempt {
        switch result {
        case .success(let slot): .end(.success(Done(outcome: outcome, slot: slot)))
        case .failure(.conflict): .conflict
        case .failure(let failure): failed(failure)
        }
    }

    private func failed(_ failure: StoreFailure) -> Attempt {
        errand.service.metrics.count(failure)
        return .end(.failure(Problem(failure)))
    }

    // MARK: Waiting

    private func wait<Value, Failure>(
        for promise: Promise<Value, Failure>, _ next: @escaping @Sendable (Result<Value, Failure>) -> Attempt
    ) -> Attempt {
        .waiting { resume in
            promise.whenKept { result in
                errand.goOn { resume(next(result)) }
            }
        }
    }

    /// Goes on with a worker, since the session is so large.
    private func leaveLoop(_ next: @escaping @Sendable () -> Attempt) -> Attempt {
        errand.isLong = true
        return .waiting { resume in
            errand.goOn { resume(next()) }
        }
    }
}
