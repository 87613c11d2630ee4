import Testing

@testable import DiffStores

@Suite struct DrainScheduleTests {
    /// The number of readers, the window, and the duration of their departure, in milliseconds.
    @Test(arguments: [
        (0, 5000, 0), (1, 5000, 0), (100, 5000, 0),
        (101, 5000, 101), (2000, 5000, 2000), (5000, 5000, 5000),
        (200_000, 5000, 5000), (2000, 1000, 1000), (2000, 0, 0),
    ])
    func `few leave at once, others at 1,000 a second or as the window asks`(_ count: Int, _ window: Int, _ span: Int) {
        let schedule = DrainSchedule(of: count, within: .milliseconds(window))
        #expect(schedule.span == .milliseconds(span))
    }

    @Test(arguments: [1, 101, 1000, 65_537])
    func `they leave evenly, each after the one before`(_ count: Int) {
        let schedule = DrainSchedule(of: count, within: .seconds(5))
        let times = (0..<count).map(schedule.time)
        #expect(times[0] == .zero && times.allSatisfy { $0 <= schedule.span })
        let gap = schedule.span / count
        for (earlier, later) in zip(times, times.dropFirst()) {
            let difference = later - earlier - gap
            #expect(difference.magnitudeInNanoseconds <= 1)
        }
    }
}

extension Duration {
    fileprivate var magnitudeInNanoseconds: Int64 {
        abs(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
