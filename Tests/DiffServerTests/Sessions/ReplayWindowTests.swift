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

    /// The numbers of a writer's remembered keys. The first and last keys are looked up as well.
    private func known(_ numbers: Range<Int>, of writer: String, in window: ReplayWindow) -> [Int] {
        let keys = Set(window.remembered(at: start).map(\.key))
        let found = numbers.filter { keys.contains(key("\($0)", by: writer)) }
        for number in [numbers.lowerBound, found.first ?? 0, numbers.upperBound - 1] {
            let entry = window.entry(key("\(number)", by: writer), at: start)
            #expect(entry?.fingerprint.value == (found.contains(number) ? UInt64(number) : nil))
        }
        return found
    }

    private func remember(_ numbers: Range<Int>, of writer: String, in window: inout ReplayWindow) {
        for number in numbers { window.remember(entry(UInt64(number), at: start), by: key("\(number)", by: writer)) }
    }

    @Test func `one writer has all the room, and its oldest goes`() {
        var window = ReplayWindow()
        remember(0..<4_096, of: "w", in: &window)
        #expect(known(0..<4_096, of: "w", in: window).count == 4_096)
        for end in 4_097...4_800 {
            remember(end - 1..<end, of: "w", in: &window)
            if end % 200 == 0 || end == 4_097 {
                #expect(known(0..<end, of: "w", in: window) == Array(end - 4_096..<end))
            }
        }
        #expect(window.entries.count < 5_000)
    }

    @Test func `where there is no room, the writer with most gives way`() {
        var window = ReplayWindow()
        remember(0..<1, of: "quiet", in: &window)
        remember(0..<5_000, of: "busy", in: &window)
        #expect(known(0..<1, of: "quiet", in: window) == [0])
        #expect(known(0..<5_000, of: "busy", in: window) == Array(905..<5_000))
        remember(0..<1_000, of: "third", in: &window)
        #expect(known(0..<1_000, of: "third", in: window).count == 1_000)
        #expect(known(0..<5_000, of: "busy", in: window) == Array(1_905..<5_000))
        remember(1_000..<4_000, of: "third", in: &window)
        #expect(known(0..<1, of: "quiet", in: window) == [0])
        let (busy, third) = (known(0..<5_000, of: "busy", in: window), known(0..<4_000, of: "third", in: window))
        #expect(busy.count + third.count == 4_095 && abs(busy.count - third.count) == 1)
        #expect(busy == Array(5_000 - busy.count..<5_000) && third == Array(4_000 - third.count..<4_000))
    }

    @Test func `thousands of writers have one each, the newest`() {
        var window = ReplayWindow()
        for number in 0..<10_000 { remember(number..<number + 1, of: "writer \(number)", in: &window) }
        let writers = window.remembered(at: start).map(\.key.writer)
        #expect(writers == (5_904..<10_000).map { "writer \($0)" })
    }

    @Test func `a key that is remembered again is so once, and last`() {
        var window = ReplayWindow()
        remember(0..<200, of: "w", in: &window)
        for number in [150, 10, 199] { window.remember(entry(7, at: start), by: key("\(number)")) }
        #expect(window.entries.count == 200 && window.entries.suffix(3).map(\.key.key) == ["150", "10", "199"])
        #expect(window.entry(key("10"), at: start)?.fingerprint.value == 7)
        let read = ReplayWindow(window.entries)
        #expect(read.entries.map(\.key) == window.entries.map(\.key) && read.count == 200)
    }

    @Test func `what has expired leaves memory, and takes no room`() {
        var window = ReplayWindow()
        remember(0..<4_096, of: "w", in: &window)
        let now = start + .seconds(601)
        for number in 0..<64 { window.remember(entry(1, at: now), by: key("\(number)", by: "new")) }
        #expect(window.entries.count == 64)
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
