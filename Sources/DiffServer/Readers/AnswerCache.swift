import HTTPCore
import SnapshotKit
import Synchronization

/// Encoded answers that lead to one head, so that many readers with the same base cost one diff, one encoding and one
/// copy.
///
/// An answer is worth keeping for the moment in which all who were woken by a commit ask for the same. So all are let
/// go each second; one that is still on its way to somebody is found for as long as that lasts, since it takes its
/// memory anyway.
final class AnswerCache: Sendable {
    /// All that shapes a body besides the head.
    enum Key: Hashable, Sendable {
        /// What changed since a base.
        case changes(from: Revision, ChangesOptions)
        /// The state as a reset carries it, without what tells one reader from another.
        case state(ChangesForm, [StateView])
        /// The state as GET answers it.
        case document([StateView])
    }

    /// An answer besides its body, and the body.
    private struct Entry {
        let answer: ChangesAnswer?
        var kept: SharedBody?
        weak var sent: SharedBody?

        var isAlive: Bool { kept != nil || sent != nil }
    }

    /// What changed since a base, whichever way it is written.
    private struct Changes {
        var kept: Changeset?
        weak var used: Changeset?
    }

    private struct Content {
        var head: Revision?
        var entries: [Key: Entry] = [:]
        var changes: [Revision: Changes] = [:]
        /// Whether the list of all caches knows that there is something to let go here.
        var isListed = false
    }

    /// Of one session at once: a head with more readers' bases than this computes some of them again.
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

    /// A commit made another state the head.
    func moved(to head: Session.Head) {
        seen.move(to: head.revision, over: head.change)
        if !seen.isEmpty { list() }
    }

    /// Has what is here released before long.
    private func list() {
        let isNew = content.withLock { content in
            defer { content.isListed = true }
            return !content.isListed
        }
        if isNew { caches.add(self) }
    }

    /// Lets go of everything, as the session leaves memory: readers hold on to what they see through.
    func forget() {
        seen.forget()
        release()
    }

    /// The answer from a base to a head, if it was computed already.
    func answer(_ key: Key, at head: Revision) -> ChangesAnswer? {
        guard let (answer, body) = find(key, at: head) else { return nil }
        return answer?.with(body)
    }

    /// A body that needs no more to be told of, if it was written already.
    func body(_ key: Key, at head: Revision) -> SharedBody? { find(key, at: head)?.body }

    private func find(_ key: Key, at head: Revision) -> (answer: ChangesAnswer?, body: SharedBody)? {
        content.withLock { content in
            guard content.head == head, let entry = content.entries[key], let body = entry.kept ?? entry.sent else {
                return nil
            }
            return (entry.answer, body)
        }
    }

    /// What changed from a base to a head, which is computed once for all who ask at about the same time.
    func changes(from base: Revision, at head: Revision, _ compute: () -> Changeset?) -> Changeset? {
        let known = content.withLock { content in
            content.head == head ? content.changes[base].flatMap { $0.kept ?? $0.used } : nil
        }
        if let known { return known }
        guard let changes = compute() else { return nil }
        let isKept = caches.keeps(changes.footprint)
        let isNew = content.withLock { content in
            if content.head != head { content = Content(head: head, isListed: content.isListed) }
            guard content.changes.count < Self.maxEntries else { return false }
            content.changes[base] = Changes(kept: isKept ? changes : nil, used: changes)
            defer { content.isListed = true }
            return !content.isListed
        }
        if isNew { caches.add(self) }
        return changes
    }

    /// Remembers a body, and the answer that it belongs to; those to an older head go.
    func remember(_ body: SharedBody, of answer: ChangesAnswer? = nil, _ key: Key, at head: Revision) {
        let (isNew, old) = content.withLock { content -> (Bool, Content) in
            let old = content
            if content.head != head { content = Content(head: head, isListed: content.isListed) }
            if content.entries.count >= Self.maxEntries {
                content.entries = content.entries.filter { $0.value.isAlive }
            }
            guard content.entries.count < Self.maxEntries else { return (false, old) }
            content.entries[key] = Entry(answer: answer, kept: caches.keeps(body.count) ? body : nil, sent: body)
            defer { content.isListed = true }
            return (!content.isListed, old)
        }
        // What goes, goes outside the lock.
        _ = consume old
        if isNew { caches.add(self) }
    }

    /// Lets go of all bodies; those that are on their way stay to be found.
    func release() {
        let old = content.withLock { content in
            let old = content
            for key in old.entries.keys { content.entries[key]?.kept = nil }
            content.changes = [:]
            content.isListed = false
            return old
        }
        _ = consume old
        if seen.release() { list() }
    }
}

/// The caches of all sessions that hold something.
final class AnswerCaches: Sendable {
    private let caches = Locked<[AnswerCache]>([])
    /// Where the bodies are counted.
    let budget: MemoryBudget
    /// Where it is counted what views show.
    let views: MemoryBudget
    /// What was kept for others to come since all were let go, in bytes.
    private let kept = Atomic<Int>(0)

    /// As much may be kept, in bytes.
    private let mostKept: Int

    /// - Parameter mostKept: so little that no session has to leave for it.
    init(budget: MemoryBudget, views: MemoryBudget, mostKept: Int) {
        (self.budget, self.views, self.mostKept) = (budget, views, mostKept)
    }

    /// Whether a body of this size may be kept for others to come.
    func keeps(_ bytes: Int) -> Bool {
        guard kept.add(bytes, ordering: .relaxed).newValue > mostKept else { return true }
        kept.subtract(bytes, ordering: .relaxed)
        return false
    }

    func add(_ cache: AnswerCache) { caches.withLock { $0.append(cache) } }

    /// Has all caches let go.
    func release() {
        let all = caches.withLock { caches in
            defer { caches = [] }
            kept.store(0, ordering: .relaxed)
            return caches
        }
        for cache in all { cache.release() }
    }
}
