import HTTPCore

/// What came of asking sources, by the lists' names in the file: a session's name is no label.
final class SourceTallies: Sendable {
    private struct Tally {
        var outcomes: [SourceNote.Outcome: Int] = [:]
        var notModified = 0
        var bytes = 0
    }

    private let tallies = Locked<[String: Tally]>([:])

    func count(_ answer: Transfer.Answer, _ list: String) {
        tallies.withLock { tallies in
            tallies[list, default: Tally()].bytes += answer.received
            if answer.status == 304 { tallies[list, default: Tally()].notModified += 1 }
        }
    }

    func count(_ outcome: SourceNote.Outcome, _ list: String) {
        tallies.withLock { $0[list, default: Tally()].outcomes[outcome, default: 0] += 1 }
    }

    /// - Parameter ages: for each list, the seconds since a source last answered, of the session with the oldest
    ///   answer.
    func write(_ ages: [(list: String, seconds: Int)], into text: inout MetricsText) {
        let tallies = tallies.withLock { $0 }.sorted { $0.key < $1.key }.map { ("list=\"\($0.key)\"", $0.value) }
        text.family(
            "diffserver_source_fetches_total", "counter", "Requests to sources, by what came of them.",
            tallies.flatMap { label, tally in
                [SourceNote.Outcome.fetched, .failed, .missing].map {
                    ("\(label),outcome=\"\($0.rawValue)\"", tally.outcomes[$0] ?? 0)
                }
            })
        text.family(
            "diffserver_source_not_modified_total", "counter", "Answers of sources without a body (304).",
            tallies.map { ($0, $1.notModified) })
        text.family(
            "diffserver_source_received_bytes_total", "counter", "Bytes of sources' answers.",
            tallies.map { ($0, $1.bytes) })
        text.family(
            "diffserver_source_age_seconds", "gauge", "Since a source last answered, at most.",
            ages.map { ("list=\"\($0.list)\"", $0.seconds) })
    }
}
