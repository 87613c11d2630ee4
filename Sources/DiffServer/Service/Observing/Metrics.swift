// Counts and sums for Prometheus (text exposition format 0.0.4). No label ever holds the name of a session or a client:
// labels are routes, statuses, reasons and kinds, each from a short list that is known beforehand.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// What the service counts.
package final class Metrics: Sendable {
    /// The requests of one route. Routes and statuses are so few that a linear search costs less than hashing.
    private struct RouteTally {
        let route: String
        var statuses: [(status: Int, count: Int)] = []
        var durations = Histogram()

        mutating func add(_ status: Int, _ duration: Duration) {
            let index = statuses.firstIndex { $0.status == status } ?? statuses.count
            if index == statuses.count { statuses.append((status, 0)) }
            statuses[index].count += 1
            durations.add(duration)
        }
    }

    private struct Tally {
        var routes: [RouteTally] = []
        var bytesIn = 0
        var bytesOut = 0
        var resets: [ResetReason: Int] = [:]
        var operations = OperationCounts()
        var streamLag = Histogram()
        var streams = 0
        var storeConflicts = 0
        var storeFailures = 0
    }

    private let tally = Locked(Tally())

    package func count(_ exchange: ExchangeSummary) {
        let route = exchange.route.isEmpty ? "other" : exchange.route
        tally.withLock { tally in
            let index = tally.routes.firstIndex { $0.route == route } ?? tally.routes.count
            if index == tally.routes.count { tally.routes.append(RouteTally(route: route)) }
            tally.routes[index].add(exchange.knownStatus, exchange.duration)
            tally.bytesIn += exchange.bytesIn
            tally.bytesOut += exchange.bytesOut
        }
    }

    package func count(_ answer: ChangesAnswer) {
        tally.withLock { tally in
            if let reset = answer.reset { tally.resets[reset, default: 0] += 1 }
            tally.operations.deletions += answer.counts.deletions
            tally.operations.insertions += answer.counts.insertions
            tally.operations.moves += answer.counts.moves
            tally.operations.updates += answer.counts.updates
        }
    }

    func streamOpened() { tally.withLock { $0.streams += 1 } }
    func streamClosed() { tally.withLock { $0.streams -= 1 } }
    /// The time from a commit until a stream was told.
    func streamLagged(_ lag: Duration) { tally.withLock { $0.streamLag.add(lag) } }

    package func count(_ failure: StoreFailure) {
        tally.withLock { tally in
            switch failure {
            case .conflict: tally.storeConflicts += 1
            case .unavailable, .damaged: tally.storeFailures += 1
            case .capacity, .crowded, .full: break
            }
        }
    }

    // MARK: Text

    /// All of it.
    func text(of service: DiffService) -> String {
        let tally = tally.withLock { $0 }
        let routes = tally.routes.sorted { $0.route < $1.route }
        var text = MetricsText()
        text.family(
            "diffserver_requests_total", "counter", "Requests by route and status.",
            routes.flatMap { each in
                each.statuses.sorted(by: <).map { ("route=\"\(each.route)\",status=\"\($0.status)\"", $0.count) }
            })
        text.family(
            "diffserver_request_seconds", "Time from the first byte of a request to the end of its answer.",
            routes.map { ("route=\"\($0.route)\"", $0.durations) })
        text.counter("diffserver_received_bytes_total", "Bytes received in requests.", tally.bytesIn)
        text.counter("diffserver_sent_bytes_total", "Bytes sent in answers.", tally.bytesOut)
        service.connections?.write(into: &text)
        service.table.write(into: &text)
        text.gauge(
            "diffserver_store_ready", "1 if the store can be reached and written, else 0.",
            service.store.availability == .whole ? 1 : 0)
        text.counter(
            "diffserver_store_failures_total", "Requests that failed because of the store.", tally.storeFailures)
        text.counter(
            "diffserver_store_conflicts_total", "Writes retried because another write came first.",
            tally.storeConflicts)
        text.family(
            "diffserver_resets_total", "counter", "Answers with a whole state, by reason.",
            ResetReason.allCases.map { ("reason=\"\($0.rawValue)\"", tally.resets[$0] ?? 0) })
        let operations = tally.operations
        text.family(
            "diffserver_operations_total", "counter", "Operations in the changesets sent, by kind.",
            [
                ("kind=\"deletion\"", operations.deletions), ("kind=\"insertion\"", operations.insertions),
                ("kind=\"move\"", operations.moves), ("kind=\"update\"", operations.updates),
            ])
        text.gauge(
            "diffserver_memory_limit_bytes", "Limit on the sum of diffserver_memory_bytes: --memory.",
            service.table.account.limit)
        text.family(
            "diffserver_memory_bytes", "gauge",
            "Bytes of memory in use, by what for; sessions make room for the others.",
            ([("sessions", service.table.size.bytes)] + service.table.account.figures).map { ("part=\"\($0)\"", $1) })
        text.gauge("diffserver_streams", "Open event streams.", tally.streams)
        text.family(
            "diffserver_stream_lag_seconds", "Time from a commit until it was sent to a stream.",
            [("", tally.streamLag)])
        text.counter(
            "diffserver_log_lines_dropped_total", "Log lines dropped because the log was read too slowly.",
            service.journal.output.dropped)
        service.figures(&text)
        service.source?.write(into: &text)
        return text.text
    }
}

extension Server.Counters {
    func write(into text: inout MetricsText) {
        text.gauge("diffserver_connections", "Open connections, and lost ones with unfinished work.", openConnections)
        text.gauge("diffserver_connections_limit", "Limit on open connections.", connectionLimit)
        text.counter("diffserver_connections_accepted_total", "Connections accepted.", acceptedConnections)
        text.counter("diffserver_connections_refused_total", "Connections refused at the limit.", refusedConnections)
        text.counter(
            "diffserver_peer_connections_refused_total", "Connections refused at the limit per address.",
            refusedConnectionsOfPeers)
        text.counter(
            "diffserver_connections_relieved_total",
            "Connections closed because too many bytes were waiting for their clients.", relievedConnections)
        text.counter(
            "diffserver_accept_pauses_total", "Times that accepting was paused for lack of file descriptors or memory.",
            acceptPauses)
    }
}

extension SessionTable {
    fileprivate func write(into text: inout MetricsText) {
        let ((sessions, bytes), counts) = (size, counters.values)
        text.gauge("diffserver_sessions", "Sessions in memory.", sessions)
        text.gauge("diffserver_session_bytes", "Bytes of the snapshots and history of these sessions.", bytes)
        text.counter("diffserver_sessions_created_total", "Sessions created.", counts.creations)
        text.counter("diffserver_commits_total", "New revisions of sessions.", counts.commits)
        text.counter("diffserver_evictions_total", "Sessions evicted from memory to make room.", counts.evictions)
        text.counter("diffserver_expirations_total", "Sessions that expired.", counts.expirations)
    }
}

/// How many durations were at most as long as each bound.
struct Histogram: Sendable {
    static let bounds: [Duration] = [
        .microseconds(100), .microseconds(500), .milliseconds(1), .milliseconds(5), .milliseconds(10),
        .milliseconds(50), .milliseconds(100), .milliseconds(500), .seconds(1), .seconds(5), .seconds(30), .seconds(60),
    ]

    private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    private(set) var sum = Duration.zero

    mutating func add(_ time: Duration) {
        counts[Self.bounds.firstIndex { time <= $0 } ?? Self.bounds.count] += 1
        sum += time
    }
}

extension ExchangeSummary {
    /// The status for the log and metrics: the answer's, or 499 if the client left before there was one. The number is
    /// nginx's; no client ever sees it.
    var knownStatus: Int { status == 0 ? 499 : status }
}

/// Lines of the exposition format.
package struct MetricsText {
    private(set) var text = ""

    package mutating func counter(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        family(name, "counter", help, [("", value)])
    }

    package mutating func gauge(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        family(name, "gauge", help, [("", value)])
    }

    package mutating func family(
        _ name: String, _ type: String, _ help: String, _ samples: [(String, some CustomStringConvertible)]
    ) {
        begin(name, type, help)
        for (labels, value) in samples { sample(name, labels, value) }
    }

    /// Histograms, in seconds.
    mutating func family(_ name: String, _ help: String, _ histograms: [(String, Histogram)]) {
        begin(name, "histogram", help)
        for (labels, histogram) in histograms { samples(name, labels, histogram) }
    }

    /// The samples of one histogram, in seconds.
    mutating func samples(_ name: String, _ labels: String, _ histogram: Histogram) {
        let prefix = labels.isEmpty ? "" : labels + ","
        var sum = 0
        for (index, count) in histogram.counts.enumerated() {
            sum += count
            let bound = index < Histogram.bounds.count ? "\(Histogram.bounds[index] / .seconds(1))" : "+Inf"
            sample(name + "_bucket", "\(prefix)le=\"\(bound)\"", sum)
        }
        sample(name + "_sum", labels, histogram.sum / .seconds(1))
        sample(name + "_count", labels, sum)
    }

    private mutating func begin(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    private mutating func sample(_ name: String, _ labels: String, _ value: some CustomStringConvertible) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }
}

/// Figures for Prometheus.
enum GetMetrics {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        .now(
            Response(
                status: 200,
                fields: [
                    Field("Content-Type", "text/plain; version=0.0.4; charset=utf-8"),
                    Field("Cache-Control", "no-store"),
                ],
                body: .bytes(Array(call.service.metrics.text(of: call.service).utf8)), isCompressible: true))
    }
}
