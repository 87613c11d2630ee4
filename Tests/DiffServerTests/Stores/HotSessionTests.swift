import Foundation
import HTTPCore
import SnapshotKit
import Synchronization
import Testing

@testable import DiffClock
@testable import DiffRedis
@testable import DiffSessions
@testable import DiffStores

/// Many writers of one session in Redis, on several loops of one node or of several.
@Suite(.enabled(if: RedisServer.isInstalled, Comment(rawValue: RedisServer.missing)))
struct HotSessionTests {
    /// The request of a writer.
    private final class Writer: TransactionContext {
        let store: any SessionStore
        let loop: EventLoop
        let token: (any RevocableToken)? = nil
        let scanCount = 1
        let takesLongWork = true
        nonisolated(unsafe) var cost = WorkCost.none
        nonisolated(unsafe) var conflicts = 0
        private static let workers = Workers(count: 2)

        init(_ store: any SessionStore, on loop: EventLoop) { (self.store, self.loop) = (store, loop) }

        var session: String { "s" }
        var executor: any WorkExecutor { loop }
        func runLong(_ work: @escaping @Sendable () -> Void) { Self.workers.run(work) }
        func readiness(sessionExists: Bool) -> DiffClock.Progress<Void, SourceFailure>? { nil }
        func countConflict() {}
        func count(_ failure: StoreFailure) {}

        /// Begins to write, on the writer's loop. Passes on the result and the number of conflicts.
        func write(
            _ edits: String, _ settings: Session.Settings, _ done: @escaping @Sendable (Bool, _ conflicts: Int) -> Void
        ) {
            let body = PostedBody(json: #"{"edits":[\#(edits)]}"#, settings)
            let change = ChangeSession(body, condition: WriteCondition(), key: nil, fingerprint: nil)
            Transaction(change, for: self).run().whenDone { result in
                if case .success = result { done(true, self.conflicts) } else { done(false, self.conflicts) }
            }
        }

        func wrote(_ edits: String, _ settings: Session.Settings) async -> (isDone: Bool, conflicts: Int) {
            await withCheckedContinuation { continuation in
                loop.execute { self.write(edits, settings) { continuation.resume(returning: ($0, $1)) } }
            }
        }
    }

    private static let state = #"[{"id":"n","content":{"n":0}},{"id":"b","content":""}]"#
    private static let addition = #"{"op":"update","items":[{"id":"n","add":{"/n":1}}]}"#

    /// Adds 1, and sometimes changes enough for a worker to encode the record.
    private func edits(_ chance: inout SplitMix64) -> String {
        guard chance.once(in: 5) else { return Self.addition }
        let letter = Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(chance.below(26))))
        let text = String(repeating: letter, count: 1 + chance.below(60_000))
        return #"\#(Self.addition),{"op":"update","items":[{"id":"b","content":"\#(text)"}]}"#
    }

    private func scripts(_ redis: RedisServer?) -> Int {
        redis?.cli("INFO", "commandstats").matches(of: /cmdstat_eval(?:sha)?:calls=(\d+)/)
            .reduce(0) { $0 + Int($1.1)! } ?? 0
    }

    @Test(arguments: [(1, 1), (1, 2), (1, 4), (3, 1), (3, 2)])
    func `however many loops and nodes, each write counts, and those of one node never meet`(
        _ nodes: Int, _ loops: Int
    ) async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let stores = try (0..<nodes).map { _ in try fixture.store() }
        let running = try (0..<loops).map { _ in try RunningLoop() }
        let first = try stores[0].first("s", Self.state)
        _ = try await stores[0].created("s", first)
        for store in stores.dropFirst() { _ = try await store.opened("s") }
        let before = scripts(fixture.redis)
        let (writers, writes) = (24, 20)
        let conflicts = await withTaskGroup(of: Int.self) { group in
            for number in 0..<writers {
                group.addTask {
                    var (chance, conflicts) = (SplitMix64(seed: UInt64(number)), 0)
                    for _ in 0..<writes {
                        let (store, loop) = (stores[number % nodes], running[chance.below(loops)].loop)
                        let wrote = await Writer(store, on: loop).wrote(edits(&chance), first.settings)
                        #expect(wrote.isDone)
                        conflicts += wrote.conflicts
                    }
                    return conflicts
                }
            }
            return await group.reduce(0, +)
        }
        let asked = scripts(fixture.redis) - before
        let head = try #require(try await fixture.store().opened("s")).session.head
        #expect(String(decoding: head.snapshot.documentJSON(), as: UTF8.self).contains(#""n":\#(writers * writes)}"#))
        #expect(stores.reduce(0) { $0 + $1.table.counters.values.commits } == writers * writes)
        if nodes == 1 {
            #expect(conflicts == 0 && asked == writers * writes, "\(conflicts) conflicts, \(asked) scripts")
        } else {
            // In a turn of 20 ms a debug build gets less done, above all on a busy machine. `Benchmarks/store/writers`
            // asks a release for two.
            #expect(asked <= 4 * writers * writes, "\(conflicts) conflicts, \(asked) scripts")
        }
    }

    @Test(arguments: [0, 1, 2, 3])
    func `those that were overtaken are decided anew, in their order, behind one read`(_ large: Int) async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (store, other) = (try fixture.store(), try fixture.store())
        let first = try store.first("s", Self.state)
        _ = try await store.created("s", first)
        _ = try await other.opened("s")
        let running = try RunningLoop()
        // From here on, the other node does not know the head.
        #expect(
            await Writer(store, on: running.loop).wrote(#"{"op":"insert","items":["0"]}"#, first.settings) == (true, 0))
        let before = scripts(fixture.redis)
        let count = 10
        let results = Locked<[Int]>([])
        await withCheckedContinuation { continuation in
            running.loop.execute {
                for number in 1...count {
                    let text = String(repeating: "x", count: number == large ? 10_000 : 1)
                    let edit = #"{"op":"insert","items":[{"id":"\#(number)","content":"\#(text)"}]}"#
                    Writer(other, on: running.loop).write(edit, first.settings) { isDone, conflicts in
                        #expect(isDone)
                        let isLast = results.withLock { results in
                            results.append(conflicts)
                            return results.count == count
                        }
                        if isLast { continuation.resume() }
                    }
                }
            }
        }
        #expect(results.withLock { $0 } == Array(repeating: 1, count: count))
        // Commits behind a large record are not sent in vain.
        let sentInVain = large == 0 ? count...count : 1...count
        #expect(sentInVain.contains(scripts(fixture.redis) - before - 1 - count))
        let head = try #require(try await store.opened("s")).session.head
        let document = String(decoding: head.snapshot.documentJSON(), as: UTF8.self)
        #expect(document.matches(of: /"id":"(\d+)"/).map { Int($0.1) } == Array(0...count))
    }

    // MARK: Turns

    @Test func `nodes get their turns in the order in which they asked`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let store = try fixture.store()
        _ = try await store.created("s", try store.first("s", Self.state))
        let test = try TestClient("unix:\(fixture.redis?.socket ?? "")")
        let keys = [test.client.keys.key("s"), .text(test.client.keys.revoked)]
        let note = RedisArgument.text(
            """
            local time = redis.call('TIME')
            local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
            return redis.call('HSET', KEYS[1], 'i', string.format('%s %.0f%s', ARGV[2], ends, ARGV[3]))
            """)
        // The end of the turn in milliseconds from now, its holder and the waiting nodes; who takes a turn; the longest
        // wait, and the holder and the waiting nodes afterwards.
        let rows: [(Int, String, String, Int, String)] = [
            (20, " aa", "bb", 20, " aa bb"), (20, " aa bb", "bb", 20, " aa bb"),
            (20, " aa bb", "cc", 40, " aa bb cc"), (20, " aa bb", "aa", 0, " aa bb"),
            (-1, " aa", "bb", 0, " bb"), (-1, " aa", "aa", 0, " aa"),
            (-1, " aa bb cc", "cc", 20, " aa bb cc"), (-1, " aa bb cc", "aa", 40, " aa bb cc aa"),
            (-1, " aa bb cc", "bb", 0, " bb cc"), (-30, " aa bb cc", "cc", 0, " cc"),
            // Values that no node writes.
            (100_000, " aa bb", "cc", 0, " cc"), (20, "", "cc", 0, " cc"), (20, " ?", "cc", 0, " cc"),
        ]
        for (ends, names, node, wait, then) in rows {
            let arguments: [RedisArgument] = ["", 0, "", "", 65_536, "", .text(node)]
            let staging: [RedisArgument] = ["EVAL", note, 1, keys[0], .number(ends), "7 8", .text(names)]
            let reply = try await test.run(RedisScripts.read, keys, arguments, staging: staging).get()
            #expect(wait > 0 ? (1...wait).contains(reply.wait) : reply.elements != nil, "\(ends)\(names) \(node)")
            let noted = try await test.send("HGET", keys[0], "i").get().text ?? ""
            #expect(noted.replacing(#/ \d{13,}/#, with: "") == "7 8\(then)", "\(ends)\(names) \(node)")
        }
        // A commit asks for no turn, and keeps what other nodes may still need.
        let read = try #require(try await store.opened("s"))
        _ = await test.send("HSET", keys[0], "i", "7 8 1 aa bb")
        try await store.committed(try store.next("s", read.session, "[1]"), to: read.slot, after: read.session)
        #expect(try await test.send("HGET", keys[0], "i").get().text?.split(separator: " ").count == 2)
    }
}
