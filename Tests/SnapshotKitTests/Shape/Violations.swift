import SnapshotKit
import Testing

/// The result of reading a document, in a form for tables.
enum Reading: Equatable, CustomStringConvertible {
    case state(String)
    /// `code pointer`, sorted; `.wrongShape` and `.invalid` alike.
    case violations([String])
    case limit(Int, actual: Int, pointer: String)
    case notJSON(JSONError.Reason)
    case unwanted

    init(_ read: () throws(StateError) -> Snapshot) {
        do {
            let document = try read().documentJSON()
            self = .state((try? TreeParser.tree(document).json) ?? "an unreadable document")
        } catch {
            self.init(error)
        }
    }

    init(_ error: StateError) {
        switch error {
        case .unwanted: self = .unwanted
        case .json(let error): self = .notJSON(error.reason)
        case .wrongShape(let violations), .invalid(let violations):
            self = .violations(violations.map { "\($0.code) \($0.pointer)" }.sorted())
        case .limitExceeded(_, let limit, let actual, let pointer):
            self = .limit(limit, actual: actual, pointer: pointer)
        }
    }

    var description: String {
        switch self {
        case .state(let json): json
        case .violations(let list): list.joined(separator: ", ")
        case .limit(let limit, let actual, let pointer): "\(actual) of \(limit) at \(pointer)"
        case .notJSON(let reason): reason.rawValue
        case .unwanted: "unwanted"
        }
    }
}

/// One row of a table: a document and the result of reading it.
struct ReadingCase: Sendable, CustomTestStringConvertible {
    let json: String
    let violations: [String]

    /// A document and `code pointer` of each of its violations.
    init(_ json: String, _ violations: String...) {
        self.json = json
        self.violations = violations
    }

    var testDescription: String { json.debugDescription }
}
