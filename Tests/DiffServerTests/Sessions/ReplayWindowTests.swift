import HTTPCore
import SnapshotKit
import Testing

@testable import diffserver

@Suite struct ReplayWindowTests {
    private let start = Instant.now

    private func entry(_ fingerprint: UInt64, at moment: Instant) -> ReplayWindow.Entry {
        ReplayWindow.Entry(fingerprint: RequestFingerprint(value: fingerprint), made: false, before: nil, done: moment)
    }

    private func key(_ text: String, by writer: String = "w") -> ReplayWindow.Key { .init(writer: writer, key: text) }

    @Test(arguments: [(0, true), (599, true), (600, true), (601, false), (100_000, false)])
    func `a write is known for ten minutes`(_ seconds: Int, _ isKnown: Bool) {
        var window = ReplayWindow()
        window.remember(entry(1, at: start), by: key("k"))
        #expect((window.entry(key("k"), at: start + .seconds(seconds)) != nil) == isKnown)
    }

    @Test func `sixty-four are known, and the oldest goes`() {
        var window = ReplayWindow()
        for number in 0..<64 {
            window.remember(entry(UInt64(number), at: start + .seconds(number)), by: key("\(number)"))
        }
        let now = start + .seconds(64)
        #expect(window.entry(key("0"), at: now)?.fingerprint.value == 0)
        window.remember(entry(64, at: now), by: key("64"))
        #expect(window.entry(key("0"), at: now) == nil)
        #expect((1...64).allSatisfy { window.entry(key("\($0)"), at: now)?.fingerprint.value == UInt64($0) })
        #expect(window.entries.count == 64)
    }

    @Test func `what is too old makes room before what is not`() {
        var window = ReplayWindow()
        window.remember(entry(1, at: start), by: key("old"))
        for number in 0..<63 { window.remember(entry(2, at: start + .seconds(600)), by: key("\(number)")) }
        window.remember(entry(3, at: start + .seconds(601)), by: key("new"))
        #expect(window.entries.count == 64)
        #expect(window.entry(key("0"), at: start + .seconds(601)) != nil)
    }

    @Test func `keys of two writers never meet`() {
        var window = ReplayWindow()
        window.remember(entry(1, at: start), by: key("k", by: "a"))
        #expect(window.entry(key("k", by: "b"), at: start) == nil)
        window.remember(entry(2, at: start), by: key("k", by: "b"))
        #expect(window.entry(key("k", by: "a"), at: start)?.fingerprint.value == 1)
    }

    @Test func `two windows of one session make one`() {
        var common = ReplayWindow()
        common.remember(entry(1, at: start), by: key("common"))
        var (one, other) = (common, common)
        one.remember(entry(2, at: start), by: key("one"))
        other.remember(entry(3, at: start), by: key("other"))
        one.formUnion(other, at: start)
        #expect(one.entries.map(\.key.key) == ["common", "one", "other"])
        one.formUnion(common, at: start)
        #expect(one.entries.count == 3)
    }

    @Test func `what is too old does not come back with another window`() {
        var old = ReplayWindow()
        old.remember(entry(1, at: start), by: key("k"))
        var window = ReplayWindow()
        window.formUnion(old, at: start + .seconds(601))
        #expect(window.entries.isEmpty)
    }

    @Test func `long keys are counted as such`() {
        var window = ReplayWindow()
        window.remember(
            entry(1, at: start), by: key(String(repeating: "k", count: 255), by: String(repeating: "w", count: 500)))
        #expect(window.footprint > 755)
    }
}
