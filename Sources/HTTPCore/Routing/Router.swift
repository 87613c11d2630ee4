/// A service's routes: maps a method and a path to the service's payload.
///
///     let router = Router<Endpoint>([
///         .init(.get, "/v1/sessions/{session}/changes", .getChanges),
///         .init(.post, "/v1/sessions/{session}/changes", .postChanges),
///     ])
///
/// A segment in braces matches any one non-empty segment; a literal beats a parameter. HEAD matches where GET does, and
/// OPTIONS is allowed everywhere. A look-up allocates nothing, and decodes parameters on demand.
///
/// The patterns are sorted. A look-up tries them in order, from the first one with the path's first octet, resuming
/// each where it differs from the one that failed before. Whatever depends on the payload is inlinable: unspecialised,
/// a look-up spent 1,500 of 2,500 instructions on type metadata.
public struct Router<Payload: Sendable>: Sendable {
    /// A row of the table.
    public struct Route: Sendable {
        let method: Method
        /// The path, with parameters in braces.
        public let pattern: String
        let payload: Payload

        /// A route. `pattern` starts with `/`; `{name}` stands for a segment.
        public init(_ method: Method, _ pattern: String, _ payload: Payload) {
            (self.method, self.pattern, self.payload) = (method, pattern, payload)
        }
    }

    /// The result of a look-up.
    public enum Match: ~Copyable {
        /// A route, and its parameters in this path.
        case found(Payload, RouteParameters)
        /// The path has routes, but not for this method, or for OPTIONS. `allow` is the value of the `Allow` field.
        case methodNotAllowed(allow: String)
        /// No route has such a path.
        case notFound
    }

    @usableFromInline let table: RouteTable
    @usableFromInline let payloads: [Payload]

    /// Routes with the same pattern must agree on the names of its parameters.
    public init(_ routes: [Route]) {
        table = RouteTable(routes.map { ($0.method, $0.pattern) })
        payloads = routes.map(\.payload)
    }

    /// Looks up a request, optionally by another method than its own.
    @inlinable
    public func match(_ head: RequestHead, as method: Method? = nil) -> Match {
        guard let resource = table.resource(at: head) else { return .notFound }
        guard let row = resource.row(for: method ?? head.method) else {
            return .methodNotAllowed(allow: resource.allow)
        }
        return .found(payloads[row], RouteParameters(of: resource, in: head))
    }
}

/// The patterns of a router, with the indices of its routes.
@usableFromInline
struct RouteTable: Sendable {
    /// All patterns in order, without leading slashes. An octet that no path has, and that sorts last, is a parameter.
    private var patterns: [UInt8] = []
    private var bounds: [(end: Int, sharedWithPrevious: Int)] = []
    private var resources: [Resource] = []
    /// The first pattern, and its start, that can match a path with this first octet; an escape may stand for any.
    private var starts: [(index: Int, start: Int)] = []

    private static let parameter: UInt8 = 0xFF

    /// The methods of a pattern.
    @usableFromInline
    final class Resource: Sendable {
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
        let ordered = methods.map { pattern, rows in
            let segments = pattern.map { $0.isParameter ? [Self.parameter] : Array($0.utf8) }
            let names = pattern.map { $0.isParameter ? String($0.dropFirst().dropLast()) : nil }
            return (octets: Array(segments.joined(separator: [UInt8(ascii: "/")])), resource: Resource(names, rows))
        }.sorted { $0.octets.lexicographicallyPrecedes($1.octets) }
        var previous: [UInt8] = []
        resources = ordered.map(\.resource)
        for (octets, _) in ordered {
            patterns += octets
            bounds.append((patterns.count, zip(previous, octets).prefix { $0 == $1 }.count))
            previous = octets
        }
        starts = (0...UInt8.max).map { octet in
            let index = ordered.prefix { $0.octets.first.map { $0 < octet } ?? true }.count
            return octet == UInt8(ascii: "%") || index == 0 ? (0, 0) : (index, bounds[index - 1].end)
        }
    }

    @usableFromInline
    func resource(at head: RequestHead) -> Resource? {
        let index = head.withPath { path -> Int? in
            guard let path else { return nil }
            return patterns.withUnsafeBytes { patterns in
                var (first, start) = path.first.map { starts[Int($0)] } ?? (0, 0)
                var fit = Fit()
                for index in first..<bounds.count {
                    let (end, shared) = bounds[index]
                    if shared <= fit.octets {
                        if shared < fit.octets { fit = Fit() }
                        fit.extend(over: patterns.slice(start, end), path)
                        if fit.octets == end - start, fit.path == path.count { return index }
                    }
                    start = end
                }
                return nil
            }
        }
        return index.map { resources[$0] }
    }

    /// How far a pattern and a path agree. An escape stands for a character of a segment, so `%2F` is no slash.
    private struct Fit {
        /// Octets of the pattern.
        var octets = 0
        /// Octets of the path.
        var path = 0

        @inline(__always)
        mutating func extend(over pattern: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) {
            while octets < pattern.count, path < text.count {
                let octet = pattern[octets]
                if octet == parameter {
                    let start = path
                    while path < text.count, text[path] != UInt8(ascii: "/") { path += 1 }
                    if path == start { return }
                } else if text[path] == UInt8(ascii: "%") {
                    guard octet != UInt8(ascii: "/"), Percent.octet(text, path) == octet else { return }
                    path += 3
                } else {
                    guard text[path] == octet else { return }
                    path += 1
                }
                octets += 1
            }
        }
    }
}

extension Substring {
    fileprivate var isParameter: Bool { hasPrefix("{") && hasSuffix("}") }
}

/// The values of a pattern's parameters in a path.
public struct RouteParameters: Sendable {
    private let resource: RouteTable.Resource
    private let head: RequestHead

    @usableFromInline
    init(of resource: RouteTable.Resource, in head: RequestHead) { (self.resource, self.head) = (resource, head) }

    /// The same parameters, read from another head with the same path.
    public func of(_ head: RequestHead) -> RouteParameters { RouteParameters(of: resource, in: head) }

    /// The decoded value of a parameter; nil if the pattern has no such parameter.
    public func value(of name: String) -> String? {
        resource.parameters.firstIndex(of: name).map { index in
            head.withPath { path in path.map { Percent.segment(index, of: $0) } ?? "" }
        }
    }

    /// The decoded value of a parameter, which the pattern must have.
    public subscript(name: String) -> String {
        guard let value = value(of: name) else { preconditionFailure("the route has no parameter \(name)") }
        return value
    }
}
