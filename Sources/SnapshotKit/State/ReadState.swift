/// What a reader made of a document: records that are not a state yet, without pointers into the memory that was read.
struct ReadState {
    var builder: ColumnsBuilder
    /// What to append to the document.
    var tail: TokenBuffer
    // As in `StateParser`.
    let reusedRuns: [Kinship.Run]
    let mentioned: Set<RecordIndex>?
    /// The groups of the rows; nil if the document has no place for them.
    let groups: RowGroups?
    /// Rows of the known state that are not in `builder` yet.
    let taken: TakenRows
    /// The largest number of sections, including those of groups.
    let maxSections: Int
    let root: Int
    let origins: IDOrigins
    let keepsFirst: Bool
    let skipped: SkippedElements
    private(set) var violations: Violations
    let excess: StateParser.Excess?

    /// The finished state.
    ///
    /// - Parameters:
    ///   - text: the document, its padding and the tail.
    ///   - known: the state that the document was compared with.
    mutating func finish(over text: StateText, upon known: Snapshot? = nil) throws(StateError) -> StateReading {
        if let excess { throw Self.error(excess, text) }
        if let mentioned, let known { builder.keepExpanded(of: known.columns, but: mentioned, reusedRuns, in: text) }
        let result: (columns: Columns, duplicates: [ColumnsBuilder.Duplicate], kinship: Kinship?)
        // Violations and omissions are reported in the document's own order.
        var document: ColumnsBuilder?
        if groups == nil {
            // Called on the moved value, so that no second reference forces a copy.
            result = exchange(&builder, with: ColumnsBuilder()).finish(
                text: text, known: known?.columns, reusing: skipped.isEmpty ? reusedRuns : [])
        } else {
            document = builder
            result = finished(builder, groups, taken, text, upon: known?.columns, reusing: reusedRuns)
        }
        if result.duplicates.isEmpty, skipped.isEmpty {
            try checkSections(of: result.columns)
            guard violations.isEmpty else { throw .invalid(text.withView { violations.reported(in: $0.first) }) }
            return StateReading(Snapshot(result.columns), reused: result.kinship)
        }
        let read =
            document.map { builder in
                let all = (known ?? .empty).columns.withView {
                    builder.inDocumentOrder(with: taken, of: $0, reusedRuns)
                }
                return all.finish(text: text)
            } ?? result
        if !read.duplicates.isEmpty, !keepsFirst { note(read.duplicates, in: read.columns) }
        guard violations.isEmpty else { throw .invalid(text.withView { violations.reported(in: $0.first) }) }
        let reading = distinct(read.columns, read.duplicates, text, upon: known?.columns)
        try checkSections(of: reading.snapshot.columns)
        return reading
    }

    /// Checks the number of sections, which groups may have raised.
    private func checkSections(of columns: Columns) throws(StateError) {
        let count = columns.sections.count
        if count > maxSections {
            let excess = StateParser.Excess(
                what: "sections", limit: maxSections, actual: count, place: DocumentPlace(root))
            throw Self.error(excess, columns.text)
        }
    }

    private static func error(_ excess: StateParser.Excess, _ text: StateText) -> StateError {
        let pointers = text.withView { DocumentPointers.pointers(to: [excess.place], in: $0.first) }
        return .limitExceeded(
            what: excess.what, limit: excess.limit, actual: excess.actual, pointer: pointers[0] ?? "")
    }

    /// The columns of what was read, with rows in the sections of their groups.
    private func finished(
        _ read: consuming ColumnsBuilder, _ groups: RowGroups?, _ taken: TakenRows, _ text: StateText,
        upon known: Columns?, reusing runs: [Kinship.Run]
    ) -> (columns: Columns, duplicates: [ColumnsBuilder.Duplicate], kinship: Kinship?) {
        guard let groups else { return read.finish(text: text, known: known, reusing: runs) }
        text.withView { read.beginSections(of: groups, in: $0, keepingExpandedOf: mentioned == nil ? nil : known) }
        let placed = (known ?? Snapshot.empty.columns).withView {
            read.arrange(by: groups, with: taken, of: $0, runs)
        }
        return read.finish(text: text, known: known, reusing: placed)
    }

    /// Notes both records of each duplicate, but each record once. O(items).
    private mutating func note(_ duplicates: [ColumnsBuilder.Duplicate], in columns: Columns) {
        let isNative = columns.place.shape == .native
        let hasOneID = (columns.place.shape.places?.element.idAt.count ?? 0) == 1
        columns.withView { view in
            var noted: Set<RecordIndex> = []
            for duplicate in duplicates {
                let advice =
                    isNative
                    ? "give each an id of its own"
                    : "duplicates=first keeps the first"
                        + (duplicate.isSection || !hasOneID ? "" : ", a second idAt makes ids of two parts")
                for record in duplicate.records where noted.insert(record).inserted {
                    violations.note(
                        "duplicate-id", "duplicate id \"\(Violations.shown(Array(view.id(of: record).text)))\"",
                        advice: advice, at: place(of: record, view))
                }
            }
        }
    }

    /// Where the id of a section or an item is in the document.
    private func place(of record: RecordIndex, _ view: ColumnsView) -> DocumentPlace {
        switch record {
        case .section(let section): DocumentPlace(origins[Int(view.sections[section].idStart)])
        case .item(let item): DocumentPlace(origins[Int(view.nodes[item].idStart)])
        }
    }

    /// The state without the elements whose ids are unusable or came earlier, and those as warnings. It has no reused
    /// runs, since it lacks some of the items that were read. O(items).
    ///
    /// - Parameter columns: what was read, in the order of the document.
    private func distinct(
        _ columns: Columns, _ duplicates: [ColumnsBuilder.Duplicate], _ text: StateText, upon known: Columns?
    ) -> StateReading {
        columns.withView { view in
            let kept = DistinctRecords(of: view, duplicates, without: Set(skipped.records), areApart: groups != nil)
            let left = kept.left.prefix(StateWarning.maxCount - skipped.places.count)
            let pointers = DocumentPointers.pointers(
                to: skipped.places + left.map { place(of: $0, view) }, in: view.text.first)
            let ids = skipped.places.map { _ in nil } + left.map { view.id(of: $0) }
            let warnings = zip(pointers, ids).map { pointer, id in
                StateWarning(code: id == nil ? "skipped" : "duplicate-id", pointer ?? "", id)
            }
            let groups = groups?.all(with: taken, reusedRuns, of: known).keeping(kept.items, of: view)
            let distinct = finished(
                ColumnsBuilder(of: view, kept.items, in: kept.sections), groups, TakenRows(), text, upon: known,
                reusing: [])
            return StateReading(Snapshot(distinct.columns), warnings: warnings)
        }
    }
}

/// The first section and item of each id, in the order of a document. Items go with their children, sections with their
/// items; what is in these does not count as the first.
private struct DistinctRecords {
    /// Those that are kept.
    private(set) var items: [UInt32] = []
    private(set) var sections: [SectionNode] = []
    /// The duplicates that are left out.
    private(set) var left: [RecordIndex] = []
    private var seen: Set<RecordIndex> = []
    /// The first record with the same id, for those that share theirs.
    private var firsts: [RecordIndex: RecordIndex] = [:]
    private let skipped: Set<RecordIndex>

    /// O(items).
    ///
    /// - Parameters:
    ///   - skipped: what else is left out.
    ///   - areApart: whether the items are a list of their own, and in no section yet.
    init(
        of view: ColumnsView, _ duplicates: [ColumnsBuilder.Duplicate], without skipped: Set<RecordIndex>,
        areApart: Bool
    ) {
        self.skipped = skipped
        for each in duplicates { for record in each.records { firsts[record] = each.records[0] } }
        for (index, section) in view.sections.enumerated() where takes(.section(index)) {
            let start = items.count
            if !areApart { takeItems(Int(section.firstItem)..<Int(section.endItem), of: view) }
            sections.append(section.holding(start..<items.count))
        }
        if areApart { takeItems(0..<view.nodes.count, of: view) }
    }

    private mutating func takes(_ record: RecordIndex) -> Bool {
        if skipped.contains(record) { return false }
        guard let first = firsts[record] else { return true }
        if seen.insert(first).inserted { return true }
        left.append(record)
        return false
    }

    private mutating func takeItems(_ range: Range<Int>, of view: ColumnsView) {
        var item = range.lowerBound
        while item < range.upperBound {
            let isTaken = takes(.item(item))
            if isTaken { items.append(UInt32(truncatingIfNeeded: item)) }
            item = isTaken ? item + 1 : Int(view.nodes[item].end)
        }
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
    /// What is known to be the same in it and in the state it was compared with.
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

    init(code: String, _ pointer: String, _ id: IDText?) {
        (self.code, self.pointer, self.id) = (code, pointer, id.map { ElementID($0) })
    }
}

/// Elements of a document that are left out because they have no usable id.
struct SkippedElements {
    /// Including everything in them.
    private(set) var records: [RecordIndex] = []
    /// Where the first ones are.
    private(set) var places: [DocumentPlace] = []

    var isEmpty: Bool { records.isEmpty }
    var count: Int { records.count }

    /// Adds one in place of all those after the first `count`, which it contains.
    mutating func append(_ record: RecordIndex, at place: DocumentPlace, behind count: Int) {
        records.removeLast(records.count - count)
        if places.count > count { places.removeLast(places.count - count) }
        records.append(record)
        if places.count < StateWarning.maxCount { places.append(place) }
    }
}
