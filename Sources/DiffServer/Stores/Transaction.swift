// Nothing is computed under a lock, so a large write delays nobody. If another write came first, the operation starts
// again. A write is first tried on the session in the table, without asking the store whether that is still the head:
// the store compares versions on commit, so a write costs one round trip. Any other outcome of such an attempt, above
// all a refusal, only counts if it is the same on the head itself.

import DiffClock
import DiffSessions
import SnapshotKit

/// Carries out one operation on a session: loads it, lets the operation decide, and stores what that makes.
public struct Transaction<Operation: SessionOperation>: Sendable {
    private let operation: Operation
    private let context: any TransactionContext
    private let store: any SessionStore
    private let session: String

    public init(_ operation: Operation, for context: any TransactionContext) {
        (self.operation, self.context, store, session) = (operation, context, context.store, context.session)
    }

    /// The outcome of the operation, and the session's slot; nil if there is no session.
    public struct Done: Sendable {
        public let outcome: Operation.Outcome
        public let slot: SessionSlot?
        /// The memory reserved for the session that was read.
        public var share: MemoryShare?
    }

    /// The result of a step.
    private enum Attempt {
        case end(Result<Done, TransactionFailure>)
        /// Another write came first. If it was another process's, the queued one `isOvertaken` and keeps its position.
        case conflict(isOvertaken: Bool)
        /// A store or a worker continues later, on its own thread.
        case waiting(Continuation)

        /// Whether the conflict is overtaken; nil if there is none.
        var conflict: Bool? { if case .conflict(let isOvertaken) = self { isOvertaken } else { nil } }

        /// Takes a closure that handles the next result.
        typealias Continuation = (@escaping @Sendable (consuming Attempt) -> Void) -> Void
    }

    /// Does what can be done at once: everything, if the sessions live in this process.
    public func run() -> Progress<Done, TransactionFailure> {
        switch settled(begin()) {
        case .end(let result): return .done(result)
        case .waiting(let continuation):
            let promise = Promise<Done, TransactionFailure>()
            resume(with: continuation, promise)
            return .pending(promise)
        case .conflict: preconditionFailure("a conflict is settled")
        }
    }

    /// Far beyond real contention: a store that reports as many conflicts contradicts itself.
    private static var mostConflicts: Int { 100_000 }
    /// Conflicts after which a write loads the head, so that the store reports one that cannot be read.
    private static var patience: Int { 32 }

    /// The session that a write is decided on.
    private enum Base: Sendable {
        case expected
        case found(SessionView?)
        /// The session in the slot once it is the write's turn. It was the head at some time since the request came.
        case current(SessionSlot)

        /// What to hold while waiting: no state that the slot has, and no memory that the holder of the turn may need.
        var held: Base {
            guard case .found(var view?) = self else { return self }
            view.share = nil
            return view.isHead && view.pinned == nil ? .current(view.slot) : .found(view)
        }
    }

    /// Starts again from the new head as long as other writes come first.
    private func settled(_ first: consuming Attempt) -> Attempt {
        while let isOvertaken = first.conflict {
            context.countConflict()
            context.conflicts += 1
            guard context.conflicts < Self.mostConflicts else { return .end(.failure(.store(.conflict))) }
            if isOvertaken, context.conflicts % Self.patience != 0, let turns = store.turns {
                first = inLine(of: turns, .expected, isOvertaken: true)
            } else {
                first = store.isSole ? begin() : load(again: true)
            }
        }
        return first
    }

    /// Continues to the end. One promise is kept, however often it has to wait.
    private func resume(with continuation: Attempt.Continuation, _ promise: Promise<Done, TransactionFailure>) {
        continuation { attempt in
            switch settled(attempt) {
            case .end(let result): promise.keep(result)
            case .waiting(let next): resume(with: next, promise)
            case .conflict: preconditionFailure("a conflict is settled")
            }
        }
    }

    // MARK: Steps

    private func begin() -> Attempt { operation.isWrite ? inTurn(.expected) : load(again: false) }

    private func inTurn(_ base: Base) -> Attempt {
        guard operation.isWrite, let turns = store.turns else { return decide(on: base) }
        guard turns.takeTurn(session) else { return inLine(of: turns, base.held, isOvertaken: false) }
        defer { turns.passTurn(session) }
        return decide(on: base)
    }

    private func inLine(of turns: PendingWrites, _ base: Base, isOvertaken: Bool) -> Attempt {
        .waiting { resume in
            context.times?.enter(.queue)
            turns.awaitTurn(of: context, isOvertaken: isOvertaken) {
                context.times?.enter(.compute)
                switch decide(on: base) {
                case .waiting(let next): resume(.waiting(next))
                // This may be the thread of another loop.
                case .end(let result): context.proceed { resume(.end(result)) }
                case .conflict(let isOvertaken): context.proceed { resume(.conflict(isOvertaken: isOvertaken)) }
                }
            }
        }
    }

    private func decide(on base: Base) -> Attempt {
        switch base {
        case .expected: store.expected(session).map { decide(on: $0) } ?? load(again: false)
        case .found(let view): decide(on: view)
        case .current(let slot): SessionView(slot, of: store.table).map { decide(on: $0) } ?? load(again: true)
        }
    }

    /// Does not use `after`, nor does `swap` below: its closure would be allocated even when the store answers at once.
    private func load(again: Bool, isFetched: Bool = false) -> Attempt {
        switch store.load(session, again: again, on: context.executor) {
        case .done(let result): loaded(result, isFetched)
        case .pending(let promise): waiting(for: promise) { loaded($0, isFetched) }
        }
    }

    private func loaded(_ result: Result<SessionView?, StoreFailure>, _ isFetched: Bool) -> Attempt {
        switch result {
        case .success(let view) where isFetched: inTurn(.found(view))
        case .success(let view): fetched(view) ?? inTurn(.found(view))
        case .failure(let failure): failed(failure)
        }
    }

    /// Waits for the session's source, and loads the result; nil if there is nothing to wait for.
    private func fetched(_ view: SessionView?) -> Attempt? {
        guard operation.fetches, view == nil || !operation.isWrite, context.admits(view?.session),
            let source = context.readiness(sessionExists: view != nil)
        else { return nil }
        // The source may have answered by now, so what was loaded before may be old, or missing.
        return after(source, in: .source) { result in
            if case .failure(let failure) = result { return .end(.failure(.source(failure))) }
            return load(again: false, isFetched: true)
        }
    }

    private func decide(on view: SessionView?) -> Attempt {
        // The store may only now have reported a revocation.
        let revocations = store.table.revocations
        if !revocations.areNone, let token = context.token, revocations.refuse(token) {
            return .end(.failure(.revoked))
        }
        guard context.admits(view?.session) else {
            return view?.isHead ?? true ? .end(.failure(.notPublic)) : load(again: true)
        }
        if let view, case let cost = view.cost(times: context.scanCount), cost.isLong, !context.cost.isLong {
            guard context.takesLongWork else { return .end(.failure(.store(.crowded))) }
            context.cost = cost
            return leaveLoop(with: view)
        }
        let isHead = view?.isHead ?? true
        do throws(SessionError) {
            switch try operation.decide(view?.session, by: store.transition(of: session)) {
            case .finish(let outcome):
                guard isHead else { return load(again: true) }
                let done = Done(outcome: outcome, slot: view?.slot, share: view?.share)
                guard operation.isWrite, let stored = store.confirm(session, on: context.executor) else {
                    return .end(.success(done))
                }
                return after(stored) { result in
                    if case .failure(let failure) = result { failed(failure) } else { .end(.success(done)) }
                }
            case .swap(let next, let outcome):
                switch store.swap(view, named: session, for: next, on: context.executor) {
                // The head was loaded, but a write that was queued meanwhile came first.
                case .done(.failure(.conflict)) where isHead && view != nil && store.turns != nil:
                    return store.expected(session).map { decide(on: $0) } ?? .conflict(isOvertaken: false)
                case .done(let result): return changed(result.map(Optional.some), outcome)
                case .pending(let promise): return queued(promise, outcome, isNew: view == nil)
                }
            case .delete(let revision, let outcome):
                guard let view else { preconditionFailure("nothing can be deleted where nothing is") }
                return after(store.delete(view, at: revision, on: context.executor)) {
                    changed($0.map { nil }, outcome)
                }
            case .ask(let revision, let edits): return isHead ? ask(at: revision, edits) : load(again: true)
            }
        } catch {
            return isHead ? .end(.failure(.refused(error))) : load(again: true)
        }
    }

    private func ask(at revision: Revision, _ edits: ArraySlice<UInt8>) -> Attempt {
        guard let consent = operation.consent else { preconditionFailure("no consent is needed") }
        return after(consent.proceed(at: revision, edits: edits), in: .hook) { result in
            if case .failure(let failure) = result { .end(.failure(.consent(failure))) } else { begin() }
        }
    }

    private func queued(
        _ promise: Promise<SessionSlot, StoreFailure>, _ outcome: Operation.Outcome, isNew: Bool
    ) -> Attempt {
        .waiting { [context, store] resume in
            context.times?.enter(.store)
            promise.whenKept { result in
                context.times?.enter(.compute)
                // Overtaken writes line up on the thread that tells them, which keeps their order.
                if !isNew, store.turns != nil, case .failure(.conflict) = result {
                    return resume(.conflict(isOvertaken: true))
                }
                context.proceed { resume(changed(result.map(Optional.some), outcome)) }
            }
        }
    }

    private func changed(_ result: Result<SessionSlot?, StoreFailure>, _ outcome: Operation.Outcome) -> Attempt {
        switch result {
        case .success(let slot): .end(.success(Done(outcome: outcome, slot: slot)))
        case .failure(.conflict): .conflict(isOvertaken: false)
        case .failure(let failure): failed(failure)
        }
    }

    private func failed(_ failure: StoreFailure) -> Attempt {
        context.count(failure)
        // Only where there is a session.
        if failure.isOfSession, !context.admits(nil) { return .end(.failure(.notPublic)) }
        guard failure.isDamage, operation.replacesDamaged else { return .end(.failure(.store(failure))) }
        return after(store.discard(session, on: context.executor)) { result in
            guard case .failure(let failure) = result else { return begin() }
            context.count(failure)
            return .end(.failure(.store(failure)))
        }
    }

    // MARK: Waiting

    /// Takes the next step, at once or where the context continues.
    private func after<Value, Failure>(
        _ progress: Progress<Value, Failure>, in part: RequestTimes.Part = .store,
        _ next: @escaping @Sendable (Result<Value, Failure>) -> Attempt
    ) -> Attempt {
        switch progress {
        case .done(let result): next(result)
        case .pending(let promise): waiting(for: promise, in: part, next)
        }
    }

    private func waiting<Value, Failure>(
        for promise: Promise<Value, Failure>, in part: RequestTimes.Part = .store,
        _ next: @escaping @Sendable (Result<Value, Failure>) -> Attempt
    ) -> Attempt {
        .waiting { [context] resume in
            context.times?.enter(part)
            promise.whenKept { result in
                context.times?.enter(.compute)
                context.proceed { resume(next(result)) }
            }
        }
    }

    /// Continues on a worker, which looks the session up again, so that requests that wait hold no states.
    private func leaveLoop(with view: SessionView) -> Attempt {
        let (slot, pinned) = view.isHead ? (view.slot, view.pinned) : (nil, nil)
        return .waiting { resume in
            context.proceed {
                let head = pinned ?? slot.flatMap { SessionView($0, of: store.table) }
                resume(head.map { inTurn(.found($0)) } ?? begin())
            }
        }
    }
}

// MARK: - Context

/// What a transaction is for: a request, or a list that fetches itself.
public protocol TransactionContext: AnyObject, Sendable {
    var store: any SessionStore { get }
    /// The session's name.
    var session: String { get }
    /// Where the work continues once a store has answered.
    var executor: any WorkExecutor { get }
    /// The client's token; nil if there is none whose revocation would end the work.
    var token: (any RevocableToken)? { get }
    /// The known cost of the work. Written only by the thread that does the work, before it hands it over.
    var cost: WorkCost { get set }
    /// Where the time of the work goes; nil if nobody wants to know.
    var times: RequestTimes? { get }
    /// How often other writes came first. Written the same way as `cost`.
    var conflicts: Int { get set }
    /// How many times the work scans the session's contents.
    var scanCount: Int { get }
    /// Whether long work may wait for a worker.
    var takesLongWork: Bool { get }

    func runLong(_ work: @escaping @Sendable () -> Void)
    /// Does long work of a write that has its session's turn, for which others wait.
    func runInTurn(_ work: @escaping @Sendable () -> Void)
    /// Resolves once the session's source has answered; nil if there is nothing to wait for.
    func readiness(sessionExists: Bool) -> Progress<Void, SourceFailure>?
    /// Whether the caller may do this to a session, or learn that there is none (nil).
    func admits(_ session: Session?) -> Bool
    func countConflict()
    func count(_ failure: StoreFailure)
}

extension TransactionContext {
    public var times: RequestTimes? { nil }
    public func admits(_ session: Session?) -> Bool { true }
    public func runInTurn(_ work: @escaping @Sendable () -> Void) { runLong(work) }

    /// Continues on the executor, or on a worker if the work takes long. The store's thread must not do the work.
    public func proceed(_ work: @escaping @Sendable () -> Void) {
        if cost.isLong { runLong(work) } else { executor.perform(work) }
    }
}

/// Why a transaction failed.
public enum TransactionFailure: Error {
    case refused(SessionError)
    case store(StoreFailure)
    case source(SourceFailure)
    case consent(ConsentFailure)
    case revoked
    /// The caller has no credentials, and the session is not public.
    case notPublic
}

/// Why a session's source did not answer with its list.
public enum SourceFailure: Error, Equatable {
    case missing
    /// The source does not answer, or not with a list. It is asked again after this many seconds.
    case unavailable(retryAfter: Int)
    case crowded
    case store(StoreFailure)
}
