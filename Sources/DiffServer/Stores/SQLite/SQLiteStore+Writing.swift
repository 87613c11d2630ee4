import HTTPCore
import SnapshotKit

extension SQLiteStore {
    func swap(_ before: SessionView?, named name: String, for next: Session, on loop: EventLoop) -> Stored<SessionSlot>
    {
        .of { done in
            if let before {
                commit(next, to: before.slot, after: before.session, done)
            } else {
                create(name, next, done)
            }
        }
    }

    func delete(_ session: SessionView, at revision: Revision?, on loop: EventLoop) -> Stored<Void> {
        .of { drop(session.slot, after: session.session, at: revision, $0) }
    }

    func discard(_ name: String, on loop: EventLoop) -> Stored<Void> { .of { discard(name, $0) } }

    func revokeTokens(of name: String, upTo moment: Int, on loop: EventLoop) -> Stored<Void> {
        .of { done in
            writer.submit { (database) throws(SQLiteDatabase.Failure) in
                try database.revoke(name, upTo: moment)
                return .written
            } done: { [table] result in
                if case .success = result { table.revocations.add(name, upTo: moment) }
                done(result)
            }
        }
    }

    private func create(_ name: String, _ session: Session, _ done: @escaping Completion<SessionSlot>) {
        guard table.hasRoom(for: session) else { return done(.failure(.capacity)) }
        guard !table.holds(name) else { return done(.failure(.conflict)) }
        guard pendingWrites.enterAlone(name, again: { [self] in create(name, session, done) }) else { return }
        let commit = logCommit(session.renamed(), after: nil)
        let session = commit.session
        writer.submit { [hash, records] (database) throws(SQLiteDatabase.Failure) in
            // The record, and the row that SQLite makes of it.
            try records.charging(2 * session.head.footprint) { () throws(SQLiteDatabase.Failure) in
                try database.insert(commit, named: name, by: hash) ? .written : .conflict
            }
        } done: { [self] result in
            let outcome = result.flatMap { table.create(name, session) }
            pendingWrites.leave(name, result)
            done(outcome)
        }
    }

    private func commit(
        _ next: Session, to slot: SessionSlot, after read: Session, _ done: @escaping Completion<SessionSlot>
    ) {
        guard table.hasRoom(for: next) else { return done(.failure(.capacity)) }
        switch pendingWrites.last(of: slot, read: read) {
        case .gone: done(.failure(.conflict))
        case .unknown: pendingWrites.afterThose(of: slot.name) { [self] in commit(next, to: slot, after: read, done) }
        case .session(let before):
            guard next.follows(before, at: read.head.revision) else { return done(.failure(.conflict)) }
            commit(next.renamed(), to: slot, standingOn: before, done)
        }
    }

    private func commit(
        _ next: Session, to slot: SessionSlot, standingOn before: Session, _ done: @escaping Completion<SessionSlot>
    ) {
        let commit = logCommit(next, after: before)
        let next = commit.session
        let hasEntered = pendingWrites.enter(slot, behind: before.version, next: next) {
            writer.submit { [hash, records] (database) throws(SQLiteDatabase.Failure) in
                let room = commit.isCheckpoint ? 2 * next.head.footprint : 0
                return try records.charging(room) { () throws(SQLiteDatabase.Failure) in
                    try database.update(commit, named: slot.name, after: before, by: hash) ? .written : .conflict
                }
            } done: { [self] result in
                switch result {
                // This brings back a session that was evicted meanwhile.
                case .success: _ = table.commit(next, to: slot, after: before)
                case .failure(let failure): failed(failure, before, slot)
                }
                pendingWrites.leave(slot.name, result)
                done(result.map { slot })
            }
        }
        if !hasEntered { done(.failure(.conflict)) }
    }

    private func drop(
        _ slot: SessionSlot, after read: Session, at revision: Revision?, _ done: @escaping Completion<Void>
    ) {
        switch pendingWrites.last(of: slot, read: read) {
        case .gone: done(.failure(.conflict))
        case .unknown:
            pendingWrites.afterThose(of: slot.name) { [self] in drop(slot, after: read, at: revision, done) }
        case .session(let before):
            guard revision == nil || before.head.revision == revision else { return done(.failure(.conflict)) }
            drop(slot, before, done)
        }
    }

    private func drop(_ slot: SessionSlot, _ before: Session, _ done: @escaping Completion<Void>) {
        let hasEntered = pendingWrites.enter(slot, behind: before.version, next: nil) {
            writer.submit { (database) throws(SQLiteDatabase.Failure) in
                try database.delete(slot.name, version: before.version) ? .written : .conflict
            } done: { [self] result in
                switch result {
                case .success: _ = table.drop(slot, at: nil)
                case .failure(let failure): failed(failure, before, slot)
                }
                pendingWrites.leave(slot.name, result)
                done(result)
            }
        }
        if !hasEntered { done(.failure(.conflict)) }
    }

    /// After a conflict, drops the version that the database did not have: the file was changed from outside, and the
    /// next request reads it.
    private func failed(_ failure: StoreFailure, _ before: Session, _ slot: SessionSlot) {
        if failure == .conflict { _ = table.drop(slot, at: before.head.revision) }
    }

    private func discard(_ name: String, _ done: @escaping Completion<Void>) {
        guard pendingWrites.enterAlone(name, again: { [self] in discard(name, done) }) else { return }
        writer.submit { (database) throws(SQLiteDatabase.Failure) in
            try database.delete(name)
            return .written
        } done: { [self] result in
            pendingWrites.leave(name, result)
            done(result)
        }
    }
}
