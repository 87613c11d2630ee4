import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

@Suite struct SessionListingTests {
    /// Names that are hard for order or prefixes.
    private static let names = [
        "-", ".a", "0", "A", "Z", "a", "a-", "a-b", "a.", "a:", "a:1", "a:10", "a:2", "a_", "aa", "ab", "a~", "a~~",
        "b", "~",
    ].sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }

    @Test func `a page has the first names of a range, whichever order they are met in`() {
        var random = SplitMix64(seed: 7)
        for prefix in ["", "a", "a:", "a:1", "b", "c", "~"] {
            for after in [""] + Self.names + ["a:0", "zz"] {
                for limit in [1, 2, 3, 19, 20, 21] {
                    var first = FirstNames(SessionRange(prefix: prefix, after: after, limit: limit))
                    for name in (Self.names + Self.names).shuffled(using: &random) { first.insert(name) }
                    let all = Self.names.filter {
                        $0.utf8.starts(with: prefix.utf8) && after.utf8.lexicographicallyPrecedes($0.utf8)
                    }
                    let (names, next) = first.page
                    #expect(Array(names) == Array(all.prefix(limit)), "\(prefix) \(after) \(limit)")
                    #expect(next == (all.count > limit ? all[limit - 1] : nil))
                }
            }
        }
    }

    @Test func `names that start alike are told apart`() throws {
        let table = table()
        let names = (0..<50).map { "a-name-of-more-than-sixteen-bytes-\(10 + $0)" }
        for name in names.shuffled() { _ = try table.create(name, session("[]")).get() }
        let page = table.page(SessionRange(prefix: "a-name-of-more-than", after: names[9], limit: 7))
        #expect(page.entries.map(\.name) == Array(names[10..<17]))
        #expect(page.next == names[16])
    }

    private let hash = KeyedHash.digests("tests")

    private func session(_ state: String, ttl: Duration = .seconds(3600)) throws -> Session {
        SessionTransition(name: "s", bounds: .init(), hash: hash, now: .now).firstSession(
            try Snapshot(json: state), settings: Session.Settings(timeToLive: ttl, ignored: []), after: nil, maker: nil)
    }

    private func table(awake: Int = 4096) -> SessionTable {
        var bounds = SessionTable.Bounds()
        bounds.awake = awake
        return SessionTable(bounds: bounds, maxBody: 1024, hash: hash)
    }

    @Test func `a table's sessions are listed awake and at rest, and not woken`() throws {
        let table = table(awake: 1)
        let text = #"{"sections":[{"id":1,"items":["a",{"id":"b","expanded":false,"items":["c"]}]}]}"#
        for name in ["b", "a"] { _ = try table.create(name, session(text)).get() }
        let page = table.page(SessionRange(prefix: "", after: "", limit: 10))
        #expect(page.entries.map(\.name) == ["a", "b"])
        #expect(page.entries.map(\.rows) == [2, 2])
        #expect(page.next == nil)
        #expect(page.entries.reduce(0) { $0 + $1.bytes } == table.size.bytes)
        #expect(table.anySlot("b")?.awakeSession == nil)
    }

    @Test func `to be listed is no use, and what has ended is not`() throws {
        let (table, start) = (table(), Instant.now)
        _ = try table.create("long", session("[]", ttl: .seconds(100))).get()
        let slot = try table.create("short", session("[]", ttl: .seconds(10))).get()
        let end = slot.recency.expires
        let range = SessionRange(prefix: "", after: "", limit: 10)
        #expect(table.page(range, at: start + .seconds(9)).entries.count == 2)
        #expect(slot.recency.expires == end)
        #expect(table.page(range, at: .now + .seconds(11)).entries.map(\.name) == ["long"])
    }

    @Test func `who is there all the while is met, whoever else comes and goes`() throws {
        let table = table()
        let stay = (0..<3000).map { "stay\($0)" }
        for (number, name) in stay.enumerated() {
            _ = try table.create(name, session("[]")).get()
            _ = try table.create("go\(number)", session("[]")).get()
        }
        let isOver = Locked(false)
        let thread = Locked(false)
        SystemThread.start(named: "others") { [self] in
            var number = 0
            while !isOver.withLock({ $0 }) {
                if let slot = table.anySlot("go\(number % 3000)") { _ = table.drop(slot, at: nil) }
                if let session = try? session("[]") { _ = table.create("go\((number + 1500) % 3000)", session) }
                number += 1
            }
            thread.withLock { $0 = true }
        }
        var (listed, after): (Set<String>, String?) = ([], "")
        while let start = after {
            let page = table.page(SessionRange(prefix: "s", after: start, limit: 700))
            for entry in page.entries { #expect(listed.insert(entry.name).inserted) }
            after = page.next
        }
        isOver.withLock { $0 = true }
        #expect(listed == Set(stay))
        while !thread.withLock({ $0 }) {}
    }

    @Test func `places are taken again`() throws {
        let table = table()
        for round in 0..<3 {
            for number in 0..<100 { _ = try table.create("\(round)-\(number)", session("[]")).get() }
            for number in 0..<100 { _ = table.drop(table.anySlot("\(round)-\(number)")!, at: nil) }
        }
        #expect(table.registry.withLock { $0.slotArray.slots(from: 0, 1000)?.isEmpty } == true)
        #expect(table.registry.withLock { $0.slotArray.slots(from: 100, 1000) == nil })
    }
}
