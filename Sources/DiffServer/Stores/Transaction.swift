// An operation's way through any store: the session is loaded, the operation decides, and the session that it makes
// replaces the one it was made of. Nothing is computed under a lock, so a large write delays nobody. If another write
// was faster, the operation starts again from what is there then.
//
// A write is first tried on the session in the table, without asking the store whether that is still the head: the
// store compares when it commits, so a write costs one round trip. Any other outcome of such an attempt, above all a
// refusal, only counts once it is found again on the head itself.

import HTTPCore
import SnapshotKit

/// Carries out one operation on the session of a request, or of another errand.
struct Transaction<Operation: SessionOperation>: Sendable {
    private let operation: Operation
    private let errand: any Errand
    private let store: any SessionStore

    init(_ operation: Operation, for errand: any Errand) {
        (self.operation, self.errand, store) = (operation, errand, errand.service.store)
    }

    /// The outcome, and the slot of the session; nil if there is none.
    struct Done: Sendable {
        let outcome: Operation.Outcome
        let slot: SessionSlot?
        /// Of the session that was read.
        var lease: RecordLease?
    }

    /// The result of a step.
    private enum Attempt {
        case end(Result<Done, Problem>)
        /// Another write was faster.
        case conflict
        /// A store or a worker continues later, on the thread that it belongs to.
        case waiting(Continuation)

        var isConflict: Bool { if case .conflict = self { true } else { false } }

        /// Takes what is to be done with the next result.
        typealias Continuation = (@escaping @Sendable (Attempt) -> Void) -> Void
    }

    /// Does what can be done at once: everything, if sessions live in this process.
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

    /// Starts again from the new head for as long as other writes are faster.
    private func settled(_ first: consuming Attempt) -> Attempt {
        while first.isConflict {
            errand.service.metrics.count(.conflict)
            first = store.isSole ? begin() : load(again: true)
        }
        return first
    }

    /// Continues to the end; however often that has to wait, one promise is kept.
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

    /// Not by `after`, as for `swap` below: its closure would be allocated even if the store is done at once.
    private func load(again: Bool) -> Attempt {
        switch store.load(errand.session, again: again, on: errand.loop) {
        case .done(let result): loaded(result)
        case .pending(let promise): waiting(for: promise) { loaded($0) }
        }
    }

    private func loaded(_ result: Result<SessionView?, StoreFailure>) -> Attempt {
        switch result {
        case .success(let view): fetched(view) ?? decide(on: view)
        case .failure(.damaged) where operation.replacesDamaged: discard()
        case .failure(let failure): failed(failure)
        }
    }

    /// Waits for the session's source, and loads what came from it; nil if there is nothing to wait for.
    private func fetched(_ view: SessionView?) -> Attempt? {
        guard operation.fetches, view == nil || !operation.isWrite,
            let source = errand.service.upstream?.readiness(
                of: errand.session, isThere: view != nil, patience: errand.patience)
        else { return nil }
        if case .done(.success) = source { return nil }
        return after(source) { result in
            if case .failure(let problem) = result { return .end(.failure(problem)) }
            return after(store.load(errand.session, again: false, on: errand.loop)) { result in
                switch result {
                case .success(let view): decide(on: view)
                case .failure(let failure): failed(failure)
                }
            }
        }
    }

    private func discard() -> Attempt {
        after(store.discard(errand.session, on: errand.loop)) { result in
            if case .failure(let failure) = result { failed(failure) } else { begin() }
        }
    }

    private func decide(on view: SessionView?) -> Attempt {
        // The store may have reported a revocation only now.
        do throws(Problem) { try store.table.revocations.check(errand.identity) } catch { return .end(.failure(error)) }
        if let view, view.isLong(passes: errand.passes), !errand.isLong {
            return errand.service.takesLongWork ? leaveLoop(with: view) : .end(.failure(.crowded))
        }
        let isHead = view?.isHead ?? true
        do throws(SessionError) {
            switch try operation.decide(view?.session, by: errand.transition) {
            case .finish(let outcome):
                guard isHead else { return load(again: true) }
                return .end(.success(Done(outcome: outcome, slot: view?.slot, lease: view?.lease)))
            case .swap(let next, let outcome):
                switch store.swap(view, named: errand.session, for: next, on: errand.loop) {
                case .done(let result): return changed(result.map(Optional.some), outcome)
                case .pending(let promise):
                    return waiting(for: promise) { changed($0.map(Optional.some), outcome) }
                }
            case .delete(let revision, let outcome):
                guard let view else { preconditionFailure("nothing can be deleted where nothing is") }
                return after(store.delete(view, at: revision, on: errand.loop)) { changed($0.map { nil }, outcome) }
            case .ask(let revision, let edits):
                guard isHead else { return load(again: true) }
                return ask(at: revision, edits)
            }
        } catch {
            return isHead ? .end(.failure(Problem(error))) : load(again: true)
        }
    }

    /// Waits for consent, and decides again.
    private func ask(at revision: Revision, _ edits: ArraySlice<UInt8>) -> Attempt {
        guard let consent = operation.consent else { preconditionFailure("no consent is needed") }
        return after(consent.proceed(at: revision, edits: edits)) { result in
            if case .failure(let problem) = result { .end(.failure(problem)) } else { begin() }
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

    /// Takes the next step: at once, or where the errand continues.
    private func after<Value, Failure>(
        _ progress: Progress<Value, Failure>, _ next: @escaping @Sendable (Result<Value, Failure>) -> Attempt
    ) -> Attempt {
        switch progress {
        case .done(let result): next(result)
        case .pending(let promise): waiting(for: promise, next)
        }
    }

    private func waiting<Value, Failure>(
        for promise: Promise<Value, Failure>, _ next: @escaping @Sendable (Result<Value, Failure>) -> Attempt
    ) -> Attempt {
        .waiting { resume in
            promise.whenKept { result in
                errand.goOn { resume(next(result)) }
            }
        }
    }

    /// Continues on a worker, since the session is so large. It looks for the session again once it has time: of those
    /// that wait for it, each might hold another state.
    private func leaveLoop(with view: SessionView) -> Attempt {
        errand.isLong = true
        let (slot, held) = view.isHead ? (view.slot, view.held) : (nil, nil)
        return .waiting { resume in
            errand.goOn {
                let head = held ?? slot.flatMap { SessionView($0, of: store.table) }
                resume(head.map { decide(on: $0) } ?? begin())
            }
        }
    }
}
