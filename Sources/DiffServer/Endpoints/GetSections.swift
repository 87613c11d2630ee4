import HTTPCore
import SnapshotKit

/// Indexes of sections, and sections at indexes.
extension StateSection: LookupElement {
    static var name: String { "section" }
    static var list: StaticString { "sections" }

    static func element(_ id: String, of subject: LookupSubject) -> StateSection? { subject.state.section(withID: id) }

    static func missing(_ id: String, at revision: Revision) -> Problem {
        Problem(.sectionNotFound, "no section \"\(id)\" at \(revision.text)")
    }

    static func element(
        at place: String, of subject: LookupSubject
    ) throws(Problem) -> (StateSection?, place: String) {
        guard let index = place.wholeNumber, index < .max else {
            throw .malformed("at must be a section's index, not \"\(place)\"")
        }
        let section = subject.state.sections.indices.contains(index) ? subject.state.sections[index] : nil
        return (section, "\(index)")
    }
}
