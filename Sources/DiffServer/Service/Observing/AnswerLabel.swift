import HTTPCore

/// The label under which an answer is counted and logged: its route, its problem if it is one, and why it had to wait.
/// It fits into `Response.label`, so that it costs a request nothing.
struct AnswerLabel: Sendable, Equatable {
    /// Why a request took as long as its reader wanted rather than as long as the server needed.
    enum Wait: String, CaseIterable {
        /// Held until there was news.
        case poll
        case stream
    }

    /// What `Cache-Control` says to a reader without credentials.
    enum Caching: String, CaseIterable {
        case `public`
        case noStore = "no-store"
    }

    /// Eight bits for the route, eight for the problem (0: none), two for the wait and two for caching (0: none).
    private(set) var code: UInt32

    init(code: UInt32) { self.code = code }

    init(_ route: RouteName) { code = Self.index(of: route) }

    init(_ problem: ProblemType) { code = (Self.index(of: problem) + 1) << 8 }

    init(_ wait: Wait) { code = (Self.index(of: wait) + 1) << 16 }

    init(_ caching: Caching) { code = (Self.index(of: caching) + 1) << 18 }

    /// The label of the route alone.
    var ofRoute: AnswerLabel { AnswerLabel(code: code & 0xFF) }
    var route: RouteName { RouteName.allCases[Int(code & 0xFF)] }
    var problem: ProblemType? { code >> 8 & 0xFF == 0 ? nil : ProblemType.allCases[Int(code >> 8 & 0xFF) - 1] }
    var wait: Wait? { code >> 16 & 3 == 0 ? nil : Wait.allCases[Int(code >> 16 & 3) - 1] }
    var caching: Caching? { code >> 18 == 0 ? nil : Caching.allCases[Int(code >> 18) - 1] }

    private static func index<Name: CaseIterable & Equatable>(of name: Name) -> UInt32 {
        UInt32(Array(Name.allCases).firstIndex(of: name) ?? 0)
    }
}

extension Response {
    /// Adds a label to those already set.
    mutating func note(_ label: AnswerLabel) { self.label |= label.code }
}
