import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffStores
@testable import DiffUpstream

@Suite struct SourceRecordTests {
    private let start = Instant.now

    private func answer(
        _ status: Int = 200, etag: String? = nil, date: String? = nil, cache: String? = nil, age: String? = nil
    ) -> Transfer.Answer {
        Transfer.Answer(
            status: status, body: [], received: 0, etag: etag, lastModified: date, cacheControl: cache, age: age,
            retryAfter: nil, share: MemoryShare(of: MemoryBudget()))
    }

    private func record(_ steps: (inout SourceRecord) -> Void) -> SourceRecord {
        var record = SourceRecord(every: .seconds(5), at: start)
        steps(&record)
        return record
    }

    /// Seconds from the start until the source is asked again.
    private func due(_ record: SourceRecord) -> Double { (record.due - start) / .seconds(1) }

    @Test func `a source is asked an interval after it was asked`() {
        let quick = record {
            $0.succeed(answer(), every: .seconds(5), revision: nil, asked: start, at: start + .seconds(1))
        }
        #expect(due(quick) == 5)
        let slow = record {
            $0.succeed(answer(), every: .seconds(5), revision: nil, asked: start, at: start + .seconds(8))
        }
        #expect(due(slow) == 8)
    }

    @Test(
        arguments: [
            ("max-age=60", nil, 60.0), ("public, MAX-AGE=60", nil, 60), ("max-age=\"60\"", nil, 60),
            ("max-age=60", "20", 40), ("max-age=60", " 20 ", 40), ("max-age=60", "100", 5), ("max-age=2", nil, 5),
            ("max-age=999999999999", nil, 3600), ("max-age=-1", nil, 5), ("max-age=x", nil, 5),
            ("no-cache, max-age=60", nil, 5), ("max-age=0", "-9223372036854775808", 5),
            ("max-age=-9223372036854775808", "1", 5), ("max-age=60", "-9223372036854775808", 60),
            ("max-age=60", "9223372036854775807", 5),
            ("no-store", nil, 5), ("s-maxage=60", nil, 5),
        ] as [(String, String?, Double)])
    func `the interval is the longer of its own and the answer's`(cache: String, age: String?, seconds: Double) {
        let record = record {
            $0.succeed(answer(cache: cache, age: age), every: .seconds(5), revision: nil, asked: start, at: start)
        }
        #expect(due(record) == seconds)
    }

    @Test func `failures are further and further apart, with a limit`() {
        var record = record { _ in }
        var now = start
        var pauses: [Double] = []
        for _ in 0..<8 {
            record.fail(every: .seconds(5), retryAfter: nil, jitter: 0, at: now)
            pauses.append((record.due - now) / .seconds(1))
            now = record.due
        }
        #expect(pauses == [5, 10, 20, 40, 50, 50, 50, 50])
        record.fail(every: .seconds(5), retryAfter: nil, jitter: 1, at: now)
        #expect((record.due - now) / .seconds(1) == 37.5)
        record.fail(every: .seconds(3600), retryAfter: nil, jitter: 0, at: now)
        #expect((record.due - now) / .seconds(1) == 300)
    }

    @Test func `a source that asks to be left alone is, for an hour at most`() {
        let soon = record { $0.fail(every: .seconds(5), retryAfter: 120, jitter: 0, at: start) }
        #expect(due(soon) == 120)
        let never = record { $0.fail(every: .seconds(5), retryAfter: 1 << 40, jitter: 0, at: start) }
        #expect(due(never) == 3600)
    }

    @Test func `it is stale behind two intervals`() {
        var record = record {
            $0.succeed(answer(), every: .seconds(5), revision: nil, asked: start, at: start)
            $0.fail(every: .seconds(5), retryAfter: nil, jitter: 0, at: start + .seconds(5))
        }
        #expect(record.staleness(at: start + .seconds(10)) == nil)
        #expect(record.staleness(at: start + .milliseconds(10_001)) == 10)
        #expect(record.staleness(at: record.staleAt) == 10)
        #expect(record.isFresh(at: start + .seconds(4)))
        #expect(!record.isFresh(at: start + .seconds(5)))
        record.succeed(answer(304), every: .seconds(5), revision: nil, asked: start, at: start + .seconds(20))
        #expect(record.staleness(at: start + .seconds(30)) == nil)
    }

    @Test(arguments: ["\"a\u{0B}\"", "\"a\rX: 1\"", "\"a\u{7F}\"", ""])
    func `a validator that would not come back as it was is none`(text: String) {
        let record = record {
            $0.succeed(
                answer(etag: text, date: text), every: .seconds(5), revision: nil, asked: start, at: start)
        }
        #expect(record.validators == SourceValidators())
    }

    @Test func `validators stay until another state has come`() {
        let first = answer(etag: "\"1\"", date: "Mon, 23 Nov 2026 00:00:00 GMT")
        var record = record { $0.succeed(first, every: .seconds(5), revision: "1-a", asked: start, at: start) }
        let validators = SourceValidators(etag: "\"1\"", lastModified: "Mon, 23 Nov 2026 00:00:00 GMT")
        record.succeed(answer(304), every: .seconds(5), revision: "1-a", asked: start, at: start)
        #expect(record.validators == validators)
        record.fail(every: .seconds(5), retryAfter: nil, jitter: 0, at: start)
        #expect(record.validators == validators)
        record.succeed(answer(), every: .seconds(5), revision: "2-b", asked: start, at: start)
        #expect(record.validators == SourceValidators())
        record.succeed(first, every: .seconds(5), revision: "3-c", asked: start, at: start)
        record.forgetState(at: start)
        #expect(record.validators == SourceValidators() && record.revision == nil)
        let long = answer(etag: "\"" + String(repeating: "x", count: 2000) + "\"")
        record.succeed(long, every: .seconds(5), revision: "4-d", asked: start, at: start)
        #expect(record.validators == SourceValidators())
    }

    @Test func `what another node knows is taken over`() throws {
        let record = record {
            $0.succeed(answer(etag: "\"1\""), every: .seconds(5), revision: "1-a", asked: start, at: start)
            $0.fail(every: .seconds(5), retryAfter: nil, jitter: 0, at: start + .seconds(5))
        }
        let later = start + .seconds(9)
        let note = try #require(record.note(at: later))
        #expect(note.age == .seconds(9))
        var other = SourceRecord(every: .seconds(5), at: later)
        other.adopt(note, at: later)
        #expect(other.outcome == .failed)
        #expect(other.fetched == start)
        #expect((other.revision, other.validators.etag) == ("1-a", "\"1\""))
        #expect(other.failures == 1)
        // A younger one stays: the note was written before.
        other.succeed(answer(), every: .seconds(5), revision: "2-b", asked: later, at: later)
        other.adopt(note, at: later)
        #expect(other.fetched == later)
    }

    @Test func `other nodes are asked about a source that fails, once an interval`() {
        var record = record { $0.fail(every: .seconds(5), retryAfter: 60, jitter: 0, at: start) }
        #expect(record.nextTry(isSole: true) == start + .seconds(60))
        #expect(record.nextTry(isSole: false) == start + .seconds(5))
        record.begin(from: 0, every: .seconds(5), at: start + .seconds(5))
        #expect(record.nextTry(isSole: false) == start + .seconds(10))
        record.begin(from: 0, every: .seconds(5), at: start + .seconds(58))
        #expect(record.nextTry(isSole: false) == start + .seconds(60))
        record.succeed(answer(), every: .seconds(5), revision: nil, asked: start, at: start + .seconds(60))
        #expect(record.nextTry(isSole: false) == record.due)
    }

    @Test func `a turn is too early for a source that fails until it is due`() {
        var record = record { $0.fail(every: .seconds(5), retryAfter: 60, jitter: 0, at: start) }
        let later = start + .seconds(30)
        #expect(record.isTooEarly(at: later))
        #expect(!record.isTooEarly(at: start + .seconds(60)))
        record.succeed(answer(), every: .seconds(5), revision: nil, asked: later, at: later)
        #expect(!record.isTooEarly(at: later))
    }

    @Test func `other nodes are asked about a source at most once a second`() {
        var record = SourceRecord(every: .milliseconds(10), at: start)
        record.fail(every: .milliseconds(10), retryAfter: 60, jitter: 0, at: start)
        #expect(record.nextTry(isSole: false) == start + .seconds(1))
    }

    @Test func `a list that is not there is looked for again in ten seconds`() {
        let record = record { $0.noteMissing(at: start) }
        #expect(due(record) == 10)
        #expect(record.outcome == .missing)
    }
}
