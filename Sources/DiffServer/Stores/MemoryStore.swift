import HTTPCore
import SnapshotKit

/// Sessions that live in this process and end with it: the table itself, asked at once.
final class MemoryStore: SessionStore {
    let table: SessionTable
    let hash: KeyedHash
    let isTable = true
    let isSole = true
    let isReady = true

    init(table: SessionTable, hash: KeyedHash) {
        self.table = table
        self.hash = hash
    }

    func expected(_ name: String) -> Reading? { nil }

    func open(_ name: String, on loop: EventLoop?, _ done: Completion<Reading?>) { done(.success(table.reading(name))) }

    func reopen(_ name: String, on loop: EventLoop?, _ done: Completion<Reading?>) { open(name, on: loop, done) }

    func create(_ name: String, _ session: Session, on loop: EventLoop?, _ done: Completion<SessionSlot>) {
        done(table.create(name, session))
    }

    func commit(
        _ next: Session, to slot: SessionSlot, after before: Session, on loop: EventLoop?,
        _ done: Completion<SessionSlot>
    ) {
        done(table.commit(next, to: slot, at: before.head.revision).map { slot })
    }

    func drop(
        _ slot: SessionSlot, after before: Session, at revision: Revision?, on loop: EventLoop?,
        _ done: Completion<Void>
    ) {
        done(table.drop(slot, at: revision))
    }

    /// Whatever is here can be read.
    func discard(_ name: String, on loop: EventLoop?, _ done: Completion<Void>) { done(.success(())) }

    /// None is ever missing.
    func recall(_ sequence: UInt64, of reading: Reading, on loop: EventLoop?, _ done: Completion<Skeleton?>) {
        done(.success(nil))
    }

    func readersChanged(of slot: SessionSlot) {}

    func sweep() { _ = table.sweep() }

    func close() {}
}
