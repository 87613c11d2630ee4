import HTTPCore
import SnapshotKit
import Testing

@testable import DiffSessions
@testable import DiffStores

/// What every store promises about listings.
@Suite struct SessionStoreListingTests {
    @Test(arguments: StoreKind.allCases)
    func `sessions are listed in the order of their names, some at a time`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let names = (0..<25).map { "team-\($0 % 2):\($0)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names.shuffled() { _ = try await store.created(name, try store.first(name, #"["a","b","c"]"#)) }
        let slot = try #require(store.table.anySlot(names[3])), first = try #require(slot.session)
        let changed = try store.next(names[3], first, #"["a"]"#)
        try await store.committed(changed, to: slot, after: first)
        for isLater in [false, true] {
            if isLater { store = try fixture.later(than: store) }
            for prefix in ["", "team-1:", "none"] {
                let expected = names.filter { $0.hasPrefix(prefix) }
                var (listed, after): ([SessionEntry], String?) = ([], "")
                while let start = after {
                    let page = try await store.list(SessionRange(prefix: prefix, after: start, limit: 6)).value
                    #expect(page.entries.count <= 6)
                    #expect(page.next == nil || page.next == page.entries.last?.name)
                    listed += page.entries
                    after = page.next
                }
                #expect(listed.map(\.name) == expected)
                for entry in listed {
                    #expect(entry.rows == (entry.name == names[3] ? 1 : 3))
                    #expect(entry.bytes > 10)
                    #expect(entry.revision.hasPrefix(entry.name == names[3] ? "2-" : "1-"))
                    #expect((3000...4000).contains(entry.expires.seconds - WallTime.now.seconds))
                }
            }
        }
        #expect(try await store.opened(names[3])?.session.head.revision == changed.head.revision)
        let dropped = try #require(try await store.opened(names[0]))
        try await store.dropped(dropped.slot, dropped.session, at: nil)
        let page = try await store.list(SessionRange(prefix: "", after: "", limit: 1)).value
        #expect(page.entries.map(\.name) == [names[1]])
        #expect(page.next == names[1])
    }

    @Test(arguments: StoreKind.allCases)
    func `to be listed is no use, and what has ended is not listed`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        let store = try fixture.store()
        _ = try await store.created("a", try store.first("a", "[]", ttl: .seconds(1)))
        _ = try await store.created("b", try store.first("b", "[]"))
        let range = SessionRange(prefix: "", after: "", limit: 10)
        #expect(await eventually { (try? await store.list(range).value.entries.map(\.name)) == ["b"] })
    }
}
