import Testing

@testable import DiffService
@testable import HTTPCore

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

    @Test func `all that the sockets count is written, each under its name`() {
        var text = MetricsText()
        Server.Counters(
            connectionLimit: 1, openConnections: 2, acceptedConnections: 3, refusedConnections: 4,
            refusedConnectionsOfPeers: 5, acceptPauses: 6, relievedConnections: 7
        ).write(into: &text)
        let samples = text.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { String($0) }
        #expect(
            Set(samples) == [
                "diffserver_connections_limit 1", "diffserver_connections 2", "diffserver_connections_accepted_total 3",
                "diffserver_connections_refused_total 4", "diffserver_peer_connections_refused_total 5",
                "diffserver_accept_pauses_total 6", "diffserver_connections_relieved_total 7",
            ])
    }
}
