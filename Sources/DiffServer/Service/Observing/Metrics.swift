// Counts and sums for Prometheus (text exposition format 0.0.4). No label ever holds the name of a session or a client:
// labels are routes, methods, statuses, reasons and kinds, each from a short list known beforehand.

import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit
import Synchronization

/// The counts of the service.
package final class Metrics: Sendable {
    /// The requests of one route and method. These and statuses are so few that a search costs less than hashing.
    private struct RequestTally {
        let route: AnswerLabel
        let method: String
        var statuses: [(status: Int, count: Int)] = []
        var durations = Histogram()

        mutating func add(_ status: Int) {
            let index = statuses.firstIndex { $0.status == status } ?? statuses.count
            if index == statuses.count { statuses.append((status, 0)) }
            statuses[index].count += 1
        }
    }

    /// Requests that last as long as their reader wants.
    private struct WaitTally {
        var open = 0
        /// From 0.26 s to 4.7 h.
        var durations = Histogram(10...26)
    }

    private struct Tally {
        var requests: [RequestTally] = []
        var waits: [AnswerLabel.Wait: WaitTally] = [:]
        var refusals: [ProblemType: Int] = [:]
        var publicAnswers: [AnswerLabel.Caching: Int] = [:]
        var bytesIn = 0
        var bytesOut = 0
        var resets: [ResetReason: Int] = [:]
        var operations = OperationCounts()
        var streamLag = Histogram()
        var storeConflicts = 0
        var storeFailures = 0
        /// Nil in a copy: the next request would copy what both share.
        var hot: HotSessions? = HotSessions()
    }

    private let tally = Locked(Tally())
    private let hasReloaded = Atomic<Bool>(true)

    package init() {}

    func count(_ exchange: ExchangeSummary, as label: AnswerLabel) {
        let (route, method) = (label.ofRoute, exchange.method?.countedName ?? "other")
        // Refusals do not count, nor streams, whose events have been counted.
        let isAnswer = exchange.status / 100 == 2 && label.wait != .stream || exchange.status == 304
        let subject = isAnswer ? exchange.note.subject.map(SpaceSaving.Key.init) : nil
        tally.withLock { tally in
            let index = tally.requests.firstIndex { $0.route == route && $0.method == method } ?? tally.requests.count
            if index == tally.requests.count { tally.requests.append(RequestTally(route: route, method: method)) }
            tally.requests[index].add(exchange.knownStatus)
            if let wait = label.wait {
                tally.waits[wait, default: WaitTally()].durations.add(nanoseconds: exchange.nanoseconds)
            } else if exchange.status != 0 {
                tally.requests[index].durations.add(nanoseconds: exchange.nanoseconds)
            }
            if let problem = label.problem { tally.refusals[problem, default: 0] += 1 }
            if let caching = label.caching { tally.publicAnswers[caching, default: 0] += 1 }
            if let subject {
                tally.hot?.count(exchange.bytesIn + exchange.bytesOut, of: subject, isWrite: exchange.isWrite)
            }
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

    func began(_ wait: AnswerLabel.Wait) { tally.withLock { $0.waits[wait, default: WaitTally()].open += 1 } }
    func ended(_ wait: AnswerLabel.Wait) { tally.withLock { $0.waits[wait, default: WaitTally()].open -= 1 } }

    /// Notes an event of a session, of `bytes`, and the time from the commit until it was sent.
    func streamed(_ bytes: Int, of session: String, lag: Duration) {
        let subject = SpaceSaving.Key(session)
        tally.withLock { tally in
            tally.streamLag.add(lag)
            tally.hot?.count(bytes, of: subject, isWrite: false)
        }
    }

    /// Notes that files were read again, all or not all of them.
    package func reloaded(_ isWhole: Bool) { hasReloaded.store(isWhole, ordering: .relaxed) }

    package func count(_ failure: StoreFailure) {
        tally.withLock { tally in
            switch failure {
            case .conflict: tally.storeConflicts += 1
            case .unavailable, .damaged: tally.storeFailures += 1
            case .capacity, .crowded, .full: break
            }
        }
    }

    func countConflict(of session: String) {
        count(.conflict)
        tally.withLock { $0.hot?.countConflict(of: SpaceSaving.Key(session)) }
    }

    /// What sessions are used for, in the last minute.
    var hot: HotSessions { tally.withLock { $0.hot ?? HotSessions() } }

    /// Lets what is older than a minute go. Called each second.
    func rotate(at now: Instant = .now) { tally.withLock { $0.hot?.rotate(at: now) } }

    func text(of service: DiffService) -> String {
        let tally = tally.withLock { tally in
            var copy = tally
            copy.hot = nil
            return copy
        }
        var statuses: [String: Int] = [:]
        for each in tally.requests {
            for (status, count) in each.statuses {
                statuses["route=\"\(each.route.route.rawValue)\",status=\"\(status)\"", default: 0] += count
            }
        }
        var text = MetricsText()
        text.family(
            "diffserver_requests_total", "counter",
            "Requests by route and status; 499 is a client that left before its answer.",
            statuses.sorted { $0.key < $1.key })
        let durations = tally.requests.map {
            ("route=\"\($0.route.route.rawValue)\",method=\"\($0.method)\"", $0.durations)
        }
        text.family(
            "diffserver_request_duration_seconds",
            "Time from the first byte of a request to the end of its answer; without held requests and streams.",
            durations.sorted { $0.0 < $1.0 })
        let waits = { (kind: AnswerLabel.Wait) in tally.waits[kind] ?? WaitTally() }
        text.family(
            "diffserver_held_duration_seconds", "Time that requests were held, and that streams were open.",
            AnswerLabel.Wait.allCases.map { ("kind=\"\($0.rawValue)\"", waits($0).durations) })
        text.gauge("diffserver_held_requests", "Requests held until there is news.", waits(.poll).open)
        text.gauge("diffserver_streams", "Open event streams.", waits(.stream).open)
        text.family(
            "diffserver_refusals_total", "counter", "Requests refused, by the type of the problem.",
            ProblemType.allCases.map { ("problem=\"\($0.name)\"", tally.refusals[$0] ?? 0) })
        text.family(
            "diffserver_answers_total", "counter",
            "Answers to readers without credentials, by what Cache-Control says.",
            AnswerLabel.Caching.allCases.map { ("cache=\"\($0.rawValue)\"", tally.publicAnswers[$0] ?? 0) })
        text.counter("diffserver_received_bytes_total", "Bytes received in requests.", tally.bytesIn)
        text.counter("diffserver_sent_bytes_total", "Bytes sent in answers.", tally.bytesOut)
        service.connections?.write(into: &text)
        service.table.write(into: &text)
        text.gauge(
            "diffserver_store_ready", "1 if the store can be reached and written, else 0.",
            service.store.availability == .whole ? 1 : 0)
        text.counter("diffserver_store_failures_total", "Times that the store failed a request.", tally.storeFailures)
        text.counter(
            "diffserver_store_conflicts_total", "Writes retried because another write came first.",
            tally.storeConflicts)
        let times = service.table.storeTimes.values
        if !times.isEmpty {
            text.family(
                "diffserver_store_duration_seconds", "Time that requests waited for the store, by what they asked for.",
                times.map { ("operation=\"\($0.operation.rawValue)\"", $0.times) })
        }
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
        let views = service.table.answers.views.counts
        text.counter("diffserver_views_let_go_total", "Views no longer kept, for lack of memory.", views.letGo)
        text.counter(
            "diffserver_views_made_anew_total", "Times that such a view was made of the whole list for its readers.",
            views.madeAnew)
        text.family(
            "diffserver_stream_lag_seconds", "Time from a commit until it was sent to a stream.",
            [("", tally.streamLag)])
        text.counter(
            "diffserver_log_lines_dropped_total", "Log lines dropped because the log was read too slowly.",
            service.journal.output.dropped)
        text.gauge("diffserver_draining", "1 while the process is about to end, else 0.", service.isDraining ? 1 : 0)
        text.gauge(
            "diffserver_reload_success", "0 if a file could not be used when it was last read again, else 1.",
            hasReloaded.load(ordering: .relaxed) ? 1 : 0)
        if let expiry = service.certificateExpiry {
            text.gauge(
                "diffserver_certificate_expiry_seconds",
                "Seconds until the certificate in use, or one of its chain, expires; negative once it has.",
                expiry - Int(WallTime.now.seconds))
        }
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

extension Method {
    /// The name under which requests are counted: a client may invent others.
    fileprivate var countedName: String { if case .other = self { "other" } else { name } }
}

extension ExchangeSummary {
    /// The status for the log and metrics: the answer's, or nginx's 499 if the client left before there was one.
    var knownStatus: Int { status == 0 ? 499 : status }

    fileprivate var isWrite: Bool {
        switch method {
        case .get, .head, nil: false
        default: true
        }
    }
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
    package mutating func family(_ name: String, _ help: String, _ histograms: [(String, Histogram)]) {
        begin(name, "histogram", help)
        for (labels, histogram) in histograms {
            let prefix = labels.isEmpty ? "" : labels + ","
            var sum = 0
            for (count, bound) in zip(histogram.counts, histogram.bounds.map { "\($0)" } + ["+Inf"]) {
                sum += count
                sample(name + "_bucket", "\(prefix)le=\"\(bound)\"", sum)
            }
            sample(name + "_sum", labels, histogram.sum)
            sample(name + "_count", labels, sum)
        }
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
        let text = Array(call.service.metrics.text(of: call.service).utf8)
        let fields: [Field] = .uncached("text/plain; version=0.0.4; charset=utf-8")
        return .now(Response(status: 200, fields: fields, body: .bytes(text), isCompressible: true))
    }
}
