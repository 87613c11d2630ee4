import Testing

@testable import DiffCommand
@testable import HTTPCore

@Suite struct FreeMemoryTests {
    /// A process whose memory is a number, and whose trim returns a given amount.
    private final class Process {
        var resident: Int
        var tries = 0
        var gain = 0

        init(_ resident: Int) { self.resident = resident }

        func turn(_ memory: inout FreeMemory, used: Int = 1000) {
            memory.trim(
                used: used, resident: { resident },
                trim: {
                    tries += 1
                    resident -= gain
                })
        }
    }

    @Test func `without slack nothing is tried`() {
        var memory = FreeMemory(slack: 100)
        let process = Process(1100)
        for _ in 0..<10 { process.turn(&memory) }
        #expect(process.tries == 0)
    }

    @Test func `what did not help is not repeated until something has changed`() {
        var memory = FreeMemory(slack: 100)
        let process = Process(1500)
        process.gain = 5
        for _ in 0..<100 { process.turn(&memory) }
        #expect(process.tries == 1)
        process.resident += 20
        process.turn(&memory)
        #expect(process.tries == 1, "too little to matter")
        process.resident += 10
        for _ in 0..<10 { process.turn(&memory) }
        #expect(process.tries == 2, "it has grown")
        process.resident -= 200
        for _ in 0..<10 { process.turn(&memory) }
        #expect(process.tries == 3, "it has shrunk, so holes may have grown")
        process.turn(&memory, used: 5000)
        for _ in 0..<10 { process.turn(&memory) }
        #expect(process.tries == 4, "it was accounted for between")
    }

    @Test func `sessions do without what the process takes beyond its due, and get it back`() {
        let mib = 1 << 20
        var excess = ExcessMemory(budget: 64 * mib)
        excess.update(resident: 100 * mib)
        #expect(excess.bytes == 0)
        // Evicted memory leaves the process.
        for _ in 0..<20 { excess.update(resident: 130 * mib - excess.bytes) }
        #expect(abs(excess.bytes - 30 * mib) < mib)
        for _ in 0..<20 { excess.update(resident: 90 * mib - excess.bytes) }
        #expect(excess.bytes == 0)
        // It does not: sessions keep half.
        for _ in 0..<20 { excess.update(resident: 200 * mib) }
        #expect(excess.bytes == 32 * mib)
    }

    @Test func `what helps goes on`() {
        var memory = FreeMemory(slack: 100)
        let process = Process(1500)
        process.gain = 50
        for _ in 0..<100 { process.turn(&memory) }
        #expect(process.tries == 8 && process.resident == 1100)
    }
}

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
