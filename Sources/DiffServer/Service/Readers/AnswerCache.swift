import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import SnapshotViews

/// Encoded answers that lead to a session's head. Many readers with the same base cost one diff, one encoding and one
/// copy. An answer is useful while the readers woken by a commit ask for it, so all are released each second. One that
/// is still being sent can be found until it is sent, since its memory is in use anyway.
final class AnswerCache: HeadCache {
    /// Everything that a body depends on besides the head.
    enum Key: Hashable, Sendable {
        /// The changes since a base.
        case changes(from: Revision, ChangesOptions)
        /// The part of a reset that is the same for all readers.
        case state(ChangesForm, [StateView])
        /// The answer to GET of a session.
        case document([StateView])
    }

    private struct Entry {
        /// The answer without its body.
        let answer: ChangesAnswer?
        var body: ExpiringReference<SharedBody>
    }

    private struct Content {
        var head: Revision?
        var entries: [Key: Entry] = [:]
        /// The changes since a base, for all formats.
        var changes: [Revision: ExpiringReference<Changeset>] = [:]
        /// Whether `caches` will release this cache.
        var isListed = false

        /// Drops what leads to an older head.
        mutating func move(to next: Revision) {
            if head != next { self = Content(head: next, isListed: isListed) }
        }
    }

    /// If readers have more bases, some answers are computed more than once.
    private static let maxEntries = 64

    private let content = Locked(Content())
    private let caches: AnswerCaches
    private let seen: ViewCache

    init(in caches: AnswerCaches) { (self.caches, seen) = (caches, ViewCache(in: caches.views)) }

    var viewCache: ViewCache {
        list()
        return seen
    }

    func moved(to head: Revision, over change: Changeset?) {
        seen.move(to: head, over: change)
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

    /// The session leaves memory. Readers keep their views.
    func forget() {
        seen.forget()
        release()
    }

    func answer(_ key: Key, at head: Revision) -> ChangesAnswer? {
        find(key, at: head).flatMap { answer, body in answer?.with(body) }
    }

    func find(_ key: Key, at head: Revision) -> (answer: ChangesAnswer?, body: SharedBody)? {
        content.withLock { content in
            guard content.head == head, let entry = content.entries[key] else { return nil }
            return entry.body.object.map { (entry.answer, $0) }
        }
    }

    /// The changes from a base to a head, computed once for all readers that ask at about the same time.
    func changes(from base: Revision, at head: Revision, _ compute: () -> Changeset?) -> Changeset? {
        let known = content.withLock { $0.head == head ? $0.changes[base]?.object : nil }
        if let known { return known }
        guard let changes = compute() else { return nil }
        let isKept = caches.keeps(changes.footprint)
        content.withLock { content in
            content.move(to: head)
            guard content.changes.count < Self.maxEntries else { return }
            content.changes[base] = ExpiringReference(changes, isKept: isKept)
        }
        list()
        return changes
    }

    /// - Returns: the answer, with a body that can be sent to other readers.
    func remember(_ answer: ChangesAnswer, _ key: Key, at head: Revision) -> ChangesAnswer {
        let (answer, body) = answer.shared(in: caches.account.outgoing)
        remember(body, of: answer.with(nil), key, at: head)
        return answer
    }

    func remember(_ body: SharedBody, of answer: ChangesAnswer? = nil, _ key: Key, at head: Revision) {
        content.change { content in
            content.move(to: head)
            if content.entries.count >= Self.maxEntries {
                content.entries = content.entries.filter { $0.value.body.object != nil }
            }
            guard content.entries.count < Self.maxEntries else { return }
            content.entries[key] = Entry(
                answer: answer, body: ExpiringReference(body, isKept: caches.keeps(body.count)))
        }
        list()
    }

    /// Releases all bodies. Those still being sent can be found.
    func release() {
        content.change { content in
            for key in content.entries.keys { content.entries[key]?.body.release() }
            (content.changes, content.isListed) = ([:], false)
        }
        if seen.release() { list() }
    }
}

/// The answer caches of all sessions that hold anything.
package final class AnswerCaches: HeadCaches {
    private let caches = Locked<[AnswerCache]>([])
    let account: MemoryAccount
    let views: ViewMemory
    /// Bytes kept for later readers since the last release.
    private let kept: MemoryBudget

    package init(_ account: MemoryAccount) {
        (self.account, views) = (account, ViewMemory(account.views))
        // Too little to evict a session for.
        kept = MemoryBudget(limit: account.limit / 32)
    }

    package func make() -> any HeadCache { AnswerCache(in: self) }

    /// Whether so much may be kept for later readers.
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
    /// The table of a service, whose sessions are evicted to make room for messages.
    ///
    /// - Parameters:
    ///   - maxBody: the largest body of a request, in bytes.
    ///   - connection: the memory of an open connection, in bytes.
    ///   - hash: nil if the table is the cache of a store.
    package convenience init(
        bounds: Bounds, maxBody: Int, connection: Int = MemoryAccount.connection, hash: KeyedHash?,
        onEviction: @escaping @Sendable (_ bytes: Int) -> Void = { _ in }
    ) {
        let account = MemoryAccount(limit: bounds.bytes, maxBody: maxBody, connection: connection)
        self.init(bounds: bounds, account: account, hash: hash, caches: AnswerCaches(account), onEviction: onEviction)
    }

    var answers: AnswerCaches { unsafeDowncast(caches, to: AnswerCaches.self) }
}

extension SessionSlot {
    func answers(in caches: AnswerCaches) -> AnswerCache { unsafeDowncast(cache(in: caches), to: AnswerCache.self) }
}

extension Locked {
    /// Changes the value. What it had before is freed outside the lock.
    func change(_ work: (inout Value) -> Void) {
        let old = withLock { value in
            let old = value
            work(&value)
            return old
        }
        withExtendedLifetime(old) {}
    }
}

/// A reference that is strong until it is released, and weak from then on.
struct ExpiringReference<Object: AnyObject> {
    private var kept: Object?
    private weak var found: Object?

    init(_ object: Object, isKept: Bool = true) { (kept, found) = (isKept ? object : nil, object) }

    var object: Object? { kept ?? found }

    mutating func release() { kept = nil }
}
