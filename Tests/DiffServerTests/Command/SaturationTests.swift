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
        #expect(told(100, refused: 1) == "connections are at their limit of 100: more are refused")
        #expect(told(99, refused: 5) == nil)
        #expect(told(95, refused: 5) == nil, "one more or less")
        #expect(told(89, refused: 9) == nil, "it goes on")
        #expect(told(89, refused: 9) == "connections are below their limit again: 89 of 100 are open")
        #expect(told(89, refused: 9) == nil)
        #expect(
            told(50, refused: 9, pauses: 1)
                == "connections are at their limit of 100: no descriptor or memory is left for more")
    }
}
