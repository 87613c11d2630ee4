import HTTPCore

/// Sources that fail: a line of the log for the first session of a list, and one when all answer again, however many
/// sessions and tries there are.
final class Outages: Sendable {
    private struct State {
        /// Sessions whose sources fail, each with the name of its list in the file.
        var failing: [String: String] = [:]
        /// How many these are of each list.
        var counts: [String: Int] = [:]

        /// Whether the list of a session has another one that fails.
        mutating func remove(_ session: String) -> Bool {
            guard let list = failing.removeValue(forKey: session), let count = counts[list] else { return true }
            counts[list] = count > 1 ? count - 1 : nil
            return count > 1
        }
    }

    private let state = Locked(State())

    func begin(_ session: String, _ definition: ListDefinition, because reason: String, _ journal: Journal) {
        let list = definition.name.text
        let isFirst = state.withLock { state in
            guard state.failing.updateValue(list, forKey: session) == nil else { return false }
            state.counts[list, default: 0] += 1
            return state.counts[list] == 1
        }
        guard isFirst else { return }
        journal.log(
            "the source of a list fails: \(reason)", level: "warning",
            [("list", .text(list)), ("session", .text(session))])
    }

    func end(_ session: String, _ definition: ListDefinition, _ journal: Journal) {
        guard !state.withLock({ $0.remove(session) }) else { return }
        let list = definition.name.text
        journal.log("the source of a list is back", [("list", .text(list)), ("session", .text(session))])
    }

    /// Nobody asks the source of a session any more.
    func forget(_ session: String) { state.withLock { _ = $0.remove(session) } }
}
