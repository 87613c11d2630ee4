import Dispatch
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct MemoryBudgetTests {
    @Test func aShareIsGivenBackWithItsOwner() {
        let budget = MemoryBudget(limit: 100)
        var share: MemoryShare? = MemoryShare(of: budget)
        #expect(share?.resize(to: 60) == true && budget.inUse == 60)
        #expect(MemoryShare(of: budget).resize(to: 41) == false && budget.inUse == 60)
        #expect(share?.resize(to: 101) == false && budget.inUse == 60)
        #expect(share?.resize(to: 100) == true && share?.resize(to: 10) == true && budget.inUse == 10)
        share?.hold(500)
        #expect(budget.isExceeded && budget.inUse == 500)
        share = nil
        #expect(budget.inUse == 0)
    }

    @Test func aShareMayHaveToLeaveAPart() {
        let budget = MemoryBudget(limit: 100)
        let (share, other) = (MemoryShare(of: budget), MemoryShare(of: budget))
        #expect(share.resize(to: 76, sparing: 4) == false && budget.inUse == 0)
        #expect(share.resize(to: 75, sparing: 4) && share.resize(to: 70, sparing: 4))
        #expect(other.resize(to: 6, sparing: 4) == false && other.resize(to: 30) && budget.inUse == 100)
        #expect(share.resize(to: 60, sparing: 4) && budget.inUse == 90)
    }

    @Test func whatDoesNotFitIsNotInTheWayOfWhatDoes() {
        let budget = MemoryBudget(limit: 100)
        let refusals = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for _ in 0..<500_000 {
                let bytes = thread == 0 ? 1 : 200
                if budget.take(bytes) { budget.release(bytes) } else if bytes == 1 { refusals.withLock { $0 += 1 } }
            }
        }
        #expect(refusals.withLock { $0 } == 0 && budget.inUse == 0)
    }

    @Test func connectionsAreRememberedForAWhile() {
        let count = ConnectionCount()
        for _ in 0..<800 { count.add() }
        #expect(count.recent == 800)
        count.age()
        for _ in 0..<700 { count.subtract() }
        #expect(count.value == 100 && count.recent == 800)
        count.age()
        #expect(count.recent == 700)
        for _ in 0..<30 { count.age() }
        #expect(count.recent == 100)
    }

    @Test func growthIsToldEachMiB() {
        let budget = MemoryBudget()
        let calls = Locked(0)
        budget.onGrowth { calls.withLock { $0 += 1 } }
        let share = MemoryShare(of: budget)
        for bytes in [1, 1 << 20 - 1, 1 << 20, 3 << 20, 3 << 20, 1 << 20, 2 << 20] { share.hold(bytes) }
        #expect(calls.withLock { $0 } == 3)
    }

    @Test func theLastTellingGoesNoDeeperThanTheFirst() {
        let budget = MemoryBudget()
        let places = Locked<[UInt]>([])
        budget.onGrowth {
            var local = 0
            withUnsafePointer(to: &local) { place in places.withLock { $0.append(UInt(bitPattern: place)) } }
        }
        for _ in 0..<100 {
            budget.charge(1 << 20)
            budget.release(1 << 20)
        }
        #expect(places.withLock { $0 } == Array(repeating: places.withLock { $0[0] }, count: 100))
    }

    @Test func partsTakeFromTheWhole() {
        let whole = MemoryBudget(limit: 100)
        let (one, other) = (MemoryBudget(limit: 80, of: whole), MemoryBudget(of: whole))
        one.charge(50)
        let share = MemoryShare(holding: 60, of: other)
        #expect(whole.inUse == 110 && whole.isExceeded && !one.take(31) && whole.inUse == 110)
        one.release(50)
        share.hold(10)
        #expect(whole.inUse == 10)
    }

    // MARK: Waiting

    /// Shares in the order in which they were granted, with their receivers' names.
    private let admitted = Locked<[(name: String, share: MemoryShare)]>([])
    private var names: [String] { admitted.withLock { $0.map(\.name) } }

    private func reserve(_ bytes: Int, of budget: MemoryBudget, as name: String) {
        budget.reserve(bytes) { [admitted] share in admitted.withLock { $0.append((name, share)) } }
    }

    private func giveBack(_ name: String) {
        let share = admitted.withLock { all in all.first { $0.name == name }?.share }
        share?.hold(0)
    }

    @Test func whoeverFindsNoRoomWaitsForItsTurnAndIsNotOvertaken() {
        let budget = MemoryBudget(limit: 100)
        reserve(60, of: budget, as: "a")
        reserve(50, of: budget, as: "b")
        reserve(10, of: budget, as: "c")
        #expect(names == ["a"] && budget.waiterCount == 2 && budget.inUse == 60)
        giveBack("a")
        #expect(names == ["a", "b", "c"] && budget.waiterCount == 0 && budget.inUse == 60)
        admitted.withLock { $0 = [] }
        #expect(budget.inUse == 0)
    }

    @Test func oneThatIsLargerThanTheLimitGoesAlone() {
        let budget = MemoryBudget(limit: 100)
        reserve(1, of: budget, as: "a")
        reserve(500, of: budget, as: "huge")
        reserve(1, of: budget, as: "b")
        #expect(names == ["a"])
        giveBack("a")
        #expect(names == ["a", "huge"])
        giveBack("huge")
        #expect(names == ["a", "huge", "b"])
    }

    @Test func thoseWhoGiveBackAtOnceDoSoOneAfterTheOther() {
        let budget = MemoryBudget(limit: 1)
        let places = Locked<[UInt]>([])
        let first = MemoryShare(holding: 1, of: budget)
        for _ in 0..<3 {
            budget.reserve(1) { _ in
                var local = 0
                withUnsafePointer(to: &local) { place in places.withLock { $0.append(UInt(bitPattern: place)) } }
            }
        }
        first.hold(0)
        let seen = places.withLock { $0 }
        #expect(seen.count == 3 && Set(seen).count == 1 && budget.inUse == 0 && budget.waiterCount == 0)
    }

    @Test func nobodyWaitsForEver() {
        let budget = MemoryBudget(limit: 10)
        let count = Locked(0)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for step in 0..<20_000 {
                budget.reserve(1 + (step + thread) % 12) { _ in count.withLock { $0 += 1 } }
            }
        }
        #expect(count.withLock { $0 } == 80_000 && budget.inUse == 0 && budget.waiterCount == 0)
    }

    // MARK: Input

    private static let start = "POST /echo HTTP/1.1\r\nHost: a\r\n"
    private static let small: @Sendable (inout ServerOptions) -> Void = { $0.incoming = MemoryBudget(limit: 10_000) }

    @Test(arguments: [
        start + "Transfer-Encoding: chunked\r\n\r\n4e20\r\n" + String(repeating: "x", count: 15_000),
        start + "Content-Length: 20000\r\n\r\n" + String(repeating: "x", count: 15_000),
        "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 15_000),
        start + "Content-Length: 2\r\n\r",
    ])
    func whatHasComeOfAMessageFitsOrIsRefused(_ message: String) throws {
        let scripted = try ScriptedConnection(transport(message), Self.small)
        scripted.settle()
        let fits = message.utf8.count < 10_000
        #expect(scripted.output.hasPrefix("HTTP/1.1 503 ") == !fits)
        #expect(scripted.shard.options.incoming.inUse == (fits ? message.utf8.count : 0))
    }

    @Test func messagesThatAreHeldBackLeaveRoomForWholeOnes() throws {
        let incoming = MemoryBudget(limit: 16_000)
        let held = try [14_000, 1000, 10].map { count in
            let message = Self.start + "Content-Length: 20000\r\n\r\n" + String(repeating: "x", count: count)
            let scripted = try ScriptedConnection(transport(message)) { $0.incoming = incoming }
            scripted.settle()
            return scripted
        }
        #expect(held.map { $0.output.isEmpty } == [true, true, false] && incoming.inUse == 15_000)
        #expect(MemoryShare(of: incoming).resize(to: 1000))
    }

    @Test func aBodyIsCountedAsItGrowsAndNotBefore() throws {
        let scripted = try ScriptedConnection(transport(Self.start + "Content-Length: 30000\r\n\r\n"), Self.small)
        scripted.settle()
        #expect(scripted.shard.options.incoming.inUse == 0)
        scripted.transport.give(String(repeating: "x", count: 9000))
        scripted.settle()
        #expect(scripted.shard.options.incoming.inUse == 9000)
        scripted.transport.give(String(repeating: "x", count: 21_000))
        scripted.settle()
        // The body is complete at the end of the iteration, so no part of it waits for more.
        #expect(scripted.output.contains(" 200 ") && scripted.shard.options.incoming.inUse == 0)
    }

    @Test func whatIsInflatedIsCountedToo() throws {
        let body = try #require(Deflater().compressed([UInt8](repeating: 0x20, count: 90_000)[...]))
        let head = Self.start + "Content-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n"
        let scripted = try ScriptedConnection(transport(Array(head.utf8) + body.dropLast()), Self.small)
        scripted.settle()
        #expect(scripted.output.hasPrefix("HTTP/1.1 503 ") && scripted.shard.options.incoming.inUse == 0)
    }

    @Test func whatIsPipelinedBehindAHeldRequestIsCounted() throws {
        let held = "POST /held HTTP/1.1\r\nHost: a\r\n\r\n"
        let scripted = try ScriptedConnection(transport(held + String(repeating: "x", count: 9000)), Self.small)
        scripted.settle()
        #expect(scripted.isOpen && scripted.shard.options.incoming.inUse == 9000)
        let other = try ScriptedConnection(transport(held + String(repeating: "x", count: 11_000)), Self.small)
        other.settle()
        #expect(!other.isOpen && other.shard.options.incoming.inUse == 0)
    }

    private func transport(_ text: String) -> ScriptedTransport { transport(Array(text.utf8)) }

    private func transport(_ bytes: [UInt8]) -> ScriptedTransport {
        let transport = ScriptedTransport(bytes)
        transport.endsInput = false
        return transport
    }

    // MARK: Output

    @Test func aBodyThatManyAreSentIsHeldOnce() throws {
        let server = try TestServer()
        server.service.shared.withLock { [outgoing = server.options.outgoing] in
            $0 = SharedBody([UInt8](repeating: 0x78, count: 8 << 20), in: outgoing)
        }
        let clients = try (0..<10).map { _ in try Client(server.address, receiveBuffer: 4096) }
        for client in clients { client.send("GET /shared HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(eventually { server.answers == 10 })
        #expect(server.options.outgoing.inUse < 9 << 20)
        server.service.shared.withLock { $0 = nil }
        #expect(server.options.outgoing.inUse >= 8 << 20)
    }

    @Test func whoHoldsMostIsClosed() throws {
        let server = try TestServer { $0.outgoing = MemoryBudget(limit: 20 << 20) }
        var clients: [Client] = []
        for bytes in [9_000_000, 8_000_000, 7_000_000, 6_000_000, 5_000_000] {
            clients.append(try Client(server.address, receiveBuffer: 4096))
            clients.last?.send("GET /bytes/\(bytes) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(eventually { server.answers == clients.count })
        }
        #expect(eventually { !server.options.outgoing.isExceeded })
        #expect(eventually { server.server.counters.relievedConnections == 2 })
        // The first two are closed: each time that too much was queued, the largest.
        #expect(clients[0].receiveToEnd().utf8.count < 9_000_000 && clients[1].receiveToEnd().utf8.count < 8_000_000)
        #expect(clients[4].receive(octets: 5_000_000) >= 5_000_000)
    }

    @Test(arguments: ["pieces", "bytes/1048576"])
    func whatWaitsForAWorkerIsWithinTheBudget(path: String) throws {
        let workers = Workers(count: 1)
        let server = try TestServer(workers: workers) { $0.outgoing = MemoryBudget(limit: 4 << 20) }
        workers.run { [service = server.service] in service.goOn.wait() }
        defer { server.service.goOn.signal() }
        server.service.shared.withLock { [outgoing = server.options.outgoing] in
            $0 = SharedBody([UInt8](repeating: 0x78, count: 1 << 20), in: outgoing)
        }
        let clients = try (0..<20).map { _ in try Client(server.address, receiveBuffer: 4096) }
        for client in clients { client.send("GET /\(path) HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n") }
        // The other clients get the body uncompressed.
        #expect(eventually { server.answers >= 14 })
        #expect(server.options.outgoing.inUse < 8 << 20)
    }

    @Test func aBodyIsFreedWithTheLastOfItsReaders() throws {
        let server = try TestServer { $0.outgoing = MemoryBudget(limit: 20 << 20) }
        var clients: [Client] = []
        for round in 0..<3 {
            server.service.shared.withLock { [outgoing = server.options.outgoing] in
                $0 = SharedBody([UInt8](repeating: 0x78, count: 9 << 20), in: outgoing)
            }
            for _ in 0..<20 {
                clients.append(try Client(server.address, receiveBuffer: 4096))
                clients.last?.send("GET /shared HTTP/1.1\r\nHost: a\r\n\r\n")
            }
            if round < 2 { #expect(eventually { server.answers == clients.count }) }
        }
        // All connections with one of the three bodies are closed, and hardly any others: an answer that is not written
        // yet is not known to hold its body.
        #expect(eventually { !server.options.outgoing.isExceeded && server.answers == 60 })
        #expect((20...25).contains(server.server.counters.relievedConnections))
    }

    @Test func aPartOfAStreamIsFramedOnce() throws {
        let body = SharedBody(partOfStream: Array("hello".utf8), in: MemoryBudget())
        #expect(String(decoding: body.bytes(isFramed: true), as: UTF8.self) == "5\r\nhello\r\n")
        #expect(String(decoding: body.bytes(isFramed: false), as: UTF8.self) == "hello" && body.count == 5)
    }

    @Test func oneCompressionServesAll() throws {
        let workers = Workers(count: 2)
        let budget = MemoryBudget()
        let body = SharedBody([UInt8](repeating: 0x78, count: 1 << 20), in: budget)
        let found = Locked<[ObjectIdentifier?]>([])
        for _ in 0..<20 {
            body.compressed(by: workers) { body in found.withLock { $0.append(body.map(ObjectIdentifier.init)) } }
        }
        #expect(eventually { found.withLock { $0.count } == 20 })
        #expect(Set(found.withLock { $0 }).count == 1 && found.withLock { $0[0] } != nil)
    }
}
