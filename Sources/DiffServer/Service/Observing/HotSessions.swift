import HTTPCore

/// What sessions are used for most: in the current half minute, and in the one before. It takes 60 KB.
struct HotSessions: Sendable {
    /// What sessions are compared by.
    enum Measure: String, CaseIterable, Sendable {
        case writes, readers, bytes, conflicts
    }

    /// A session and the bounds of its count: from `count - error` to `count`.
    struct Entry: Equatable {
        let session: String
        var count = 0
        var error = 0
    }

    private struct Window {
        let began: Instant
        var writes = SpaceSaving()
        var bytes = SpaceSaving()
        var conflicts = SpaceSaving()
    }

    private static let length = Duration.seconds(30)
    private var last, current: Window

    init(at now: Instant = .now) {
        current = Window(began: now)
        last = current
    }

    @inline(__always)
    mutating func count(_ bytes: Int, of session: SpaceSaving.Key, isWrite: Bool) {
        current.bytes.add(bytes, to: session)
        if isWrite { current.writes.add(1, to: session) }
    }

    mutating func countConflict(of session: SpaceSaving.Key) { current.conflicts.add(1, to: session) }

    /// Begins the next half minute if it is time.
    mutating func rotate(at now: Instant) {
        if now - current.began >= Self.length { (last, current) = (current, Window(began: now)) }
    }

    /// How long it has counted, in whole seconds: half a minute to a minute, unless it began later.
    func seconds(at now: Instant = .now) -> Int { Int(((now - last.began) / .seconds(1)).rounded(.up)) }

    /// The sessions with the highest counts, in order. Readers are not counted here.
    func top(_ limit: Int, by measure: Measure) -> [Entry] {
        let path = [Measure.writes: \Window.writes, .bytes: \.bytes][measure] ?? \.conflicts
        let sketches = [last[keyPath: path], current[keyPath: path]]
        var seen: Set<UInt64> = []
        let keys = sketches.flatMap(\.keys).filter { seen.insert($0.hash).inserted }
        let entries = keys.map { key in
            sketches.map { $0.estimate(of: key) }.reduce(into: Entry(session: key.name)) {
                $0.count += $1.count
                $0.error += $1.error
            }
        }
        return Array(entries.sorted { ($1.count, $0.session) < ($0.count, $1.session) }.prefix(limit))
    }
}
