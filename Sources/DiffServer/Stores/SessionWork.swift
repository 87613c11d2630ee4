// What an endpoint does with a session, wherever that lives: a function from the session to the next step, called again
// with the session as it is then whenever somebody else was faster. Nothing is computed under a lock, so a large write
// delays nobody.
//
// A write is first tried on what the table holds, without asking the store whether that is still the head: the store
// compares when it commits, so a write costs one round trip. Whatever else such a try comes to, a refusal above all, is
// found again on the head itself.

import HTTPCore
import SnapshotKit

/// What is to be done next with a session.
enum Step {
    /// Nothing more: this is the answer. Only given to a reading that `isCertain`.
    case answer(Reply)
    /// There may be an answer, if this is the head.
    case verify
    /// A past revision has to be brought first, see `Reading.missing`.
    case recall(UInt64)
    /// The session becomes this one; or is made, where there was none.
    case put(Session, answer: @Sendable (SessionSlot) -> Response)
    /// The session goes.
    case drop(at: Revision?, answer: Response)
}

/// A request's work on a session.
struct SessionWork: Sendable {
    let call: Call
    /// Whether it may be tried on what the table holds.
    let isWrite: Bool
    /// Whether what cannot be read may be thrown away for it.
    var replacesDamaged = false
    /// The next step, from the session as it is; nil if there is none.
    let step: @Sendable (Reading?) throws(Problem) -> Step

    private var store: any SessionStore { call.service.store }

    /// The answer: now where sessions live in this process. That has a way of its own, since a completion for each step
    /// made a post of 20 items 7 to 10 % dearer.
    func reply() throws(Problem) -> Reply {
        guard store.isTable else { return .later { begin($0) } }
        while true {
            switch try atOnce(call.service.table) {
            case .success(let reply): return reply
            case .failure(.conflict): call.service.metrics.count(.conflict)
            case .failure(let failure):
                call.service.metrics.count(failure)
                throw Problem(failure)
            }
        }
    }

    /// The answer of work that takes long: later, from a worker.
    func replyFromWorker() -> Reply {
        .later { pending in
            call.service.workers.run {
                do throws(Problem) {
                    switch try reply() {
                    case .now(let response): pending.answer(call.finish(response))
                    case .later(let start): start(pending)
                    }
                } catch {
                    pending.answer(call.finish(error.response(instance: call.instance)))
                }
            }
        }
    }

    /// One try on a table that is the store: nothing has to be waited for.
    private func atOnce(_ table: SessionTable) throws(Problem) -> Result<Reply, StoreFailure> {
        let reading = table.reading(call.session)
        switch try step(reading) {
        case .answer(let reply): return .success(reply)
        case .put(let session, let answer):
            guard let reading else { return table.create(call.session, session).map { .now(answer($0)) } }
            let slot = reading.slot
            return table.commit(session, to: slot, at: reading.session.head.revision).map { .now(answer(slot)) }
        case .drop(let revision, let answer):
            guard let reading else { return .success(.now(answer)) }
            return table.drop(reading.slot, at: revision).map { .now(answer) }
        case .verify, .recall: preconditionFailure("the table is the head, and holds all of the past")
        }
    }

    private func begin(_ pending: Pending) {
        run(on: pending.loop) { result in
            switch result {
            case .success(.now(let response)): pending.answer(call.finish(response))
            case .success(.later(let start)): start(pending)
            case .failure(let problem): pending.answer(call.finish(problem.response(instance: call.instance)))
            }
        }
    }

    // MARK: Steps

    private typealias Finish = @Sendable (Result<Reply, Problem>) -> Void

    private func run(on loop: EventLoop, _ finish: @escaping Finish) {
        if isWrite, let reading = store.expected(call.session) {
            take(reading, on: loop, finish)
        } else {
            store.open(call.session, on: loop, opened(on: loop, finish))
        }
    }

    /// On the head, since what was tried on something else came to nothing.
    private func verify(on loop: EventLoop, _ finish: @escaping Finish) {
        store.reopen(call.session, on: loop, opened(on: loop, finish))
    }

    private func opened(on loop: EventLoop, _ finish: @escaping Finish) -> Completion<Reading?> {
        { result in
            switch result {
            case .success(let reading): goOn(on: loop) { take(reading, on: loop, finish) }
            case .failure(.damaged) where replacesDamaged: discard(on: loop, finish)
            case .failure(let failure): fail(failure, finish)
            }
        }
    }

    private func discard(on loop: EventLoop, _ finish: @escaping Finish) {
        store.discard(call.session, on: loop) { result in
            switch result {
            case .success: run(on: loop, finish)
            case .failure(let failure): fail(failure, finish)
            }
        }
    }

    private func fail(_ failure: StoreFailure, _ finish: Finish) {
        call.service.metrics.count(failure)
        finish(.failure(Problem(failure)))
    }

    /// Somebody else was faster: from the start, on what is the head now.
    private func beginAgain(on loop: EventLoop, _ finish: @escaping Finish) {
        call.service.metrics.count(.conflict)
        if store.isSole { goOn(on: loop) { run(on: loop, finish) } } else { verify(on: loop, finish) }
    }

    private func take(_ reading: Reading?, on loop: EventLoop, _ finish: @escaping Finish) {
        let isCertain = reading?.isCertain ?? true
        let next: Step
        do throws(Problem) { next = try step(reading) } catch {
            return isCertain ? finish(.failure(error)) : verify(on: loop, finish)
        }
        switch next {
        case .answer(let reply): finish(.success(reply))
        case .verify: verify(on: loop, finish)
        case .recall(let sequence): recall(sequence, reading, on: loop, finish)
        case .put(let session, let answer): put(session, over: reading, on: loop, answer, finish)
        case .drop(let revision, let answer): drop(reading, at: revision, on: loop, answer, finish)
        }
    }

    private func put(
        _ session: Session, over reading: Reading?, on loop: EventLoop,
        _ answer: @escaping @Sendable (SessionSlot) -> Response,
        _ finish: @escaping Finish
    ) {
        let done: Completion<SessionSlot> = { result in
            switch result {
            case .success(let slot): goOn(on: loop) { finish(.success(.now(answer(slot)))) }
            case .failure(.conflict): beginAgain(on: loop, finish)
            case .failure(let failure): fail(failure, finish)
            }
        }
        if let reading {
            store.commit(session, to: reading.slot, after: reading.session, on: loop, done)
        } else {
            store.create(call.session, session, on: loop, done)
        }
    }

    private func drop(
        _ reading: Reading?, at revision: Revision?, on loop: EventLoop, _ answer: Response, _ finish: @escaping Finish
    ) {
        guard let reading else { return finish(.success(.now(answer))) }
        store.drop(reading.slot, after: reading.session, at: revision, on: loop) { result in
            switch result {
            case .success: finish(.success(.now(answer)))
            case .failure(.conflict): beginAgain(on: loop, finish)
            case .failure(let failure): fail(failure, finish)
            }
        }
    }

    private func recall(_ sequence: UInt64, _ reading: Reading?, on loop: EventLoop, _ finish: @escaping Finish) {
        guard let reading else { preconditionFailure("nothing can be missing where nothing is") }
        store.recall(sequence, of: reading, on: loop) { result in
            switch result {
            // On what was read, wherever the session is by now: else those that do not fit into memory together would
            // begin again for ever.
            case .success(let skeleton):
                goOn(on: loop) { take(reading.recalling(sequence, skeleton), on: loop, finish) }
            case .failure(let failure): fail(failure, finish)
            }
        }
    }

    /// Goes on where the request lives, or where large ones are worked on: a store's thread has more to do than to
    /// compare states.
    private func goOn(on loop: EventLoop, _ work: @escaping @Sendable () -> Void) {
        if call.isLong { return call.service.workers.run(work) }
        if loop.isCurrent { work() } else { loop.execute(work) }
    }
}
