import HTTPCore
import SnapshotKit

/// The part of a session that a reader shows: what it sees through views, or a window of that.
struct Sight: Hashable, Sendable {
    /// A token's view, and the request's view of what that shows; without those that show everything.
    var views: [StateView] = []
    var window: StateWindow?

    /// Parameters that choose what a reader sees.
    static let view: Set<String> = ["view"]
    /// The same, and those of a window.
    static let parameters = view.union(StateWindow.Parameter.allCases.map(\.rawValue))

    /// Whether the reader shows the whole session.
    var showsAll: Bool { views.isEmpty && window == nil }

    /// How often it reads through a state's contents.
    var passes: Int { views.reduce(1) { $0 + $1.passes } }
}

extension Sight {
    /// What a request shows, by its token and its query.
    init(windowOf call: Call) throws(Problem) {
        try self.init(viewOf: call)
        window = try call.parameters.window()
    }

    /// The same without a window.
    init(viewOf call: Call) throws(Problem) {
        if call.parameters.isEmpty, call.identity.view == nil { return }
        let asked = try call.parameters.view(of: call.head)
        if let view = call.identity.view, !view.isAll { views.append(view) }
        if let asked, !asked.isAll { views.append(asked) }
        call.passes = passes
    }
}

extension Parameters {
    /// A view is JSON, and so is encoded by a program. Some of them, such as curl and `URLSearchParams`, write `+` for
    /// a space, and all of them write `%2B` for a plus.
    fileprivate func view(of head: RequestHead) throws(Problem) -> StateView? {
        guard var text = self["view"] else { return nil }
        if text.contains("+") { text = head.formQuery.first { $0.name == "view" }?.value ?? text }
        do throws(StateViewError) { return try StateView(json: text) } catch { throw Problem(error, "view") }
    }

    fileprivate func window() throws(Problem) -> StateWindow? {
        if isEmpty { return nil }
        do throws(StateWindow.Failure) { return try StateWindow { self[$0.rawValue] } } catch {
            throw .malformed(error.detail)
        }
    }
}

extension Problem {
    /// A view that cannot be read.
    ///
    /// - Parameter name: of the parameter or member.
    init(_ error: StateViewError, _ name: String) {
        switch error {
        case .json(let error): self = .malformed("\(name) is not JSON: \(error.description)")
        case .invalid(let violation):
            self = .malformed("\(name): \(violation.detail)")
            errors = [violation]
        case .limitExceeded(let what, let limit, let actual, let pointer):
            self.init(StateError.limitExceeded(what: what, limit: limit, actual: actual, pointer: pointer))
        }
    }
}
