import HTTPCore
import SnapshotKit

/// The query of a request: every name known, and given once where it has one value.
struct Parameters: Sendable {
    private let items: [QueryItem]

    /// Checks names against what the endpoint knows, which may repeat only those in `lists`.
    init(_ items: [QueryItem], known: Set<String>, lists: Set<String> = []) throws(Problem) {
        var seen: Set<String> = []
        for item in items {
            guard known.contains(item.name) else {
                throw Problem(
                    .unknownParameter,
                    known.isEmpty
                        ? "no parameters are known here, but \"\(item.name)\" was given"
                        : "\"\(item.name)\" is not known here; known are \(known.sorted().joined(separator: ", "))")
            }
            guard seen.insert(item.name).inserted || lists.contains(item.name) else {
                throw .malformed("the parameter \"\(item.name)\" is given twice")
            }
        }
        self.items = items
    }

    var isEmpty: Bool { items.isEmpty }

    subscript(name: String) -> String? { items.first { $0.name == name }?.value }

    /// Names and values in the query's order, for parameters that are lists.
    func all(_ names: Set<String>) -> [QueryItem] { items.filter { names.contains($0.name) } }

    /// A parameter that is one of the cases of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws(Problem) -> Choice?
    where Choice.RawValue == String {
        guard let value = self[name] else { return nil }
        if let choice = Choice(rawValue: value) { return choice }
        let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw .malformed("\(name) is one of \(choices), not \"\(value)\"")
    }

    /// A whole number of at least 0.
    func count(_ name: String) throws(Problem) -> Int? {
        guard let value = self[name] else { return nil }
        guard let count = value.wholeNumber else { throw .malformed("\(name) is a whole number, not \"\(value)\"") }
        return count
    }

    /// A number of seconds, with decimals if need be, within bounds that are milliseconds.
    func seconds(_ name: String, milliseconds bounds: ClosedRange<Int>) throws(Problem) -> Duration? {
        guard let value = self[name] else { return nil }
        let isDecimal = value.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: ".") }
        guard isDecimal, let seconds = Double(value), (0...1e9).contains(seconds),
            bounds.contains(Int((seconds * 1000).rounded()))
        else {
            let (least, most) = (Double(bounds.lowerBound) / 1000, Double(bounds.upperBound) / 1000)
            throw .malformed("\(name) is a number of seconds from \(least) to \(most), not \"\(value)\"")
        }
        return .milliseconds(Int((seconds * 1000).rounded()))
    }

    /// `true` or `false`; what is not given is not so.
    func flag(_ name: String) throws(Problem) -> Bool {
        switch self[name] {
        case nil, "false": return false
        case "true": return true
        case let value?: throw .malformed("\(name) is true or false, not \"\(value)\"")
        }
    }

    /// Where the reader stands.
    func since() throws(Problem) -> Since {
        guard let value = self["since"] else { return .absent }
        if value.isEmpty { return .nothing }
        guard let revision = Revision(value) else {
            throw Problem(.malformedRevision, "\"\(value)\" is not a revision")
        }
        return .revision(revision)
    }

    /// Members of a shape, and `shape`, which says that a body has none of its own.
    static let shape = Set(shapeNames)
    private static let shapeNames = StateShape.Member.allCases.map(\.rawValue) + [nativeShape]
    /// Those that may be given more than once.
    static let shapeLists: Set<String> = [StateShape.Member.idAt.rawValue]
    private static let nativeShape = "shape"

    /// What is said of the body's shape, by name; parts of an id in their order.
    var shapeMembers: [String] {
        if items.isEmpty { return [] }
        return Self.shapeNames.flatMap { name in items.filter { $0.name == name }.map { "\(name)=\($0.value)" } }
    }

    /// Where the list stands in the body; nil where nothing is said of it.
    func shape() throws(Problem) -> StateShape? {
        let members = items.compactMap { item in StateShape.Member(rawValue: item.name).map { ($0, item.value) } }
        if let value = self[Self.nativeShape] {
            guard value == "native" else { throw .malformed("shape is \"native\", not \"\(value)\"") }
            guard members.isEmpty else { throw .malformed("with shape=native there are no pointers") }
            return .native
        }
        if members.isEmpty { return nil }
        do throws(StateShape.Failure) { return try StateShape(members) } catch { throw .malformed(error.detail) }
    }
}

extension JSONPointer {
    /// Segments of a pointer that a client names.
    static let maxServed = StateShape.maxSegments

    /// Whether a client may name it. A longer one leads nowhere.
    var isServed: Bool { tokens.count <= Self.maxServed }
}
