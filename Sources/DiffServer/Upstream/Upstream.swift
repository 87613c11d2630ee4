// Lists that fetch themselves, and edits that reach their owner (CONTRACT §11). A session of the file is fetched from
// its source while somebody reads it, at most once per interval; edits to one with a hook wait for the hook's consent.
//
// The mutable state is confined to a loop of its own, which also drives libcurl: requests to other servers, their
// handshakes and timers delay no client.

import HTTPCore
import SnapshotKit

/// The lists of a file, and the requests that are made for them.
final class Upstream: Sendable {
    let service: DiffService
    let loop: EventLoop
    /// Requests to sources.
    let transfers: Transfers
    /// Requests to hooks, which must not wait for slow sources.
    let calls: Transfers
    let tallies = SourceTallies()
    let outages: Outages
    /// Set by `init`, which it refers to.
    private(set) nonisolated(unsafe) var hooks: HookCalls! = nil
    private let file: Locked<ListsFile>
    private let lists = Locked(FollowedLists<SourcedList>())
    /// When room was last looked for among them.
    private let lookedForRoom = Locked(Instant.now)

    /// How many sessions may have a source at a time: each takes some 2 KB.
    private var limit: Int {
        max(1, min(service.table.bounds.sessions / 2, service.table.bounds.bytes / (8 * 1024)))
    }

    init(_ file: ListsFile, for service: DiffService, incoming: MemoryBudget) throws(ListenError) {
        (self.service, self.file, outages) = (service, Locked(file), Outages(service.journal))
        loop = try EventLoop.standalone(named: "sources")
        transfers = Transfers(on: loop, budget: incoming)
        calls = Transfers(on: loop, budget: incoming, maxOfHost: HookCalls.maxCalls)
        hooks = HookCalls(self)
    }

    // MARK: What the file says

    /// The list that a session belongs to; nil if the file does not name it.
    func match(_ name: String) -> ListMatch? { file.withLock { $0 }.list(of: name) }

    /// Whether the session fetches itself.
    func hasSource(_ name: String) -> Bool { match(name)?.definition.source != nil }

    /// Continues with another file. Sessions of lists that are gone from it are removed.
    func replace(by next: ListsFile) {
        let before = file.withLock { exchange(&$0, with: next) }
        for name in service.table.names {
            let (old, new) = (before.list(of: name)?.definition, next.list(of: name)?.definition)
            if new?.source == nil {
                if old?.source != nil { remove(name) }
            } else if old?.source == nil {
                // There may be readers already.
                if let slot = service.table.anySlot(name) { watch(slot) }
            } else if new != old {
                lists.withLock { $0[name] }?.settingsChanged()
            }
        }
        lists.withLock {
            $0.reassign { name in
                next.list(of: name).flatMap { $0.definition.source == nil ? nil : $0.definition.name.text }
            }
        }
    }

    private func remove(_ name: String) {
        let errand = FetchErrand(name, self)
        Transaction(RemoveSession(condition: WriteCondition()), for: errand).run().whenDone {
            [journal = service.journal] in
            if case .failure(let problem) = $0 {
                journal.log(
                    "\(name) is no longer in the lists file but could not be removed: \(problem.detail)", level: "error"
                )
            }
        }
    }

    // MARK: Readers

    /// What a reader of a session has to wait for; nil for nothing.
    func readiness(of name: String, isThere: Bool, patience: Duration) -> Progress<Void, Problem>? {
        guard let definition = match(name)?.definition, definition.source != nil else { return nil }
        guard let list = list(name, definition) else { return isThere ? nil : .done(.failure(.tooManyFetched)) }
        return list.readiness(isThere: isThere, patience: patience)
    }

    /// Fetches a session while it has readers.
    func watch(_ slot: SessionSlot) {
        guard slot.readerCount > 0, let definition = match(slot.name)?.definition else { return }
        list(slot.name, definition)?.readersCame()
    }

    /// Asks a session's source now.
    func fetch(_ name: String) -> Progress<Void, Problem> {
        guard let definition = match(name)?.definition, definition.source != nil else {
            return .done(.failure(.noSession(name)))
        }
        return list(name, definition)?.fetch() ?? .done(.failure(.tooManyFetched))
    }

    /// Why the last fetch of a session failed, for those who may know.
    func obstacle(of name: String) -> String { lists.withLock { $0[name] }?.obstacle.withLock { $0 } ?? "" }

    /// The seconds since a session's source was last heard of, if that is too long ago.
    func staleness(of name: String) -> Int? { lists.withLock { $0[name] }?.staleness }

    private func list(_ name: String, _ definition: ListDefinition) -> SourcedList? {
        guard let source = definition.source else { return nil }
        let (entry, entries) = (definition.name.text, file.withLock { $0.sourceCount })
        return lists.withLock { lists in
            if let list = lists[name] { return list }
            if !lists.hasRoom(for: entry, of: limit, among: entries), mayLookForRoom() {
                forget(&lists) { !$0.isInUse }
            }
            guard lists.hasRoom(for: entry, of: limit, among: entries) else { return nil }
            let list = SourcedList(name, self, every: source.every)
            lists.add(list, named: name, of: entry)
            return list
        }
    }

    /// Whether it is time to look for lists that are not in use: where all are, each request would look at all.
    private func mayLookForRoom() -> Bool {
        let now = Instant.now
        return lookedForRoom.withLock { last in
            guard now - last > .milliseconds(100) else { return false }
            last = now
            return true
        }
    }

    /// Forgets lists that nobody reads. Called each second. O(lists).
    func sweep() {
        let now = Instant.now
        lists.withLock { forget(&$0) { $0.isIdle(at: now) } }
    }

    private func forget(_ lists: inout FollowedLists<SourcedList>, where isUseless: (SourcedList) -> Bool) {
        for (name, list) in lists.all where isUseless(list) {
            lists.remove(name)
            outages.forget(name)
        }
    }

    /// For each list of the file, the seconds since a source last answered, of the session with the oldest answer.
    var ages: [(list: String, seconds: Int)] {
        let now = Instant.now
        var ages: [String: Int] = [:]
        for (name, list) in lists.withLock({ $0.all }) {
            guard let fetched = list.fetched, let label = match(name)?.definition.name.text else { continue }
            ages[label] = max(ages[label, default: 0], Int((now - fetched) / .seconds(1)))
        }
        return ages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension Problem {
    fileprivate static var tooManyFetched: Problem { Problem(.capacity, "too many lists are fetched at a time") }
}
