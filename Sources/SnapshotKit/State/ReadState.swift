/// What a reader made of a document: records that are not a state yet, without a pointer into the memory that was read.
struct ReadState {
    var builder: ColumnsBuilder
    /// What is to be put behind the document.
    let tail: TokenBuffer
    /// Items that were taken over from the known state.
    let taken: [ReusedRun]
    let path: DocumentPointers
    private(set) var violations: Violations
    let excess: StateError?

    /// Adds the list's own content, which stands beside the list.
    mutating func setListContent(_ range: Range<Int>) { builder.list = ListContent(range) }

    /// The finished state, over `bytes`: the document's memory, its padding and the tail; `known` is what it was read
    /// upon. With it comes what it took over from that, if anything.
    mutating func finish(
        over bytes: [UInt8], upon known: Snapshot? = nil
    ) throws(StateError) -> (Snapshot, reused: ReusedRuns?) {
        if let excess { throw excess }
        let (columns, duplicates) = exchange(&builder, with: ColumnsBuilder()).finish(
            text: StateText(bytes), known: known?.columns, taken: taken)
        if !duplicates.isEmpty { note(duplicates, in: columns) }
        guard violations.list.isEmpty else { throw .invalid(violations.list) }
        let reused = known.flatMap { taken.isEmpty ? nil : ReusedRuns(taken, from: $0.columns, to: columns) }
        return (Snapshot(columns), reused)
    }

    /// Notes both places of each duplicate, and a first place once. O(items).
    private mutating func note(_ duplicates: [ColumnsBuilder.Duplicate], in columns: Columns) {
        columns.withView { view in
            let ordinals = SiblingOrdinals(view.nodes, sections: view.sections.count)
            // Sections below zero.
            var told: Set<Int> = []
            for duplicate in duplicates where !violations.isFull {
                let id = duplicate.isSection ? view.id(ofSection: duplicate.first) : view.id(ofItem: duplicate.first)
                let what = duplicate.isSection ? "sections" : "items"
                let detail = "the id \"\(Violations.shown(Array(id.text)))\" stands at more than one of the \(what)"
                for index in [duplicate.first, duplicate.later] {
                    guard told.insert(duplicate.isSection ? -1 - index : index).inserted else { continue }
                    let pointer =
                        duplicate.isSection
                        ? path.section(index) + path.sectionID : path.id(ofItem: index, view.nodes, ordinals)
                    violations.note("duplicate-id", detail, at: pointer)
                }
            }
        }
    }
}
