// When views, at four bytes an item, exceed their part of the memory, those of the client that holds the most are let
// go, and are recomputed whenever their readers are due. So no reader is refused for its view, and no client pushes out
// the views of one that holds less. Rejected: evicting the least recently used view. All readers of a session are due
// at once, so with one view too many, each would push out the next.

import HTTPCore
import Synchronization

/// The memory of views, and how much of it each client holds.
final class ViewMemory: Sendable {
    let budget: MemoryBudget
    private let content = Locked(Content())
    private let letGo = Atomic<Int>(0)
    private let madeAnew = Atomic<Int>(0)

    fileprivate struct Content {
        var views: [ObjectIdentifier: Entry] = [:]
        var clients: [String: Client] = [:]
        /// The client that holds the most; nil if that must be determined again.
        var most: String?
    }

    fileprivate struct Entry {
        weak var view: MaterializedView?
        let client: String
        let bytes: Int
    }

    fileprivate struct Client {
        var bytes = 0
        var views: Set<ObjectIdentifier> = []
    }

    init(_ budget: MemoryBudget) { self.budget = budget }

    /// How often a view was let go, and how often one of those was recomputed.
    var counts: (letGo: Int, madeAnew: Int) { (letGo.load(ordering: .relaxed), madeAnew.load(ordering: .relaxed)) }

    func countLetGo() { letGo.wrappingAdd(1, ordering: .relaxed) }
    func countMadeAnew() { madeAnew.wrappingAdd(1, ordering: .relaxed) }

    /// O(1).
    func note(_ view: MaterializedView, _ bytes: Int, for client: String) {
        content.withLock { content in
            content.remove(ObjectIdentifier(view))
            if bytes > 0 { content.add(Entry(view: view, client: client, bytes: bytes), ObjectIdentifier(view)) }
        }
    }

    func remove(_ view: ObjectIdentifier) { content.withLock { $0.remove(view) } }

    /// Takes memory for a client's view. Until it fits, lets go of views of the client that holds the most; false if
    /// that would be this one.
    ///
    /// - Parameters:
    ///   - client: empty for a view that nobody follows, which takes nothing from others.
    ///   - take: whether it could take the memory.
    func reserve(_ bytes: Int, for client: String, _ take: () -> Bool) -> Bool {
        while !take() {
            guard !client.isEmpty, let view = content.withLock({ $0.next(for: bytes, of: client) }) else {
                return false
            }
            view.letGo()
        }
        return true
    }
}

extension ViewMemory.Content {
    fileprivate mutating func add(_ entry: ViewMemory.Entry, _ view: ObjectIdentifier) {
        views[view] = entry
        clients[entry.client, default: ViewMemory.Client()].bytes += entry.bytes
        clients[entry.client]?.views.insert(view)
        if let most, most != entry.client, held(by: entry.client) > held(by: most) { self.most = entry.client }
    }

    fileprivate mutating func remove(_ view: ObjectIdentifier) {
        guard let entry = views.removeValue(forKey: view) else { return }
        clients[entry.client]?.bytes -= entry.bytes
        clients[entry.client]?.views.remove(view)
        if clients[entry.client]?.views.isEmpty == true { clients[entry.client] = nil }
        if most == entry.client { most = nil }
    }

    private func held(by client: String) -> Int { clients[client]?.bytes ?? 0 }

    /// A view to let go; nil if `client` would then hold as much. O(1), or O(clients) if the most is to be found again.
    fileprivate mutating func next(for bytes: Int, of client: String) -> MaterializedView? {
        let most = self.most ?? clients.max { $0.value.bytes < $1.value.bytes }?.key
        self.most = most
        guard let most, most != client, held(by: most) > held(by: client) + bytes else { return nil }
        while let view = clients[most]?.views.first {
            if let found = views[view]?.view { return found }
            remove(view)
        }
        return nil
    }
}
