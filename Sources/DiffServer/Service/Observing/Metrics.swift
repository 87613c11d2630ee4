// Counts and sums for Prometheus (its text exposition format 0.0.4). No label ever holds a session's or a client's
// name: labels are routes, statuses, reasons and kinds, all of them short lists known beforehand.

import HTTPCore
import SnapshotKit

/// What the service counts.
final class Metrics: Sendable {
    /// The requests of one route. They are so few, and so are their statuses, that to look through them costs less than
    /// to hash one.
    private struct RouteTally {
        let route: String
        var statuses: [(status: Int, count: Int)] = []
        var durations = Histogram()

        mutating func add(_ status: Int, _ duration: Duration) {
            if let index = statuses.firstIndex(where: { $0.status == status }) {
                statuses[index].count += 1
            } else {
                statuses.append((status, 1))
            }
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

    func count(_ exchange: ExchangeSummary) {
        let route = exchange.route.isEmpty ? "other" : exchange.route
        tally.withLock { tally in
            let index = tally.routes.firstIndex { $0.route == route } ?? tally.routes.count
            if index == tally.routes.count { tally.routes.append(RouteTally(route: route)) }
            tally.routes[index].add(exchange.knownStatus, exchange.duration)
            tally.bytesIn += exchange.bytesIn
            tally.bytesOut += exchange.bytesOut
        }
    }

    func count(_ answer: ChangesAnswer) {
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
    /// Time from a commit until a stream was told.
    func streamLagged(_ lag: Duration) { tally.withLock { $0.streamLag.add(lag) } }

    /// A store did not do what it was asked.
    func count(_ failure: StoreFailure) {
        tally.withLock { tally in
            switch failure {
            case .conflict: tally.storeConflicts += 1
            case .unavailable, .damaged: tally.storeFailures += 1
            case .capacity: break
            }
        }
    }

    // MARK: Text

    /// All of it.
    func text(
        _ store: any SessionStore, _ connections: Server.Counters?, _ log: LogOutput, _ upstream: Upstream?
    ) -> String {
        let tally = tally.withLock { $0 }
        var text = MetricsText()
        text.family("diffserver_requests_total", "counter", "Requests by route and status.")
        let routes = tally.routes.sorted { $0.route < $1.route }
        for each in routes {
            for (status, count) in each.statuses.sorted(by: <) {
                text.sample("diffserver_requests_total", "route=\"\(each.route)\",status=\"\(status)\"", count)
            }
        }
        text.family(
            "diffserver_request_seconds", "histogram", "From the first byte of a request to the end of its answer.")
        for each in routes {
            text.samples("diffserver_request_seconds", "route=\"\(each.route)\"", each.durations)
        }
        text.single("diffserver_received_bytes_total", "counter", "Bytes of requests.", tally.bytesIn)
        text.single("diffserver_sent_bytes_total", "counter", "Bytes of answers.", tally.bytesOut)
        text.single("diffserver_connections", "gauge", "Open connections.", connections?.openConnections ?? 0)
        text.single(
            "diffserver_connections_limit", "gauge", "Open connections at most.", connections?.connectionLimit ?? 0)
        text.single(
            "diffserver_connections_accepted_total", "counter", "Connections accepted.",
            connections?.acceptedConnections ?? 0)
        text.single(
            "diffserver_connections_refused_total", "counter", "Connections refused at the limit.",
            connections?.refusedConnections ?? 0)
        text.single(
            "diffserver_peer_connections_refused_total", "counter",
            "Connections refused at the limit of their address.",
            connections?.refusedConnectionsOfPeers ?? 0)
        text.single(
            "diffserver_accept_pauses_total", "counter",
            "Times that no file descriptor or memory was left for a connection.",
            connections?.acceptPauses ?? 0)
        let (sessions, bytes) = store.table.size
        text.single("diffserver_sessions", "gauge", "Sessions in memory.", sessions)
        text.single("diffserver_session_bytes", "gauge", "Bytes of their snapshots and history.", bytes)
        let counts = store.table.counters.values
        text.single("diffserver_sessions_created_total", "counter", "Sessions made.", counts.creations)
        text.single("diffserver_commits_total", "counter", "New revisions of sessions.", counts.commits)
        text.single(
            "diffserver_evictions_total", "counter", "Sessions evicted from memory to make room.", counts.evictions)
        text.single(
            "diffserver_expirations_total", "counter", "Sessions whose time to live passed.", counts.expirations)
        text.single(
            "diffserver_store_ready", "gauge", "Whether the store can be reached and written.", store.isReady ? 1 : 0)
        text.single(
            "diffserver_store_failures_total", "counter", "Requests that failed because of the store.",
            tally.storeFailures)
        text.single(
            "diffserver_store_conflicts_total", "counter", "Writes retried because another was faster.",
            tally.storeConflicts)
        text.family("diffserver_resets_total", "counter", "Answers with a whole state, by reason.")
        for reason in ResetReason.allCases {
            text.sample("diffserver_resets_total", "reason=\"\(reason.rawValue)\"", tally.resets[reason] ?? 0)
        }
        text.family("diffserver_operations_total", "counter", "Operations of changesets that were sent, by kind.")
        for (kind, count) in [
            ("deletion", tally.operations.deletions), ("insertion", tally.operations.insertions),
            ("move", tally.operations.moves), ("update", tally.operations.updates),
        ] {
            text.sample("diffserver_operations_total", "kind=\"\(kind)\"", count)
        }
        text.single("diffserver_streams", "gauge", "Open event streams.", tally.streams)
        text.family("diffserver_stream_lag_seconds", "histogram", "From a commit until a stream was told.")
        text.samples("diffserver_stream_lag_seconds", "", tally.streamLag)
        text.single(
            "diffserver_log_lines_dropped_total", "counter", "Log lines dropped because the log was read too slowly.",
            log.dropped)
        ProcessFigures().write(into: &text)
        if let upstream { upstream.tallies.write(upstream.ages, into: &text) }
        return text.text
    }
}

/// How many times were at most so long.
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
    /// The status in the log and in metrics: that of the answer, or 499 where the client went away before there was
    /// one. nginx gave operators that number; no client ever sees it.
    var knownStatus: Int { status == 0 ? 499 : status }
}

/// Lines of the exposition format.
struct MetricsText {
    private(set) var text = ""

    mutating func family(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func sample(_ name: String, _ labels: String, _ value: some CustomStringConvertible) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    mutating func single(_ name: String, _ type: String, _ help: String, _ value: Int) {
        family(name, type, help)
        sample(name, "", value)
    }

    /// A histogram, in seconds.
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
}
