import HTTPCore
import SnapshotKit

/// What a reader shows of a session: what it sees through views, or the rows of a window on that.
struct Sight: Hashable, Sendable {
    /// The views that show less than there is, each of what the one before it shows: a token's, then the request's.
    var views: [StateView] = []
    var window: StateWindow?

    /// Parameters that say what a reader sees.
    static let view: Set<String> = ["view"]
    /// The same, and which rows of that it shows.
    static let parameters = view.union(StateWindow.Parameter.allCases.map(\.rawValue))

    /// Whether the reader shows all there is.
    var showsAll: Bool { views.isEmpty && window == nil }

    /// How often the contents of a state are read to find what the reader shows of it.
    var passes: Int { views.reduce(1) { $0 + $1.passes } }
}

extension Sight {
    /// What a request sees, by who asks and by its query, and which rows of that it shows.
    init(windowOf call: Call) throws(Problem) {
        try self.init(viewOf: call)
        window = try call.parameters.window()
    }

    /// The same where a request shows all that it sees.
    init(viewOf call: Call) throws(Problem) {
        let asked = try call.parameters.view(of: call.head)
        if let view = call.identity.view, !view.isAll { views.append(view) }
        if let asked, !asked.isAll { views.append(asked) }
        call.passes = passes
    }
}

extension Parameters {
    /// A view is JSON, so nobody writes one by hand: what encodes it may be of those that write `+` for a space, curl
    /// and `URLSearchParams` among them, and all of them write `%2B` for a plus.
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
    /// What a view that is not understood whole is told.
    ///
    /// - Parameter name: what it was given as.
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
