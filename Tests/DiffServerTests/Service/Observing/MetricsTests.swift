import DiffClock
import DiffStores
import SnapshotKit
import Testing

@testable import DiffService
@testable import HTTPCore

@Suite struct MetricsTests {
    @Test func `a time is counted by the first bound that it does not exceed`() {
        var histogram = Histogram(0...3)
        #expect(histogram.bounds == [0.00025, 0.0005, 0.001, 0.002])
        for time: Duration in [
            .zero, .nanoseconds(-1), .microseconds(250), .nanoseconds(250_001), .microseconds(500),
            .nanoseconds(500_001), .milliseconds(1), .milliseconds(2), .nanoseconds(2_000_001), .seconds(100_000),
        ] {
            histogram.add(time)
        }
        #expect(histogram.counts == [3, 2, 2, 1, 2])
        #expect(abs(histogram.sum - 100_000.006_5) < 1e-5)
    }

    @Test func `bounds may begin later, and sums do not end`() {
        var histogram = Histogram(10...26)
        #expect(histogram.bounds.first == 0.256 && histogram.bounds.count == 17)
        for _ in 0..<3 { histogram.add(nanoseconds: .max) }
        histogram.add(.milliseconds(256))
        histogram.add(.milliseconds(257))
        #expect(histogram.counts.first == 1 && histogram.counts[1] == 1 && histogram.counts.last == 3)
        #expect(histogram.sum > 2.7e10)
    }

    @Test func `a histogram is written in seconds, each bucket with those below it`() {
        var histogram = Histogram()
        for time: Duration in [.microseconds(400), .milliseconds(600), .seconds(90)] { histogram.add(time) }
        var text = MetricsText()
        text.family("t", "Times.", [("route=\"r\"", histogram)])
        let bounds = [
            "0.00025", "0.0005", "0.001", "0.002", "0.004", "0.008", "0.016", "0.032", "0.064", "0.128", "0.256",
            "0.512", "1.024", "2.048", "4.096", "8.192", "16.384", "32.768", "+Inf",
        ]
        let counts = [0] + Array(repeating: 1, count: 11) + Array(repeating: 2, count: 6) + [3]
        #expect(
            text.text.split(separator: "\n").map { String($0) }
                == ["# HELP t Times.", "# TYPE t histogram"]
                + zip(bounds, counts).map { "t_bucket{route=\"r\",le=\"\($0)\"} \($1)" } + [
                    "t_sum{route=\"r\"} 90.6004", "t_count{route=\"r\"} 3",
                ])
    }

    @Test func `a label holds a route, a problem, a wait, and what caches may do`() {
        for route in RouteName.allCases {
            for problem in [nil] + ProblemType.allCases.map(Optional.some) {
                for wait in [nil] + AnswerLabel.Wait.allCases.map(Optional.some) {
                    var response = Response(status: 200, label: problem.map { AnswerLabel($0).code } ?? 0)
                    if let wait { response.note(AnswerLabel(wait)) }
                    response.note(AnswerLabel(route))
                    let label = AnswerLabel(code: response.label)
                    #expect(label.route == route && label.problem == problem && label.wait == wait)
                    #expect(label.ofRoute == AnswerLabel(route) && label.caching == nil)
                    response.note(AnswerLabel(.noStore))
                    let kept = AnswerLabel(code: response.label)
                    #expect(kept.caching == .noStore && kept.wait == wait && kept.problem == problem)
                }
            }
        }
    }

    @Test func `a drain is told, and what was reloaded`() {
        let service = DiffService(
            settings: ServiceSettings(), store: SessionTable(bounds: .init(), maxBody: 1000, hash: .digests("key")),
            access: Authenticator(
                keys: KeyRing(keys: []), isLocal: true, secrets: TokenSecrets([Array(repeating: 7, count: 32)]),
                origins: []),
            journal: Journal(format: .none, logsRequests: false), workers: Workers(count: 1))
        func figures() -> Set<Substring> { Set(service.metrics.text(of: service).split(separator: "\n")) }
        #expect(figures().isSuperset(of: ["diffserver_draining 0", "diffserver_reload_success 1"]))
        service.announceEnd()
        service.metrics.reloaded(false)
        #expect(figures().isSuperset(of: ["diffserver_draining 1", "diffserver_reload_success 0"]))
        service.metrics.reloaded(true)
        #expect(figures().contains("diffserver_reload_success 1"))
        // Without TLS, and without a store, there is nothing to report.
        #expect(!figures().contains { $0.contains("certificate") || $0.contains("store_duration") })
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
