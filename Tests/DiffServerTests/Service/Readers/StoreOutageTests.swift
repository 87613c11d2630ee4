import DiffClock
import Testing

@testable import DiffService

@Suite struct StoreOutageTests {
    /// The events of each second: the silence in seconds, and what streams are told.
    private static let courses: [[(Int, StoreOutage.Action?)]] = [
        // Short silences are not announced.
        [(0, nil), (1, nil), (9, nil), (0, nil), (9, nil), (3, nil)],
        // A silence is announced, and its end.
        [(9, nil), (10, .tell), (11, nil), (59, nil), (0, .tell), (1, nil), (9, nil), (10, .tell)],
        // Streams that begin while others leave are among the next to leave.
        [
            (10, .tell), (60, .dismiss), (61, nil), (119, nil), (120, .dismiss), (179, nil), (180, .dismiss),
            (240, .dismiss), (0, .tell), (0, nil),
        ],
        // Another silence counts anew, however soon it begins.
        [(10, .tell), (9, .tell), (10, .tell), (11, nil), (9, .tell), (9, nil)],
        // The process stood still: no stream leaves before the store could answer.
        [(0, nil), (600, .tell), (0, .tell), (0, nil)],
        [(0, nil), (600, .tell), (601, .dismiss), (660, nil), (661, .dismiss)],
    ]

    @Test(arguments: courses.indices)
    func `each silence is told once, and streams leave after a minute of it`(_ course: Int) {
        var outage = StoreOutage()
        for (place, (silence, action)) in Self.courses[course].enumerated() {
            #expect(outage.tick(after: .seconds(silence)) == action, "step \(place), after \(silence) s")
        }
    }

    /// The silences of the source and of the store, and the staleness that is told.
    @Test(
        arguments: [
            (nil, 0, nil), (nil, 9, nil), (nil, 10, 10), (7, 0, 7), (7, 9, 7), (7, 10, 10), (70, 10, 70), (10, 70, 70),
        ] as [(Int?, Int, Int?)])
    func `the larger silence counts`(_ source: Int?, _ store: Int, _ told: Int?) {
        #expect(StoreOutage.staleness(of: source, after: .seconds(store) + .milliseconds(999)) == told)
    }
}
