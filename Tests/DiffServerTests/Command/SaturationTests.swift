import Testing

@testable import HTTPCore
@testable import diffserver

@Suite struct SaturationTests {
    @Test func `a beginning and an end are told once`() {
        var saturation = Saturation()
        func told(_ open: Int, refused: Int = 0, pauses: Int = 0) -> String? {
            saturation.line(
                for: Server.Counters(
                    connectionLimit: 100, openConnections: open, acceptedConnections: 0, refusedConnections: refused,
                    acceptPauses: pauses,
                    relievedConnections: 0))
        }
        #expect(told(100) == nil, "nobody was refused")
        #expect(told(100, refused: 1) == "connection limit of 100 reached: refusing more")
        #expect(told(99, refused: 5) == nil)
        #expect(told(95, refused: 5) == nil, "one more or less")
        #expect(told(89, refused: 9) == nil, "it goes on")
        #expect(told(89, refused: 9) == "accepting connections again: 89 of 100 open")
        #expect(told(89, refused: 9) == nil)
        #expect(
            told(50, refused: 9, pauses: 1)
                == "cannot accept connections: no file descriptors or memory left")
    }
}
