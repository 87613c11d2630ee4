// Lists that fetch themselves, and edits that reach their owner (CONTRACT §11): who looks at a session of the file has
// its source asked, at most once an interval, and who edits one with a hook is asked for by that.
//
// All that is mutable here lives on one loop of its own, which also drives libcurl: requests to other servers, their
// handshakes and their timers delay nobody who is served.

import HTTPCore
import SnapshotKit

/// The lists of a file, and what is under way for them.
final class Upstream: Sendable {
    let service: DiffService
    let loop: EventLoop
    /// Requests to sources.
    let transfers: Transfers
    /// Requests to hooks, which must not wait for sources that are slow.
    let calls: Transfers
    let tallies = SourceTallies()
    let outages = Outages()
    /// Set before anybody asks.
    private(set) nonisolated(unsafe) var hooks: HookCalls! = nil
    private let file: Locked<ListsFile>
    private let lists = Locked<[String: SourcedList]>([:])

    /// Sessions whose sources are asked at most.
    private var limit: Int { max(1, service.table.bounds.sessions / 2) }

    init(_ file: ListsFile, for service: DiffService, incoming: MemoryBudget) throws(ListenError) {
        self.service = service
        self.file = Locked(file)
        loop = try EventLoop.standalone()
        transfers = Transfers(on: loop, budget: incoming)
        calls = Transfers(on: loop, budget: incoming, maxOfHost: HookCalls.most)
        hooks = HookCalls(self)
    }

    // MARK: What the file says

    /// The list that a session is of; nil if it is none.
    func match(_ name: String) -> ListMatch? { file.withLock { $0 }.list(of: name) }

    /// Whether the session fetches itself.
    func hasSource(_ name: String) -> Bool { match(name)?.definition.source != nil }

    /// Goes on by another file: what is gone from it ends.
    func replace(by next: ListsFile) {
        let before = file.withLock { exchange(&$0, with: next) }
        for name in service.table.names {
            let (old, new) = (before.list(of: name)?.definition, next.list(of: name)?.definition)
            if new?.source == nil {
                if old?.source != nil { remove(name) }
            } else if old?.source == nil {
                // Somebody may wait for it already.
                if let slot = service.table.anySlot(name) { watch(slot) }
            } else if new != old {
                lists.withLock { $0[name] }?.settingsChanged()
            }
        }
        lists.withLock { lists in lists = lists.filter { next.list(of: $0.key)?.definition.source != nil } }
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

    // MARK: Who looks

    /// What somebody who reads a session has to wait for; nil if it need not.
    func readiness(of name: String, isThere: Bool, patience: Duration) -> Progress<Void, Problem>? {
        guard let source = match(name)?.definition.source else { return nil }
        guard let list = list(name, source) else { return isThere ? nil : .done(.failure(.tooManyFetched)) }
        return list.readiness(isThere: isThere, patience: patience)
    }

    /// Looks after a session that somebody may wait for.
    func watch(_ slot: SessionSlot) {
        guard slot.readerCount > 0, let source = match(slot.name)?.definition.source else { return }
        list(slot.name, source)?.readersCame()
    }

    /// Asks a session's source now.
    func fetch(_ name: String) -> Progress<Void, Problem> {
        guard let source = match(name)?.definition.source else { return .done(.failure(.noSession(name))) }
        return list(name, source)?.fetch() ?? .done(.failure(.tooManyFetched))
    }

    /// Why a session's source could not be asked last, for those who may know.
    func obstacle(of name: String) -> String { lists.withLock { $0[name] }?.obstacle.withLock { $0 } ?? "" }

    /// For how many seconds nothing was heard of a session's source, if that is too long.
    func staleness(of name: String) -> Int? { lists.withLock { $0[name] }?.staleness }

    private func list(_ name: String, _ source: ListDefinition.Source) -> SourcedList? {
        lists.withLock { lists in
            if let list = lists[name] { return list }
            if lists.count >= limit {
                for (name, list) in lists where !list.isInUse {
                    lists[name] = nil
                    outages.forget(name, of: match(name)?.definition.name.text)
                }
            }
            guard lists.count < limit else { return nil }
            let list = SourcedList(name, self, every: source.every)
            lists[name] = list
            return list
        }
    }

    /// Forgets lists that nobody looks at. Called each second. O(lists).
    func sweep(at now: Instant = .now) {
        lists.withLock { lists in
            if lists.isEmpty { return }
            for (name, list) in lists where list.isIdle(at: now) {
                lists[name] = nil
                outages.forget(name, of: match(name)?.definition.name.text)
            }
        }
    }

    /// For each list of the file, the seconds since a source last answered, of the session for which that is longest
    /// ago.
    var ages: [(list: String, seconds: Int)] {
        let now = Instant.now
        var ages: [String: Int] = [:]
        for (name, list) in lists.withLock({ $0 }) {
            guard let fetched = list.fetched, let definition = match(name)?.definition else { continue }
            ages[definition.name.text] = max(ages[definition.name.text] ?? 0, Int((now - fetched) / .seconds(1)))
        }
        return ages.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}

extension Problem {
    fileprivate static var tooManyFetched: Problem { Problem(.capacity, "too many lists are fetched at a time") }
}
