import HTTPCore

/// What came of asking sources, by the names in the file: a session's name is no label.
final class SourceTallies: Sendable {
    /// Of one list of the file.
    private struct Tally {
        var outcomes: [SourceNote.Outcome: Int] = [:]
        var notModified = 0
        var bytes = 0
    }

    private let tallies = Locked<[String: Tally]>([:])

    /// Counts what an answer took.
    func count(_ answer: Transfer.Answer, _ list: String) {
        tallies.withLock { tallies in
            tallies[list, default: Tally()].bytes += answer.received
            if answer.status == 304 { tallies[list, default: Tally()].notModified += 1 }
        }
    }

    /// Counts what a request came to.
    func count(_ outcome: SourceNote.Outcome, _ list: String) {
        tallies.withLock { $0[list, default: Tally()].outcomes[outcome, default: 0] += 1 }
    }

    /// Writes all there is.
    ///
    /// - Parameter ages: for each list, how many seconds ago a source last answered, of the session for which that is
    ///   longest ago.
    func write(_ ages: [(list: String, seconds: Int)], into text: inout MetricsText) {
        let tallies = tallies.withLock { $0 }.sorted { $0.key < $1.key }
        text.family("diffserver_source_fetches_total", "counter", "Requests to sources, by what came of them.")
        for (list, tally) in tallies {
            for outcome in [SourceNote.Outcome.fetched, .failed, .missing] {
                let labels = "list=\"\(list)\",outcome=\"\(outcome.rawValue)\""
                text.sample("diffserver_source_fetches_total", labels, tally.outcomes[outcome] ?? 0)
            }
        }
        text.family("diffserver_source_not_modified_total", "counter", "Answers of sources without a body (304).")
        for (list, tally) in tallies {
            text.sample("diffserver_source_not_modified_total", "list=\"\(list)\"", tally.notModified)
        }
        text.family("diffserver_source_received_bytes_total", "counter", "Bytes of sources' answers.")
        for (list, tally) in tallies {
            text.sample("diffserver_source_received_bytes_total", "list=\"\(list)\"", tally.bytes)
        }
        text.family("diffserver_source_age_seconds", "gauge", "Since a source last answered, at most.")
        for (list, seconds) in ages { text.sample("diffserver_source_age_seconds", "list=\"\(list)\"", seconds) }
    }
}
