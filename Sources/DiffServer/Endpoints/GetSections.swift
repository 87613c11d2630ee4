import HTTPCore
import SnapshotKit

/// Indexes of sections, and sections at indexes.
enum GetSections {
    @Sendable
    static func one(_ call: Call) throws(Problem) -> Reply {
        try LookupSubject.ask(call) { (subject) throws(Problem) in
            let id = call.place["section"]
            guard let section = subject.section(id) else {
                throw Problem(.sectionNotFound, "no section \"\(id)\" at \(subject.revision.text)")
            }
            return Lookup.one(subject) { section.writeLookup(into: &$0, showsContent: subject.showsContent) }
        }
    }

    @Sendable
    static func many(_ call: Call) throws(Problem) -> Reply {
        try Lookup.many(call, "sections") { (subject, question) throws(Problem) in
            guard question.name == "at" else {
                let section = subject.section(question.value)
                return Lookup.Finding(
                    found: section.map { section in
                        { section.writeLookup(into: &$0, showsContent: subject.showsContent) }
                    }
                ) {
                    $0.append("\"id\":")
                    $0.append(string: question.value)
                }
            }
            guard let index = Parameters.count(question.value), index < .max else {
                throw .malformed("at is a section's index, not \"\(question.value)\"")
            }
            let section = subject.sections.indices.contains(index) ? subject.sections[index] : nil
            return Lookup.Finding(
                found: section.map { section in { section.writeLookup(into: &$0, showsContent: subject.showsContent) } }
            ) {
                $0.append("\"at\":")
                $0.append(index)
            }
        }
    }
}
