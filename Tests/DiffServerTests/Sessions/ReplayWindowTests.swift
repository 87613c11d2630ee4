import HTTPCore
import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

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
    }

    @Test func `each writer has sixty-four, and all together 4,096`() {
        var window = ReplayWindow()
        window.remember(entry(7, at: start), by: key("first", by: "quiet"))
        for number in 0..<1000 { window.remember(entry(UInt64(number), at: start), by: key("\(number)", by: "busy")) }
        #expect(window.entry(key("first", by: "quiet"), at: start)?.fingerprint.value == 7)
        #expect((0..<1000).filter { window.entry(key("\($0)", by: "busy"), at: start) != nil } == Array(936..<1000))
        #expect(window.entries.count < 256)
        for number in 0..<10_000 {
            window.remember(entry(UInt64(number), at: start), by: key("k", by: "writer \(number)"))
            #expect(window.entries.count <= ReplayWindow.capacity)
        }
        let known = (0..<10_000).filter { window.entry(key("k", by: "writer \($0)"), at: start) != nil }
        #expect(known.count > 4_000 && known == Array(10_000 - known.count..<10_000))
        #expect(window.entry(key("first", by: "quiet"), at: start) == nil)
    }

    @Test func `a version keeps what it has, whatever later ones forget`() {
        var window = ReplayWindow()
        for number in 0..<100 { window.remember(entry(UInt64(number), at: start), by: key("\(number)")) }
        let before = window
        for number in 100..<300 { window.remember(entry(UInt64(number), at: start), by: key("\(number)")) }
        #expect(
            before.entry(key("99"), at: start)?.fingerprint.value == 99 && before.entry(key("100"), at: start) == nil)
        #expect(window.newest(since: before)?.key == key("299") && window.newest(since: window) == nil)
    }

    @Test func `what is too old makes room before what is not`() {
        var window = ReplayWindow()
        window.remember(entry(1, at: start), by: key("old"))
        for number in 0..<63 { window.remember(entry(2, at: start + .seconds(600)), by: key("\(number)")) }
        window.remember(entry(3, at: start + .seconds(601)), by: key("new"))
        #expect(window.entry(key("old"), at: start + .seconds(601)) == nil)
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
