import Testing

@testable import diffserver

@Suite struct MetricsTests {
    @Test func `a time is counted by the first bound that it does not exceed`() {
        var histogram = Histogram()
        for time: Duration in [
            .zero, .microseconds(100), .nanoseconds(100_001), .milliseconds(50), .seconds(60), .seconds(61),
        ] {
            histogram.add(time)
        }
        #expect(histogram.counts == [2, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1])
        #expect(histogram.sum == .nanoseconds(121_050_200_001))
    }

    @Test func `a histogram is written in seconds, each bucket with those below it`() {
        var histogram = Histogram()
        for time: Duration in [.microseconds(400), .milliseconds(600), .seconds(90)] { histogram.add(time) }
        var text = MetricsText()
        text.samples("t", "route=\"r\"", histogram)
        let buckets = [
            ("0.0001", 0), ("0.0005", 1), ("0.001", 1), ("0.005", 1), ("0.01", 1), ("0.05", 1), ("0.1", 1), ("0.5", 1),
            ("1.0", 2), ("5.0", 2), ("30.0", 2), ("60.0", 2), ("+Inf", 3),
        ].map { "t_bucket{route=\"r\",le=\"\($0.0)\"} \($0.1)" }
        #expect(
            text.text.split(separator: "\n").map { String($0) }
                == buckets + ["t_sum{route=\"r\"} 90.6004", "t_count{route=\"r\"} 3"])
    }
}
