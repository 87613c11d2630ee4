import CDiffSystem
import Testing

@testable import HTTPCore

@Suite struct DescriptorsTests {
    @Test(arguments: [
        (20_000, 1_000_000, 20_000, 256), (20_000, 20_256, 20_000, 256), (20_000, 20_255, 19_999, 256),
        (20_000, 900, 788, 112), (20_000, 30, 27, 3), (5, 30, 5, 3), (20_000, 2, 1, 1),
    ])
    func connectionsGetWhatIsLeftOfDescriptors(wanted: Int, free: Int, connections: Int, overflow: Int) throws {
        let capacity = try #require(ConnectionCapacity(for: wanted, free: free))
        #expect(capacity.connections == connections && capacity.overflow == overflow)
    }

    @Test(arguments: [1, 0, -100]) func withoutRoomThereIsNoServer(free: Int) {
        #expect(ConnectionCapacity(for: 20_000, free: free) == nil)
    }

    @Test func whatIsOpenIsCounted() throws {
        // Other tests open and close some as well, up to hundreds, but not all the time.
        let isCounted = eventually {
            let before = Descriptors.open
            let more = (0..<200).map { _ in dup(0) }
            defer { more.forEach { close($0) } }
            return abs(Descriptors.open - before - 200) < 100
        }
        #expect(isCounted)
    }

    @Test func aServerSaysHowManyConnectionsItTakes() throws {
        let server = try TestServer { $0.maxConnections = 3 }
        #expect(server.server.counters.connectionLimit == 3)
        let most = try TestServer {
            $0.maxConnections = .max
            $0.reservedDescriptors = 40
        }
        let limit = most.server.counters.connectionLimit
        #expect(limit > 0 && limit < Descriptors.limit - 40)
    }

    @Test func aServerWithoutDescriptorsDoesNotStart() {
        #expect(throws: ListenError.self) { try TestServer { $0.reservedDescriptors = Descriptors.limit } }
    }
}
