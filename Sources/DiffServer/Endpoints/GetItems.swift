import HTTPCore
import SnapshotKit

/// Index paths of items, and items at index paths.
enum GetItems {
    @Sendable
    static func one(_ call: Call) throws(Problem) -> Reply {
        try LookupSubject.ask(call) { (subject) throws(Problem) in
            let id = call.place["item"]
            guard let item = subject.item(id) else {
                throw Problem(.itemNotFound, "no item \"\(id)\" at \(subject.revision.text)")
            }
            return Lookup.one(subject) { item.writeLookup(into: &$0, showsContent: subject.showsContent) }
        }
    }

    @Sendable
    static func many(_ call: Call) throws(Problem) -> Reply {
        try Lookup.many(call, "items") { (subject, question) throws(Problem) in
            guard question.name == "at" else {
                let item = subject.item(question.value)
                return Lookup.Finding(
                    found: item.map { item in { item.writeLookup(into: &$0, showsContent: subject.showsContent) } }
                ) {
                    $0.append("\"id\":")
                    $0.append(string: question.value)
                }
            }
            let path = try path(question.value)
            let item = subject.item(at: path)
            return Lookup.Finding(
                found: item.map { item in { item.writeLookup(into: &$0, showsContent: subject.showsContent) } }
            ) {
                $0.append("\"at\":[")
                $0.append(path.section)
                $0.append(",")
                $0.append(path.row)
                $0.append("]")
            }
        }
    }

    /// `section,row`.
    private static func path(_ text: String) throws(Problem) -> RowPath {
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Parameters.count($0) }
        guard numbers.count == 2, let section = numbers[0], let row = numbers[1], max(section, row) < .max else {
            throw .malformed("at is an index path as \"0,3\", not \"\(text)\"")
        }
        return RowPath(section: section, row: row)
    }
}
