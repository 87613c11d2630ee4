/// The table of a service's resources: from a method and a path to whatever the service put there.
///
///     let router = Router<Endpoint>([
///         .init(.get, "/v1/sessions/{session}/changes", .getChanges),
///         .init(.post, "/v1/sessions/{session}/changes", .postChanges),
///     ])
///
/// A segment in braces matches any one segment that is not empty; a literal beats a parameter. HEAD goes wherever GET
/// goes, and OPTIONS is allowed everywhere. A look-up allocates nothing: it compares the path as it was sent, and
/// parameters are decoded when they are asked for.
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

    /// What the table says about a request. Handed on and never copied.
    public enum Match: ~Copyable {
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

    /// Looks up the path of a request, by another method than its own if that is wanted.
    @inlinable
    public func match(_ head: RequestHead, as method: Method? = nil) -> Match {
        guard let resource = table.resource(at: head) else { return .notFound }
        guard let row = resource.row(for: method ?? head.method) else {
            return .methodNotAllowed(allow: resource.allow)
        }
        return .found(payloads[row], RouteParameters(of: resource, in: head))
    }
}

/// The patterns of a table, with the numbers of its rows.
@usableFromInline
struct RouteTable: Sendable {
    /// All patterns behind one another, less their slashes at the start, with an octet that no path has in place of a
    /// parameter.
    private var patterns: [UInt8] = []
    /// Where each of them ends.
    private var ends: [Int] = []
    private var resources: [Resource] = []

    private static let parameter: UInt8 = 0

    /// All methods of one pattern.
    @usableFromInline
    final class Resource: Sendable {
        /// The names of the parameters, by segment.
        let parameters: [String?]
        @usableFromInline let allow: String
        private let rows: [(method: Method, row: Int)]

        init(_ parameters: [String?], _ rows: [(method: Method, row: Int)]) {
            (self.parameters, self.rows) = (parameters, rows)
            var names = Set(rows.map(\.method.name)).union(["OPTIONS"])
            if names.contains("GET") { names.insert("HEAD") }
            allow = names.sorted().joined(separator: ", ")
        }

        @usableFromInline
        func row(for method: Method) -> Int? {
            let wanted = method == .head ? .get : method
            return rows.first { $0.method == wanted }?.row
        }
    }

    init(_ rows: [(method: Method, pattern: String)]) {
        var methods: [[Substring]: [(method: Method, row: Int)]] = [:]
        for (row, (method, text)) in rows.enumerated() {
            methods[text.dropFirst().split(separator: "/", omittingEmptySubsequences: false), default: []]
                .append((method, row))
        }
        // Literals first, at the first segment where two patterns differ in kind.
        let ordered = methods.sorted { a, b in
            a.key.map { $0.isParameter ? 1 : 0 }.lexicographicallyPrecedes(b.key.map { $0.isParameter ? 1 : 0 })
        }
        for (pattern, rows) in ordered {
            let segments = pattern.map { $0.isParameter ? [Self.parameter] : Array($0.utf8) }
            patterns += segments.joined(separator: [UInt8(ascii: "/")])
            ends.append(patterns.count)
            let names = pattern.map { $0.isParameter ? String($0.dropFirst().dropLast()) : nil }
            resources.append(Resource(names, rows))
        }
    }

    @usableFromInline
    func resource(at head: RequestHead) -> Resource? {
        let index = head.withPath { path -> Int? in
            guard let path else { return nil }
            return patterns.withUnsafeBytes { patterns in
                var start = 0
                for index in ends.indices {
                    if Self.matches(patterns.slice(start, ends[index]), path) { return index }
                    start = ends[index]
                }
                return nil
            }
        }
        return index.map { resources[$0] }
    }

    /// An escape stands for a character of a segment, so `%2F` is no slash.
    private static func matches(_ pattern: UnsafeRawBufferPointer, _ path: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        for octet in pattern {
            guard at < path.count else { return false }
            if octet == parameter {
                let start = at
                while at < path.count, path[at] != UInt8(ascii: "/") { at += 1 }
                guard at > start else { return false }
            } else if path[at] == UInt8(ascii: "%") {
                guard octet != UInt8(ascii: "/"), Percent.octet(path, at) == octet else { return false }
                at += 3
            } else {
                guard path[at] == octet else { return false }
                at += 1
            }
        }
        return at == path.count
    }
}

extension Substring {
    fileprivate var isParameter: Bool { hasPrefix("{") && hasSuffix("}") }
}

/// What stood where a pattern has parameters.
public struct RouteParameters: Sendable {
    private let resource: RouteTable.Resource
    private let head: RequestHead

    @usableFromInline
    init(of resource: RouteTable.Resource, in head: RequestHead) { (self.resource, self.head) = (resource, head) }

    /// The decoded segment at a parameter of the pattern; nil if the pattern has no parameter of this name.
    public func value(of name: String) -> String? {
        resource.parameters.firstIndex(of: name).map { index in
            head.withPath { path in path.map { Percent.segment(index, of: $0) } ?? "" }
        }
    }

    /// The same at a parameter that the pattern has: another name is a mistake in the service.
    public subscript(name: String) -> String {
        guard let value = value(of: name) else { preconditionFailure("the route has no parameter \(name)") }
        return value
    }
}
