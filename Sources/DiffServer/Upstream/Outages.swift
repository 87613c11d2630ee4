import DiffService
import HTTPCore
import SnapshotKit

/// Logs failing sources, hooks that fail or refuse their calls, and guesses of shapes. An outage is one line when it
/// begins and one when it ends. If many sessions of one list fail at once, only the first ones are named.
final class Outages: Sendable {
    private struct State {
        /// Sessions whose sources fail, with their lists, and whether the log names them.
        var failing: [SourceName: (list: String, isLogged: Bool)] = [:]
        /// How many of them the log names, by list.
        var logged: [String: Int] = [:]
        var mended: [Mending: Set<SourceName>] = [:]
        /// Lists whose hooks refuse their calls, and those whose hooks do not decide, with their decisions since.
        var refusing: Set<String> = []
        var undecided: [String: Int] = [:]
    }

    /// Faults of an answer that a list does not stop for.
    private enum Mending: CaseIterable { case halfCharacters, omissions }

    private let state = Locked(State())
    private let journal: Journal

    /// The most sessions of one list that the log names at a time.
    private static let maxLogged = 64
    /// The decisions in a row after which a hook is back: of a list's hooks, only one may fail.
    private static let decisionsOfHealth = 3
    /// The most sessions that the log names at a time for one kind of mending.
    private static let maxMended = 256

    init(_ journal: Journal) { self.journal = journal }

    func begin(_ session: SourceName, of list: String, because reason: String) {
        let isLogged = state.withLock { state in
            guard state.failing[session] == nil else { return false }
            let isLogged = state.logged[list, default: 0] < Self.maxLogged
            state.failing[session] = (list, isLogged)
            if isLogged { state.logged[list, default: 0] += 1 }
            return isLogged
        }
        if isLogged { log("list source fails: \(reason)", session, list, level: "warning") }
    }

    /// The source answers again. This node may not have known that it failed.
    func end(_ session: SourceName, of list: String) {
        if forget(session) != false { log("list source is back", session, list) }
    }

    /// - Returns: whether the log names the session; nil if this node did not know of a failure.
    @discardableResult
    func forget(_ session: SourceName) -> Bool? {
        state.withLock { state in
            guard let (list, isLogged) = state.failing.removeValue(forKey: session) else { return nil }
            if isLogged { state.logged[list, default: 1] -= 1 }
            return isLogged
        }
    }

    func replaced(_ count: Int, in session: SourceName, of list: String) {
        note(.halfCharacters, isSo: count > 0, in: session, of: list) {
            "list source sent half characters: \(count) lone surrogates became U+FFFD"
        }
    }

    func omitted(_ warnings: [StateWarning], in session: SourceName, of list: String) {
        let pointers = warnings.filter { $0.code != "no-group" }.map(\.pointer)
        note(.omissions, isSo: !pointers.isEmpty, in: session, of: list) {
            let others = pointers.count > 1 ? ", and \(pointers.count - 1) more" : ""
            return "list source repeats ids, or lacks them: left out what is at \(pointers[0])\(others)"
        }
    }

    /// Forgets a list that has lost its readers.
    func forgetAll(of session: SourceName) {
        forget(session)
        state.withLock { state in for kind in Mending.allCases { state.mended[kind]?.remove(session) } }
    }

    /// Logs a mending when it begins, not with each answer.
    private func note(_ kind: Mending, isSo: Bool, in session: SourceName, of list: String, _ message: () -> String) {
        let isNew = state.withLock { state in
            guard isSo else {
                state.mended[kind]?.remove(session)
                return false
            }
            return state.mended[kind, default: []].count < Self.maxMended
                && state.mended[kind, default: []].insert(session).inserted
        }
        if isNew { log(message(), session, list, level: "warning") }
    }

    /// - Parameter shapes: the one that was taken before the less likely ones; empty if none was guessed.
    func guessed(_ shapes: [StateShape], in session: String, of list: String, isFirst: Bool) {
        guard let shape = shapes.first else { return }
        let others = shapes.dropFirst().map { ", or \($0.query)" }.joined()
        let query = shape == .native ? "none" : shape.query
        log("list shape \(isFirst ? "guessed" : "corrected"): \(query)\(others)", SourceName(session), list)
    }

    func hookFailed(because reason: String, about session: String, of list: String) {
        guard state.withLock({ $0.undecided.updateValue(0, forKey: list) == nil }) else { return }
        log("list hook fails: \(reason)", SourceName(session), list, level: "warning")
    }

    /// 401 and 403 concern the call rather than the edits: most likely the secret is wrong.
    func hookDecided(_ status: Int, about session: String, of list: String) {
        let isBack = state.withLock { state in
            guard let decisions = state.undecided[list] else { return false }
            state.undecided[list] = decisions + 1 < Self.decisionsOfHealth ? decisions + 1 : nil
            return state.undecided[list] == nil
        }
        if isBack { log("list hook is back", SourceName(session), list) }
        let isRefusal = status == 401 || status == 403
        let isNew = state.withLock { state in
            isRefusal ? state.refusing.insert(list).inserted : state.refusing.remove(list) != nil
        }
        guard isNew else { return }
        if isRefusal {
            log("list hook refuses calls: it answered \(status)", SourceName(session), list, level: "warning")
        } else {
            log("list hook accepts calls again", SourceName(session), list)
        }
    }

    private func log(_ message: String, _ source: SourceName, _ list: String, level: String = "info") {
        journal.log(
            message, level: level,
            [("list", .text(list)), ("session", .text(source.session)), ("section", .ifAny(source.section))])
    }
}
