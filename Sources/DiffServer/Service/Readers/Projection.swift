// What a caller may see is decided once, on admission: `Call.projection`. Nothing else makes a projection, and every
// answer with contents, or that depends on contents, takes one. So an endpoint that is open to callers without read
// permission has nothing to read with.

import DiffSessions
import HTTPCore
import SnapshotKit
import SnapshotViews

/// The part of a session that a reader shows: what it sees through views, or a window of that.
struct Projection: Hashable, Sendable {
    /// A token's view, and the request's view on top of it. Views that show everything are left out.
    private(set) var views: [StateView] = []
    var window: StateWindow?

    /// The views' names, as used in the revisions seen through them.
    var names: [ViewName] { views.map(\.json) }

    /// What a caller may see before the request narrows it down; nil if it may not read.
    ///
    /// - Parameter session: nil for a request about several sessions, which are checked one by one later.
    init?(of identity: Identity, in session: String?) {
        guard identity.has(.read, session: session) else { return nil }
        if let view = identity.token?.view, !view.isAll { views.append(view) }
    }

    /// Parameters that choose what a reader sees, without those of a window.
    static let view: Set<String> = ["view"]
    static let parameters = view.union(StateWindow.Parameter.allCases.map(\.rawValue))

    var showsAll: Bool { views.isEmpty && window == nil }

    func through(_ view: StateView?) -> Projection {
        guard let view, !view.isAll else { return self }
        var projection = self
        projection.views.append(view)
        return projection
    }

    var footprint: Int { views.reduce(0) { $0 + $1.footprint } }

    /// How many times the views scan a state's contents.
    var scanCount: Int { views.reduce(1) { $0 + $1.scanCount } }
}

extension Call {
    /// What a request shows, by its token and its query. Throws 403 if the caller may not read.
    func windowedProjection() throws(Problem) -> Projection {
        var projection = try viewedProjection()
        projection.window = try parameters.window()
        return projection
    }

    /// The same without a window.
    func viewedProjection() throws(Problem) -> Projection {
        guard let projection else { throw .forbidden(identity, .read, nil) }
        if parameters.isEmpty, projection.showsAll { return projection }
        let seen = projection.through(try parameters.view(of: head))
        scanCount = seen.scanCount
        if let named { countView(seen, of: named) }
        return seen
    }
}

extension Parameters {
    /// A program encodes a view. Some, such as curl and `URLSearchParams`, write `+` for a space, all `%2B` for a plus.
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
    package init(_ error: StateViewError, _ name: String) {
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
