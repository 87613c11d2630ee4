import DiffSessions
import HTTPCore
import SnapshotKit

/// The query of a request: every name is known, and only lists are repeated.
struct Parameters: Sendable {
    private let items: [QueryItem]

    init() { items = [] }

    /// Reads the known parameters of an endpoint, of which `lists` may be repeated.
    init(_ items: [QueryItem], known: Set<String>, lists: Set<String> = []) throws(Problem) {
        self.items = items
        var seen: Set<String> = []
        for item in items {
            guard known.contains(item.name) else {
                let isOfShape = StateShape.Member(rawValue: item.name) != nil
                let near = Spelling.nearest(to: item.name, among: known).map { "did you mean \($0)? " } ?? ""
                let meant = isOfShape ? "it tells how a document that is sent is read; " : near
                let names = "\(meant)known parameters: \(known.sorted().joined(separator: ", "))"
                let advice = known.isEmpty ? "this endpoint takes none" : names
                throw Problem(.unknownParameter, "unknown parameter \"\(item.name)\"; \(advice)")
            }
            guard seen.insert(item.name).inserted || lists.contains(item.name) else {
                throw .malformed("the parameter \"\(item.name)\" is given twice")
            }
        }
    }

    var isEmpty: Bool { items.isEmpty }

    subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// The parameters with these names, in the query's order.
    func all(_ names: Set<String>) -> [QueryItem] { items.filter { names.contains($0.name) } }

    /// The value of a parameter that is one of a few words.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
    where Choice.RawValue == String {
        guard let value = self[name] else { return nil }
        if let choice = Choice(rawValue: value) { return choice }
        let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw .malformed("\(name) must be one of \(choices), not \"\(value)\"")
    }

    /// The value of a parameter that is a non-negative whole number.
    package func count(_ name: String) throws(Problem) -> Int? {
        guard let value = self[name] else { return nil }
        if let count = value.wholeNumber { return count }
        throw .malformed("\(name) must be a whole number, not \"\(value)\"")
    }

    /// The value of a parameter in decimal seconds; `bounds` are in milliseconds.
    func seconds(_ name: String, milliseconds bounds: ClosedRange<Int>) throws(Problem) -> Duration? {
        guard let value = self[name] else { return nil }
        let isDecimal = value.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
        if isDecimal, let seconds = Double(value), (0...1e9).contains(seconds) {
            let milliseconds = Int((seconds * 1000).rounded())
            if bounds.contains(milliseconds) { return .milliseconds(milliseconds) }
        }
        let (least, most) = (Double(bounds.lowerBound) / 1000, Double(bounds.upperBound) / 1000)
        throw .malformed("\(name) must be a number of seconds from \(least) to \(most), not \"\(value)\"")
    }

    /// `true` or `false`, the default.
    func flag(_ name: String) throws(Problem) -> Bool {
        switch self[name] {
        case nil, "false": return false
        case "true": return true
        case let value?: throw .malformed("\(name) must be true or false, not \"\(value)\"")
        }
    }

    /// The revision that the reader has.
    func since() throws(Problem) -> Since {
        guard let value = self["since"] else { return .absent }
        return try Since(named: value)
    }

    /// The parameters that most endpoints allow to be repeated.
    static let lists: Set<String> = ["session", StateShape.Member.idAt.rawValue]

    /// The members of a shape, and `shape`, which overrides the session's shape.
    static let shape = Set(shapeNames)
    private static let shapeNames = StateShape.Member.allCases.map(\.rawValue) + ["shape"]

    /// The members of the body's shape in the query, by name; the parts of an id keep their order.
    var shapeMembers: [String] {
        if items.isEmpty { return [] }
        return Self.shapeNames.flatMap { name in items.filter { $0.name == name }.map { "\(name)=\($0.value)" } }
    }

    /// The body's shape; nil if the query names none.
    func shape() throws(Problem) -> StateShape? {
        let members = items.compactMap { item in StateShape.Member(rawValue: item.name).map { ($0, item.value) } }
        if let value = self["shape"] {
            guard value == "native" else { throw .malformed("shape must be \"native\", not \"\(value)\"") }
            guard members.isEmpty else { throw .malformed("shape=native takes no pointers") }
            return .native
        }
        if members.isEmpty { return nil }
        do throws(StateShape.Failure) { return try StateShape(members) } catch { throw .malformed(error.detail) }
    }
}

extension Since {
    /// Parses a client's revision. An empty text means that the client has nothing.
    init(named text: String) throws(Problem) { self = text.isEmpty ? .nothing : .revision(try Revision(named: text)) }
}

extension Revision {
    init(named text: String) throws(Problem) {
        guard let revision = Revision(text) else { throw Problem(.malformedRevision, "\"\(text)\" is not a revision") }
        self = revision
    }
}
