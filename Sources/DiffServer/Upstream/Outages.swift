import HTTPCore

/// Sources that fail: a line of the log when it begins and one when it is over, however many tries there are. Where
/// those of many sessions of one list fail at once, the first ones tell of it.
final class Outages: Sendable {
    private struct State {
        /// Sessions whose sources fail, and whether the log says so.
        var failing: [String: Bool] = [:]
        /// How many of them the log tells of, by the names of their lists in the file.
        var told: [String: Int] = [:]
    }

    private let state = Locked(State())

    /// Sessions of one list that are told of at a time.
    private static let mostTold = 64

    func begin(_ session: String, _ definition: ListDefinition, because reason: String, _ journal: Journal) {
        let list = definition.name.text
        let isTold = state.withLock { state in
            guard state.failing[session] == nil else { return false }
            let told = state.told[list] ?? 0
            state.failing[session] = told < Self.mostTold
            if told < Self.mostTold { state.told[list] = told + 1 }
            return told < Self.mostTold
        }
        guard isTold else { return }
        journal.log(
            "list source fails: \(reason)", level: "warning",
            [("list", .text(list)), ("session", .text(session))])
    }

    /// The source answers again, of which this node may not have known that it failed.
    func end(_ session: String, _ definition: ListDefinition, _ journal: Journal) {
        let list = definition.name.text
        guard forget(session, of: list) != false else { return }
        journal.log(
            "list source is back", level: "info", [("list", .text(list)), ("session", .text(session))])
    }

    /// Another node says that the source answers again, or nobody asks it any more.
    ///
    /// - Returns: whether the log tells of it; nil if this node has not found it failing.
    @discardableResult
    func forget(_ session: String, of list: String?) -> Bool? {
        state.withLock { state in
            let wasTold = state.failing.removeValue(forKey: session)
            if wasTold == true, let list, let told = state.told[list] { state.told[list] = told > 1 ? told - 1 : nil }
            return wasTold
        }
    }
}
