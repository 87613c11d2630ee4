/// The table of a service's resources: from a method and a path to whatever the service put there.
///
///     let router = Router<Endpoint>([
///         .init(.get, "/v1/sessions/{session}/changes", .getChanges),
///         .init(.post, "/v1/sessions/{session}/changes", .postChanges),
///     ])
///
/// A segment in braces matches any one segment that is not empty; a literal beats a parameter. HEAD goes wherever GET
/// goes, and OPTIONS is allowed everywhere. A look-up allocates nothing: parameters are positions in the path of the
/// request.
///
/// A table of some twenty patterns is walked from end to end; a tree would save comparisons of a few octets each and
/// cost its code. What depends on the payload is inlinable, so that it is specialised where the table is:
/// unspecialised, a look-up spent 1,500 instructions of 2,500 on the metadata of its types.
public struct Router<Payload: Sendable>: Sendable {
    /// One row of the table.
    public struct Route: Sendable {
        let method: Method
        let pattern: String
        let payload: Payload

        /// A resource's method. `pattern` starts with `/`; `{name}` stands for a segment.
        public init(_ method: Method, _ pattern: String, _ payload: Payload) {
            self.method = method
            self.pattern = pattern
            self.payload = payload
        }
    }

    /// What the table says about a request.
    public enum Match {
        /// A row, and what its parameters are in this path.
        case found(Payload, RouteParameters)
        /// The path is known, the method is not one of `allow`, a list as the `Allow` field wants it. OPTIONS comes
        /// here too: it has no row.
        case methodNotAllowed(allow: String)
        /// No row has such a path.
        case notFound
    }

    @usableFromInline let table: RouteTable
    @usableFromInline let payloads: [Payload]

    /// A table. Rows of one pattern must agree in the names of their parameters.
    public init(_ routes: [Route]) {
        table = RouteTable(routes.map { ($0.method, $0.pattern) })
        payloads = routes.map(\.payload)
    }

    /// Looks up a path as `RequestHead.path` has it.
    @inlinable
    public func match(_ method: Method, _ path: [String]) -> Match {
        guard let resource = table.resource(at: path) else { return .notFound }
        guard let row = resource.row(for: method) else { return .methodNotAllowed(allow: resource.allow) }
        return .found(payloads[row], RouteParameters(pattern: resource.pattern, path: path))
    }
}

/// The patterns of a table, with the numbers of its rows.
@usableFromInline
struct RouteTable: Sendable {
    /// By the number of their segments.
    private var resources: [[Resource]] = []

    /// All methods of one pattern.
    @usableFromInline
    final class Resource: Sendable {
        @usableFromInline let pattern: [PatternSegment]
        @usableFromInline let allow: String
        private let rows: [(method: Method, row: Int)]

        init(_ pattern: [PatternSegment], _ rows: [(method: Method, row: Int)]) {
            (self.pattern, self.rows) = (pattern, rows)
            var names = Set(rows.map(\.method.name)).union(["OPTIONS"])
            if names.contains("GET") { names.insert("HEAD") }
            allow = names.sorted().joined(separator: ", ")
        }

        func matches(_ path: [String]) -> Bool {
            for index in pattern.indices where !pattern[index].matches(path[index]) { return false }
            return true
        }

        @usableFromInline
        func row(for method: Method) -> Int? {
            let wanted = method == .head ? .get : method
            return rows.first { $0.method == wanted }?.row
        }
    }

    init(_ rows: [(method: Method, pattern: String)]) {
        var methods: [[PatternSegment]: [(method: Method, row: Int)]] = [:]
        for (row, (method, text)) in rows.enumerated() {
            let pattern = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
                .map { PatternSegment(String($0)) }
            methods[text == "/" ? [] : pattern, default: []].append((method, row))
        }
        resources = Array(repeating: [], count: (methods.keys.map(\.count).max() ?? 0) + 1)
        for (pattern, rows) in methods { resources[pattern.count].append(Resource(pattern, rows)) }
        // Literals first, at the first segment where two patterns differ in kind.
        for count in resources.indices {
            resources[count].sort { a, b in
                zip(a.pattern, b.pattern).first { $0.isParameter != $1.isParameter }.map { !$0.0.isParameter } ?? false
            }
        }
    }

    @usableFromInline
    func resource(at path: [String]) -> Resource? {
        guard path.count < resources.count else { return nil }
        return resources[path.count].first { $0.matches(path) }
    }
}

/// A segment of a pattern.
@usableFromInline
enum PatternSegment: Sendable, Hashable {
    case literal(String)
    case parameter(String)

    init(_ text: String) {
        let isParameter = text.hasPrefix("{") && text.hasSuffix("}")
        self = isParameter ? .parameter(String(text.dropFirst().dropLast())) : .literal(text)
    }

    var isParameter: Bool {
        switch self {
        case .literal: false
        case .parameter: true
        }
    }

    func matches(_ segment: String) -> Bool {
        switch self {
        case .literal(let text): text == segment
        case .parameter: !segment.isEmpty
        }
    }
}

/// What stood where a pattern has parameters.
public struct RouteParameters: Sendable {
    let pattern: [PatternSegment]
    let path: [String]

    @usableFromInline
    init(pattern: [PatternSegment], path: [String]) { (self.pattern, self.path) = (pattern, path) }

    /// The decoded segment at a parameter of the pattern; nil if the pattern has no parameter of this name.
    public func value(of name: String) -> String? {
        for index in pattern.indices {
            if case .parameter(let candidate) = pattern[index], candidate == name { return path[index] }
        }
        return nil
    }

    /// The same at a parameter that the pattern has: another name is a mistake in the service.
    public subscript(name: String) -> String {
        guard let value = value(of: name) else { preconditionFailure("the route has no parameter \(name)") }
        return value
    }
}
