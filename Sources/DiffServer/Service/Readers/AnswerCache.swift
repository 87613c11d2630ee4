import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews

/// Encoded answers that lead to a session's head, so that many readers with the same base cost one diff, one encoding
/// and one copy.
///
/// An answer is useful for the moment in which all readers woken by a commit ask for it. So all are released each
/// second. One that is still being sent can be found until it is sent, since it takes its memory anyway.
final class AnswerCache: HeadCache {
    /// What a body depends on besides the head.
    enum Key: Hashable, Sendable {
        /// The changes since a base.
        case changes(from: Revision, ChangesOptions)
        /// The part of a reset that is the same for all readers.
        case state(ChangesForm, [StateView])
        /// The answer to GET of the session.
        case document([StateView])
    }

    private struct Entry {
        /// The answer without its body.
        let answer: ChangesAnswer?
        var body: Releasable<SharedBody>
    }

    private struct Content {
        var head: Revision?
        var entries: [Key: Entry] = [:]
        /// What changed since a base, however it is written.
        var changes: [Revision: Releasable<Changeset>] = [:]
        /// Whether `caches` will release this one.
        var isListed = false
    }

    /// Per session. If readers have more bases than this, some answers are computed more than once.
    private static let maxEntries = 64

    private let content = Locked(Content())
    private let caches: AnswerCaches
    private let seen: SeenStates

    init(in caches: AnswerCaches) { (self.caches, seen) = (caches, SeenStates(in: caches.views)) }

    /// What readers' views show.
    var seenStates: SeenStates {
        list()
        return seen
    }

    /// A commit has made a new head.
    func moved(to head: Session.Head) {
        seen.move(to: head.revision, over: head.change)
        if !seen.isEmpty { list() }
    }

    /// Arranges for the contents to be released soon.
    private func list() {
        let isNew = content.withLock { content in
            defer { content.isListed = true }
            return !content.isListed
        }
        if isNew { caches.add(self) }
    }

    /// Releases everything, as the session leaves memory. Readers keep their views.
    func forget() {
        seen.forget()
        release()
    }

    /// The answer from a base to a head, if it has been computed.
    func answer(_ key: Key, at head: Revision) -> ChangesAnswer? {
        guard let (answer, body) = find(key, at: head) else { return nil }
        return answer?.with(body)
    }

    /// A body, if it has been written.
    func body(_ key: Key, at head: Revision) -> SharedBody? { find(key, at: head)?.body }

    private func find(_ key: Key, at head: Revision) -> (answer: ChangesAnswer?, body: SharedBody)? {
        content.withLock { content in
            guard content.head == head, let entry = content.entries[key] else { return nil }
            return entry.body.object.map { (entry.answer, $0) }
        }
    }

    /// What changed from a base to a head, computed once for all readers that ask at about the same time.
    func changes(from base: Revision, at head: Revision, _ compute: () -> Changeset?) -> Changeset? {
        let known = content.withLock { $0.head == head ? $0.changes[base]?.object : nil }
        if let known { return known }
        guard let changes = compute() else { return nil }
        let isKept = caches.keeps(changes.footprint)
        content.withLock { content in
            if content.head != head { content = Content(head: head, isListed: content.isListed) }
            guard content.changes.count < Self.maxEntries else { return }
            content.changes[base] = Releasable(changes, isKept: isKept)
        }
        list()
        return changes
    }

    /// Remembers an answer.
    ///
    /// - Returns: the same, with a body that can be sent to others.
    func remember(_ answer: ChangesAnswer, _ key: Key, at head: Revision) -> ChangesAnswer {
        let (answer, body) = answer.shared(in: caches.account.outgoing)
        remember(body, of: answer.withoutBody, key, at: head)
        return answer
    }

    /// Remembers a body, and the answer that it belongs to. Those of an older head are dropped.
    func remember(_ body: SharedBody, of answer: ChangesAnswer? = nil, _ key: Key, at head: Revision) {
        let old = content.withLock { content in
            let old = content
            if content.head != head { content = Content(head: head, isListed: content.isListed) }
            if content.entries.count >= Self.maxEntries {
                content.entries = content.entries.filter { $0.value.body.object != nil }
            }
            guard content.entries.count < Self.maxEntries else { return old }
            content.entries[key] = Entry(answer: answer, body: Releasable(body, isKept: caches.keeps(body.count)))
            return old
        }
        // Freed outside of the lock.
        _ = consume old
        list()
    }

    /// Releases all bodies. Those being sent can still be found.
    func release() {
        let old = content.withLock { content in
            let old = content
            for key in old.entries.keys { content.entries[key]?.body.release() }
            content.changes = [:]
            content.isListed = false
            return old
        }
        _ = consume old
        if seen.release() { list() }
    }
}

/// The caches of all sessions that hold something.
package final class AnswerCaches: HeadCaches {
    private let caches = Locked<[AnswerCache]>([])
    let account: MemoryAccount
    /// What readers' views take of it.
    let views: ViewMemory
    /// What has been kept for later readers since the last release, in bytes.
    private let kept: MemoryBudget

    package init(_ account: MemoryAccount) {
        (self.account, views) = (account, ViewMemory(account.views))
        // So little that no session is evicted for it.
        kept = MemoryBudget(limit: account.limit / 32)
    }

    package func make() -> any HeadCache { AnswerCache(in: self) }

    /// Whether a body of this size may be kept for later readers.
    func keeps(_ bytes: Int) -> Bool { kept.take(bytes) }

    func add(_ cache: AnswerCache) { caches.withLock { $0.append(cache) } }

    func release() {
        let all = caches.withLock { caches in
            defer { caches = [] }
            kept.release(kept.inUse)
            return caches
        }
        for cache in all { cache.release() }
    }
}

extension SessionTable {
    /// The table of a service, whose sessions make room for messages.
    ///
    /// - Parameters:
    ///   - maxBody: of a request, in bytes.
    ///   - connection: what an open connection takes, in bytes.
    ///   - hash: nil if the table is the cache of a store.
    ///   - onEviction: called with the memory that a session has left.
    package convenience init(
        bounds: Bounds, maxBody: Int, connection: Int = MemoryAccount.connection, hash: KeyedHash?,
        onEviction: @escaping @Sendable (_ bytes: Int) -> Void = { _ in }
    ) {
        let account = MemoryAccount(limit: bounds.bytes, maxBody: maxBody, connection: connection)
        self.init(
            bounds: bounds, account: account, hash: hash, caches: AnswerCaches(account), onEviction: onEviction)
    }

    /// The caches of all sessions.
    var answers: AnswerCaches { unsafeDowncast(caches, to: AnswerCaches.self) }
}

extension SessionSlot {
    /// The answers to the head.
    func answers(in caches: AnswerCaches) -> AnswerCache { unsafeDowncast(cache(in: caches), to: AnswerCache.self) }
}

/// A reference that is kept until it is released, and can be found for as long as anyone holds the object.
struct Releasable<Object: AnyObject> {
    private var kept: Object?
    private weak var found: Object?

    init(_ object: Object, isKept: Bool = true) { (kept, found) = (isKept ? object : nil, object) }

    var object: Object? { kept ?? found }

    mutating func release() { kept = nil }
}
