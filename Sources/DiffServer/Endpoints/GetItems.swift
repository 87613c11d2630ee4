import HTTPCore
import SnapshotKit

/// Index paths of items, and items at index paths.
extension StateItem: LookupElement {
    static var name: String { "item" }
    static var list: StaticString { "items" }

    static func element(_ id: String, of subject: LookupSubject) -> StateItem? { subject.state.item(withID: id) }

    static func missing(_ id: String, at revision: Revision) -> Problem {
        Problem(.itemNotFound, "no item \"\(id)\" at \(revision.text)")
    }

    /// A place is `section,row`.
    static func element(
        at place: String, of subject: LookupSubject
    ) throws(Problem) -> (StateItem?, place: String) {
        let numbers = place.split(separator: ",", omittingEmptySubsequences: false).map { $0.wholeNumber }
        guard numbers.count == 2, let section = numbers[0], let row = numbers[1], max(section, row) < .max else {
            throw .malformed("at is an index path as \"0,3\", not \"\(place)\"")
        }
        return (subject.state.item(at: ItemPath(section: section, row: row)), "[\(section),\(row)]")
    }
}
