import DiffService
import DiffStores
import HTTPCore

/// Where sessions live outside of the process, as `--store` names it.
package protocol StoreAddress: Sendable {
    init?(_ text: String)

    var usesTLS: Bool { get }
    /// Whether several processes share its sessions. Otherwise it is a file of this machine.
    var isShared: Bool { get }
    /// Whether a password can be given separately: it takes one, and has none.
    var takesPassword: Bool { get }

    /// Opens the store. Errors are in words for whoever started the process, here and below.
    func open(
        _ options: Options, _ table: SessionTable, _ health: StoreHealth, _ workers: Workers
    ) throws(StoreError) -> OpenStore

    /// Finds out whether the store could be opened and written to now, without making or changing sessions.
    /// Returns what was not checked, in words.
    func check(_ options: Options) throws(StoreError) -> String?

    /// Opens the sessions as bytes. Those of a source are only read, and there must be some.
    func archive(_ options: Options, isSource: Bool) throws(StoreError) -> any SessionArchive
}

/// A store, and its own loops.
package typealias OpenStore = (store: any SessionStore, loops: [EventLoop])

extension Options {
    func openStore(_ journal: Journal, _ workers: Workers) throws(StoreError) -> OpenStore {
        let freed = EvictedMemory(worth: tableBounds.bytes / 16)
        let table = SessionTable(
            bounds: tableBounds, maxBody: service.maxBodyBytes, connection: connectionBytes,
            hash: store == nil ? .digests(digestKey ?? Digests.randomKey()) : nil, onEviction: { freed.add($0) })
        guard let store else { return (table, []) }
        return try store.open(self, table, StoreHealth { journal.log($0, level: $1) }, workers)
    }
}
