/// What a reader made of a document: records that are not a state yet, with no pointer into the memory that was read.
struct ReadState {
    var builder: ColumnsBuilder
    /// What to append to the document.
    let tail: TokenBuffer
    // As in `StateParser`.
    let reusedRuns: [Kinship.Run]
    let mentioned: Set<RecordIndex>?
    let path: DocumentPointers
    let keepsFirst: Bool
    let skipped: SkippedElements
    private(set) var violations: Violations
    let excess: StateError?

    /// The finished state.
    ///
    /// - Parameters:
    ///   - bytes: the document's memory, its padding and the tail.
    ///   - known: the state that the document was compared with.
    mutating func finish(over bytes: [UInt8], upon known: Snapshot? = nil) throws(StateError) -> StateReading {
        if let excess { throw excess }
        let text = StateText(bytes)
        if let mentioned, let known { builder.keepExpanded(of: known.columns, but: mentioned, reusedRuns, in: text) }
        let (columns, duplicates, kinship) = exchange(&builder, with: ColumnsBuilder()).finish(
            text: text, known: known?.columns, reusing: skipped.isEmpty ? reusedRuns : [])
        if !duplicates.isEmpty, !keepsFirst { note(duplicates, in: columns) }
        guard duplicates.isEmpty && skipped.isEmpty || !violations.isEmpty else {
            return distinct(columns, duplicates)
        }
        guard violations.isEmpty else { throw .invalid(violations.reported) }
        return StateReading(Snapshot(columns), reused: kinship)
    }

    /// Notes both records of each duplicate, but each record once. O(items).
    private mutating func note(_ duplicates: [ColumnsBuilder.Duplicate], in columns: Columns) {
        columns.withView { view in
            let pointers = IDPointers(path, view)
            var noted: Set<RecordIndex> = []
            if violations.isFull { violations.noteOmitted() }
            for duplicate in duplicates where !violations.isFull {
                let detail = "duplicate id \"\(Violations.shown(Array(view.id(of: duplicate.records[0]).text)))\""
                for record in duplicate.records where noted.insert(record).inserted {
                    violations.note("duplicate-id", detail, at: pointers.pointer(to: record))
                }
            }
        }
    }

    /// The state without the elements that have no usable id, or one that came earlier, and those as warnings. Has no
    /// reused runs, since it does not have all the items that were read. O(items).
    private func distinct(_ columns: Columns, _ duplicates: [ColumnsBuilder.Duplicate]) -> StateReading {
        columns.withView { view in
            let (distinct, left) = ColumnsAssembly.distinct(view, duplicates, without: Set(skipped.records))
            let pointers = left.isEmpty ? nil : IDPointers(path, view)
            let warnings = left.prefix(StateWarning.maxCount).map {
                StateWarning(code: "duplicate-id", pointers!.pointer(to: $0), view.id(of: $0))
            }
            return StateReading(
                Snapshot(distinct), warnings: Array((skipped.warnings + warnings).prefix(StateWarning.maxCount)))
        }
    }
}

/// Where ids are in a document.
private struct IDPointers {
    private let path: DocumentPointers
    private let view: ColumnsView
    private let ordinals: SiblingOrdinals

    /// O(items).
    init(_ path: DocumentPointers, _ view: ColumnsView) {
        (self.path, self.view) = (path, view)
        ordinals = SiblingOrdinals(view.nodes, sections: view.sections.count)
    }

    func pointer(to record: RecordIndex) -> String {
        switch record {
        case .section(let section): pointer(toSection: section) + path.layout.sectionID
        case .item(let item):
            path.id(ofItem: item, in: pointer(toSection: Int(view.nodes[item].section)), view.nodes) {
                path.layout.isMap ? JSONPointer.escaped(view.id(ofItem: $0).text) : "\(ordinals[$0])"
            }
        }
    }

    private func pointer(toSection section: Int) -> String {
        path.layout.sectionsAreMap
            ? path.section(named: JSONPointer.escaped(view.id(ofSection: section).text)) : path.section(section)
    }
}

extension ColumnsView {
    fileprivate func id(of record: RecordIndex) -> IDText {
        switch record {
        case .section(let section): id(ofSection: section)
        case .item(let item): id(ofItem: item)
        }
    }
}

/// The result of reading a state.
public struct StateReading: Sendable {
    /// The state.
    public let snapshot: Snapshot
    /// What is known to be the same in it and in the state that it was compared with.
    public let reused: Kinship?
    /// What was left out of it, at most 20 elements.
    public let warnings: [StateWarning]

    package init(_ snapshot: Snapshot, reused: Kinship? = nil, warnings: [StateWarning] = []) {
        (self.snapshot, self.reused, self.warnings) = (snapshot, reused, warnings)
    }
}

/// Something that a writer should know about a document that was accepted.
public struct StateWarning: Sendable, Hashable {
    /// A short name for programs, such as `duplicate-id`.
    public let code: String
    /// JSON Pointer (RFC 6901) into the document that was read.
    public let pointer: String
    /// The id in question; nil if there is none.
    public let id: ElementID?

    /// The largest number reported.
    public static let maxCount = 20

    init(code: String, _ pointer: String, _ id: IDText? = nil) {
        (self.code, self.pointer, self.id) = (code, pointer, id.map { ElementID($0) })
    }
}

/// Elements of a document that are left out, since they have no usable id.
struct SkippedElements {
    /// With what is in them.
    private(set) var records: [RecordIndex] = []
    /// Of the first ones.
    private(set) var warnings: [StateWarning] = []

    var isEmpty: Bool { records.isEmpty }
    var count: Int { records.count }

    /// Adds one in place of all behind the first `count`, which are in it.
    mutating func append(_ record: RecordIndex, at pointer: @autoclosure () -> String, behind count: Int) {
        records.removeLast(records.count - count)
        if warnings.count > count { warnings.removeLast(warnings.count - count) }
        records.append(record)
        if warnings.count < StateWarning.maxCount { warnings.append(StateWarning(code: "skipped", pointer())) }
    }
}
