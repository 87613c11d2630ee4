import CDiffSystem
import Foundation
import Testing

@testable import DiffClock
@testable import HTTPCore

/// Every fault at every call, until the calls of a whole exchange are exhausted.
@Suite struct FaultTests {
    private static let requests = Array(
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
            + "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nworld\r\n0\r\n\r\n"
            + "GET /bytes/40000 HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            // Makes the answers the same in each run.
            .replacingOccurrences(of: "Host: a", with: "Host: a\r\nX-Request-Id: b").utf8)

    private func run(_ fault: (call: Int, kind: ScriptedTransport.Fault)?, pace: Int) throws -> ScriptedConnection {
        let transport = ScriptedTransport(Self.requests, fault: fault)
        transport.pace = pace
        let scripted = try ScriptedConnection(transport)
        for _ in 0..<10 { scripted.settle() }
        return scripted
    }

    /// However the output is cut, the answers are the same: `Date` too, since the clock stands still.
    @Test(arguments: [Int.max, 4096, 37]) func everyFaultAtEveryCall(pace: Int) throws {
        let reference = try run(nil, pace: pace)
        #expect(reference.output.hasSuffix("nowhere") && !reference.isOpen)
        let calls = reference.transport.calls
        for kind in ScriptedTransport.Fault.allCases {
            for call in stride(from: 1, through: calls, by: max(1, calls / 300)) {
                let run = try run((call, kind), pace: pace)
                #expect(run.transport.hasFaulted && run.transport.closes == 1 && !run.isOpen, "\(kind) at \(call)")
                #expect(run.connection == nil, "\(kind) at \(call) leaks the connection")
                #expect(run.shard.options.openConnections.value == 0, "\(kind) at \(call) leaves it counted")
                switch kind {
                case .blocked, .short: #expect(run.output == reference.output, "\(kind) at \(call)")
                case .reset, .ended: #expect(run.transport.output.count <= reference.transport.output.count + 200)
                }
            }
        }
    }

    @Test func aReaderThatNeverReadsStopsTheReading() throws {
        let request = "GET /bytes/1000 HTTP/1.1\r\nHost: a\r\n\r\n"
        let transport = ScriptedTransport(Array(String(repeating: request, count: 5000).utf8))
        transport.room = 2000
        let scripted = try ScriptedConnection(transport)
        scripted.settle()
        #expect(scripted.connection.map { $0.output.count < 600_000 } == true)
        scripted.pass(.seconds(29))
        #expect(scripted.isOpen)
        scripted.pass(.seconds(2))
        #expect(!scripted.isOpen && scripted.transport.closes == 1)
    }

    @Test func whoReadsFastGetsASliceOfATurn() throws {
        let transport = ScriptedTransport(Array("GET /bytes/1000000 HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        transport.endsInput = false
        let scripted = try ScriptedConnection(transport)
        var sent: [Int] = []
        for iteration in 0..<4 {
            let before = transport.output.count
            scripted.loop.iterate(at: scripted.now) {
                if iteration == 0 { scripted.connection?.receive(.input) }
            }
            sent.append((transport.output.count - before) / 1024)
        }
        // Twice in the first iteration: for the event, and as a marked receiver.
        #expect(sent == [512, 256, 208, 0] && scripted.isOpen)
    }

    @Test func whereTooMuchWaitsAllOfAnAnswerLeavesAndNobodyWhoReadsIsClosed() throws {
        let transport = ScriptedTransport(Array("GET /bytes/1000000 HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        transport.endsInput = false
        let scripted = try ScriptedConnection(transport) { $0.outgoing = MemoryBudget(limit: -1) }
        scripted.loop.iterate(at: scripted.now) { scripted.connection?.receive(.input) }
        scripted.loop.runJobs()
        #expect(transport.output.count > 1_000_000 && scripted.isOpen)
    }

    @Test func whoPipelinesGetsASliceOfATurn() throws {
        let request = "GET /bytes/10 HTTP/1.1\r\nHost: a\r\n\r\n"
        let transport = ScriptedTransport(Array(String(repeating: request, count: 300).utf8))
        transport.endsInput = false
        let scripted = try ScriptedConnection(transport)
        var answered: [Int] = []
        for iteration in 0..<6 {
            scripted.loop.iterate(at: scripted.now) {
                if iteration == 0 { scripted.connection?.receive(.input) }
            }
            answered.append(scripted.output.split(separator: "HTTP/1.1 200").count)
        }
        // Twice in the first iteration: for the event, and as a marked receiver.
        #expect(answered == [128, 192, 256, 300, 300, 300])
    }

    /// The floor is 1 KiB a second.
    @Test(arguments: [(1, false), (1000, false), (20_000, false), (40_000, true)])
    func aReaderKeepsUpOrIsClosed(octetsEach25Seconds: Int, staysOpen: Bool) throws {
        let transport = ScriptedTransport(Array("GET /bytes/1000000 HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        transport.room = 1000
        transport.endsInput = false
        let scripted = try ScriptedConnection(transport)
        for _ in 0..<10 {
            scripted.settle()
            scripted.pass(.seconds(25))
            transport.room += octetsEach25Seconds
        }
        #expect(scripted.isOpen == staysOpen)
    }
}
