import DiffClock
import Synchronization

/// Whether a store can be used. The log gets one line when an outage begins, with the reason, one for each new reason,
/// and one when everything works again.
public final class StoreHealth: Sendable {
    /// Something that fails and recovers on its own.
    public enum Part: Hashable, Sendable {
        case writes, reads
        case file
        /// Whether records have a format that this process reads.
        case records
        case revocations
        case slots
        /// A subscriber.
        case hints(ObjectIdentifier)
        case connection(ObjectIdentifier)
    }

    private struct State {
        var failing: Set<Part> = []
        var since = Instant.now
        /// The reasons of this outage that were logged.
        var reasons: Set<String> = []
        /// When a refusal was last logged.
        var refused: Instant?
    }

    /// The most reasons logged per outage: some name a number or a server, so there may be many.
    private static let mostReasons = 16

    private let state = Locked(State())
    private let isWhole = Atomic<Bool>(true)
    private let log: @Sendable (_ message: String, _ level: String) -> Void
    /// When the oldest open question was asked, in nanoseconds of `Instant`; `never` if all are answered.
    private let unanswered = Atomic<Int64>(Instant.never.nanoseconds)

    /// - Parameter log: takes a line; called under a lock.
    public init(_ log: @escaping @Sendable (_ message: String, _ level: String) -> Void = { _, _ in }) {
        self.log = log
    }

    /// Whether nothing is failing, without the lock.
    public var isHealthy: Bool { isWhole.load(ordering: .relaxed) }

    /// Since when a question is open; nil if all are answered.
    public var silentSince: Instant? {
        let first = unanswered.load(ordering: .relaxed)
        return first == Instant.never.nanoseconds ? nil : Instant(nanoseconds: first)
    }

    /// Records that the store is asked for a sign of life, as it is each second.
    public func asks(at now: Instant = .now) {
        _ = unanswered.compareExchange(
            expected: Instant.never.nanoseconds, desired: now.nanoseconds, ordering: .relaxed)
    }

    /// Records that the store has answered anything. Writes only if a question was open.
    public func answers() { if silentSince != nil { unanswered.store(Instant.never.nanoseconds, ordering: .relaxed) } }

    public func isFailing(_ part: Part) -> Bool { state.withLock { $0.failing.contains(part) } }

    /// Logs a problem that leaves the store usable.
    public func warn(_ message: String) { log(message, "warning") }

    /// Records that a write was refused, though the store takes small ones: logged at most once a minute.
    public func refuses(because reason: String, at now: Instant = .now) {
        let isNews = state.withLock { state in
            guard state.refused.map({ now - $0 >= .seconds(60) }) ?? true else { return false }
            state.refused = now
            return true
        }
        if isNews { warn("the store refused a write, and takes small ones: \(reason)") }
    }

    public func fail(_ part: Part, because reason: String, at now: Instant = .now) {
        state.withLock { state in
            let isFirst = state.failing.isEmpty
            if isFirst {
                (state.since, state.reasons) = (now, [])
                isWhole.store(false, ordering: .relaxed)
            }
            state.failing.insert(part)
            guard state.reasons.count < Self.mostReasons, state.reasons.insert(reason).inserted else { return }
            log(isFirst ? "store unavailable: \(reason)" : "store still unavailable: \(reason)", "error")
        }
    }

    public func recover(_ part: Part, at now: Instant = .now) {
        if isHealthy { return }
        state.withLock { state in
            guard state.failing.remove(part) != nil, state.failing.isEmpty else { return }
            isWhole.store(true, ordering: .relaxed)
            let tenths = Int((now - state.since) / .milliseconds(100))
            log("store available again after \(tenths / 10).\(tenths % 10) s", "info")
        }
    }
}
