import Testing

@testable import HTTPCore

/// Deadlines, with a clock that the test sets.
@Suite struct TimeTests {
    private func connection(_ input: String = "") throws -> ScriptedConnection {
        let transport = ScriptedTransport(Array(input.utf8))
        transport.endsInput = false
        let scripted = try ScriptedConnection(transport)
        scripted.settle()
        return scripted
    }

    @Test func anIdleConnectionIsClosedWithoutAWord() throws {
        for input in ["", "\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"] {
            let scripted = try connection(input)
            let before = scripted.output
            scripted.pass(.seconds(64))
            #expect(scripted.isOpen, "\(input)")
            scripted.pass(.seconds(2))
            #expect(!scripted.isOpen && scripted.output == before)
        }
    }

    /// A refused connection holds its descriptor no longer than a served one may take for its handshake.
    @Test func aRefusalWaitsForAHandshakeAsLongAsThatMayTake() throws {
        let transport = ScriptedTransport([])
        transport.endsInput = false
        transport.room = 0
        let scripted = try ScriptedConnection(transport, isTLS: true)
        scripted.connection?.refuse(.tooManyConnections(limit: 1))
        scripted.settle()
        scripted.pass(.seconds(9))
        #expect(scripted.isOpen)
        scripted.pass(.seconds(2))
        #expect(!scripted.isOpen && transport.closes == 1)
    }

    @Test(arguments: [("HTTP/1.1", "HTTP/1.1 100 Continue\r\n\r\n"), ("HTTP/1.0", "")])
    func whoShutsItsSideAndWaitsIsAskedOnceWhetherItIsThere(version: String, probe: String) throws {
        let scripted = try connection("GET /held \(version)\r\nHost: a\r\n\r\n")
        scripted.pass(.seconds(3600))
        #expect(scripted.isOpen && scripted.output.isEmpty, "no part of it, as long as it does not shut its side")
        scripted.hangUp()
        scripted.pass(.milliseconds(400))
        #expect(scripted.output.isEmpty)
        scripted.pass(.milliseconds(200))
        #expect(scripted.isOpen && scripted.output == probe)
        scripted.pass(.seconds(3600))
        #expect(scripted.isOpen && scripted.output == probe && scripted.service.gone.load(ordering: .relaxed) == 0)
        scripted.service.pendings.withLock { $0.removeFirst() }.answer(Response(status: 200, text: "late"))
        scripted.settle()
        #expect(
            scripted.output.dropFirst(probe.count).hasPrefix("HTTP/1.1 200") && scripted.output.hasSuffix("late")
                && !scripted.isOpen)
    }

    @Test func whoDoesNotTakeTheQuestionIsGone() throws {
        let scripted = try connection("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        scripted.hangUp()
        scripted.transport.isReset = true
        scripted.pass(.milliseconds(600))
        #expect(!scripted.isOpen && scripted.service.gone.load(ordering: .relaxed) == 1)
    }

    @Test func aHeadHasItsTimeFromItsFirstOctet() throws {
        let scripted = try connection()
        scripted.pass(.seconds(60))
        for octet in "GET / HTT" {
            scripted.transport.give(String(octet))
            scripted.settle()
            scripted.pass(.seconds(1))
        }
        #expect(scripted.isOpen && scripted.output.isEmpty)
        scripted.pass(.milliseconds(1200))
        #expect(scripted.output.hasPrefix("HTTP/1.1 408") && scripted.output.contains("Connection: close"))
        #expect(scripted.output.contains("\r\nX-Request-Id: "))
        scripted.pass(.seconds(3))
        #expect(!scripted.isOpen)
    }

    @Test func aBodyKeepsItsRate() throws {
        let scripted = try connection("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n")
        for _ in 0..<3 {
            scripted.transport.give(String(repeating: "a", count: 10_240))
            scripted.settle()
            scripted.pass(.seconds(10))
        }
        #expect(scripted.output.isEmpty)
        scripted.transport.give(String(repeating: "a", count: 10_239))
        scripted.settle()
        scripted.pass(.milliseconds(10_200))
        #expect(scripted.output.hasPrefix("HTTP/1.1 408"))
    }

    @Test func theClockOfAKeptConnectionStartsAnew() throws {
        let scripted = try connection()
        for _ in 0..<5 {
            scripted.transport.give("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            scripted.settle()
            scripted.pass(.seconds(60))
        }
        #expect(scripted.isOpen)
    }

    @Test func aLingeringConnectionEndsAtItsTimeOrItsLimit() throws {
        let scripted = try connection("BAD\r\n")
        #expect(scripted.transport.hasFinished && scripted.isOpen)
        for _ in 0..<19 {
            scripted.transport.give("more")
            scripted.settle()
            scripted.pass(.milliseconds(100))
        }
        #expect(scripted.isOpen)
        scripted.pass(.milliseconds(200))
        #expect(!scripted.isOpen)
        let endless = try connection("BAD\r\n")
        for _ in 0..<20 {
            endless.transport.give(String(repeating: "x", count: 60_000))
            endless.settle()
        }
        #expect(!endless.isOpen)
    }
}
