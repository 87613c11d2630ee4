/// What a reader made of a document: records that are not a state yet, without a pointer into the memory that was read.
struct ReadState {
    var builder: ColumnsBuilder
    /// What is to be put behind the document.
    let tail: TokenBuffer
    /// Items that were taken over from the known state.
    let taken: [ReusedRun]
    /// What was said to be expanded, where the rest is as in the known state.
    let said: SaidExpanded?
    let path: DocumentPointers
    /// Whether of several elements with one id the first is taken.
    let keepsFirst: Bool
    private(set) var violations: Violations
    let excess: StateError?

    /// Adds the list's own content, which stands beside the list.
    mutating func setListContent(_ range: Range<Int>) { builder.list = ListContent(range) }

    /// The finished state, over `bytes`: the document's memory, its padding and the tail; `known` is what it was read
    /// upon.
    mutating func finish(over bytes: [UInt8], upon known: Snapshot? = nil) throws(StateError) -> StateReading {
        if let excess { throw excess }
        let text = StateText(bytes)
        if let said, let known { builder.keepExpanded(of: known.columns, but: said, taken, in: text) }
        let (columns, duplicates) = exchange(&builder, with: ColumnsBuilder()).finish(
            text: text, known: known?.columns, taken: taken)
        guard duplicates.isEmpty || !keepsFirst else { return try distinct(columns, duplicates) }
        if !duplicates.isEmpty { note(duplicates, in: columns) }
        guard violations.list.isEmpty else { throw .invalid(violations.list) }
        let reused = known.flatMap { taken.isEmpty ? nil : ReusedRuns(taken, from: $0.columns, to: columns) }
        return StateReading(Snapshot(columns), reused: reused)
    }

    /// Notes both places of each duplicate, and a first place once. O(items).
    private mutating func note(_ duplicates: [ColumnsBuilder.Duplicate], in columns: Columns) {
        columns.withView { view in
            let pointers = IDPointers(path, view)
            // Sections below zero.
            var told: Set<Int> = []
            for duplicate in duplicates where !violations.isFull {
                let id = duplicate.isSection ? view.id(ofSection: duplicate.first) : view.id(ofItem: duplicate.first)
                let detail = "duplicate id \"\(Violations.shown(Array(id.text)))\""
                for index in [duplicate.first, duplicate.later] {
                    guard told.insert(duplicate.isSection ? -1 - index : index).inserted else { continue }
                    let pointer = duplicate.isSection ? pointers.ofSection(index) : pointers.ofItem(index)
                    violations.note("duplicate-id", detail, at: pointer)
                }
            }
        }
    }

    /// The state without elements whose ids stood before, and these as warnings. What was taken over does not count:
    /// the two have not the same items any more. O(items).
    private func distinct(
        _ columns: Columns, _ duplicates: [ColumnsBuilder.Duplicate]
    ) throws(StateError) -> StateReading {
        guard violations.list.isEmpty else { throw .invalid(violations.list) }
        let (builder, warnings) = columns.withView { view in
            let (builder, left) = ColumnsBuilder.distinct(view, duplicates)
            let pointers = IDPointers(path, view)
            let warnings = left.prefix(StateWarning.most).map { place in
                switch place {
                case .section(let index):
                    StateWarning(code: "duplicate-id", pointers.ofSection(index), view.id(ofSection: index))
                case .item(let index):
                    StateWarning(code: "duplicate-id", pointers.ofItem(index), view.id(ofItem: index))
                }
            }
            return (builder, warnings)
        }
        let (distinct, _) = (consume builder).finish(text: columns.text)
        return StateReading(Snapshot(distinct), warnings: warnings)
    }
}

/// Where ids stood in a document.
private struct IDPointers {
    private let path: DocumentPointers
    private let view: ColumnsView
    private let ordinals: SiblingOrdinals

    /// O(items).
    init(_ path: DocumentPointers, _ view: ColumnsView) {
        (self.path, self.view) = (path, view)
        ordinals = SiblingOrdinals(view.nodes, sections: view.sections.count)
    }

    func ofSection(_ section: Int) -> String { path.section(section) + path.sectionID }

    func ofItem(_ item: Int) -> String {
        path.id(ofItem: item, view.nodes) {
            path.isMap ? JSONPointer.escaped(view.id(ofItem: $0).text) : "\(ordinals[$0])"
        }
    }
}

/// The result of reading a state.
public struct StateReading: Sendable {
    /// The state.
    public let snapshot: Snapshot
    /// What is known to be the same in it and in the known state.
    public let reused: ReusedRuns?
    /// What of the document is not in it, at most 20 places.
    public let warnings: [StateWarning]

    package init(_ snapshot: Snapshot, reused: ReusedRuns? = nil, warnings: [StateWarning] = []) {
        (self.snapshot, self.reused, self.warnings) = (snapshot, reused, warnings)
    }
}

/// Something that a writer should know about a document, though it was accepted.
public struct StateWarning: Sendable, Equatable {
    /// A short name for programs, such as `duplicate-id`.
    public let code: String
    /// JSON Pointer (RFC 6901) into the document that was read.
    public let pointer: String
    /// The id in question.
    public let id: ElementID

    /// The largest number reported.
    public static let most = 20

    init(code: String, _ pointer: String, _ id: IDText) {
        (self.code, self.pointer, self.id) = (code, pointer, ElementID(id))
    }
}
