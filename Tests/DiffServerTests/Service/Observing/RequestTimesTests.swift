import DiffClock
import Testing

@Suite struct RequestTimesTests {
    private static func at(_ seconds: Int) -> Instant { Instant(nanoseconds: 1 << 40) + .seconds(seconds) }

    @Test func `a request is in one part at a time, until now`() {
        let times = RequestTimes(in: .receive, at: Self.at(0))
        for (second, part) in [(1, RequestTimes.Part.compute), (2, .store), (5, .compute), (6, .queue)] {
            times.enter(part, at: Self.at(second))
        }
        #expect(
            times.values(at: Self.at(10)) == [
                .receive: .seconds(1), .compute: .seconds(2), .store: .seconds(3), .queue: .seconds(4),
            ])
    }

    @Test func `what is done for a held request is not its own, until there are news`() {
        let times = RequestTimes(in: .compute, at: Self.at(0))
        times.release(at: Self.at(1))
        times.enter(.held, at: Self.at(1))
        for part in RequestTimes.Part.allCases { times.enter(part, at: Self.at(2)) }
        // The news may have come before the request was held.
        times.release(at: Self.at(7))
        #expect(times.values(at: Self.at(9)) == [.compute: .seconds(3), .held: .seconds(6)])
        let early = RequestTimes(in: .held, at: Self.at(5))
        early.release(at: Self.at(3))
        #expect(early.values(at: Self.at(6)) == [.held: .zero, .compute: .seconds(1)])
    }
}
