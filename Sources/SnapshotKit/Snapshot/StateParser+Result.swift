// The end of reading. Nothing here looks at the memory that was read: by now it may have moved, and what the parser
// stored beside the document follows it in the state's text.

extension StateParser {
    /// The finished state.
    ///
    /// - Parameters:
    ///   - text: the document, its padding and what was stored.
    ///   - known: the state that the document was compared with.
    mutating func finish(over read: TextRope, upon known: Columns? = nil) throws(StateError) -> StateReading {
        if let excess { throw Self.error(excess, read) }
        if let mentioned, let known, elements == nil {
            builder.keepExpanded(of: known, but: mentioned, sharedRuns, in: read)
        }
        var builder = exchange(&self.builder, with: ColumnsBuilder())
        // A strict reading of the same text must find what this one has passed over.
        if hasOmissions { builder.settings.room = .max }
        let shape = builder.settings.shape
        self.builder.settings.shape = shape
        var runs = sharedRuns
        // With groups, the items in the document's order, and the sections that it lists.
        var (order, listed): ([UInt32]?, [SectionNode]) = (nil, [])
        if !groupPlace.isEmpty, !isArranged {
            listed = builder.sections.map { $0.holding(0..<0) }
            (runs, order) = arrange(&builder, by: groups, with: taken, sharedRuns, in: read, upon: known)
        }
        var text = addHeaders(to: &builder, from: listed.count, over: read)
        if let elements { text = try match(&builder, elements, &runs, order, in: text, upon: known) }
        let sectionOfGroup = builder.sectionOfGroup
        // Called on the moved value, so that no second reference forces a copy.
        let result = (consume builder).finish(text: text, known: known, reusing: skipped.isEmpty ? runs : [])
        if result.duplicates.isEmpty, skipped.isEmpty {
            try checkSections(of: result.columns)
            try checkViolations(text)
            return StateReading(
                Snapshot(result.columns), shared: result.shared, warnings: warnings(of: unusableGroups, in: text))
        }
        // Violations and omissions are reported in the document's own order.
        let whole =
            order.map { order in
                result.columns.withView { ColumnsBuilder(of: $0, order, in: listed).finish(text: text) }
            } ?? result
        if !whole.duplicates.isEmpty, !keepsFirst { note(whole.duplicates, in: whole.columns, shape) }
        let kept = whole.columns.withView {
            DistinctRecords(of: $0, whole.duplicates, without: Set(skipped.records), areApart: order != nil)
        }
        // What is left out may be as it likes.
        let left = Set(kept.left)
        for each in faulty.reversed() where left.contains(each.record) {
            violations.forget(from: each.start, to: each.end)
        }
        try checkViolations(text)
        let ofRows = order.map { groups.all(in: result.columns, $0, sectionOfGroup) }
        let reading = distinct(whole.columns, kept, ofRows, text, upon: known)
        try checkSections(of: reading.snapshot.columns)
        return reading
    }

    /// Gives elements without ids those of a known state's items; see `match(_:_:with:_:order:in:)`.
    private func match(
        _ builder: inout ColumnsBuilder, _ elements: ElementReading, _ runs: inout [SharedRuns.Run], _ order: [UInt32]?,
        in text: TextRope, upon known: Columns?
    ) throws(StateError) -> TextRope {
        let head = known ?? Snapshot.empty.columns
        let text = match(&builder, elements, with: head, &runs, order: order, in: text)
        guard text.count <= UInt32.max else { throw StateDocument.tooLarge(text.count) }
        if let mentioned, let known {
            let isMentioned = mentioned.map { record in
                guard case .item(let item) = record, let order else { return record }
                return .item(Int(order[item]))
            }
            builder.keepExpanded(of: known, but: Set(isMentioned), runs, in: text)
        }
        return text
    }

    private func checkViolations(_ text: TextRope) throws(StateError) {
        guard !violations.isEmpty else { return }
        throw .invalid(
            text.withView { text in
                var found = violations.reported(in: text.first)
                // It names that itself.
                if found[0].code != "duplicate-id" {
                    found[0].elementID = elementID(around: found[0].pointer, in: text.first)
                }
                return found
            })
    }

    /// The id of the innermost element around a place; nil if there is none. O(n).
    private func elementID(around pointer: String, in document: UnsafeRawPointer) -> String? {
        let idAt = builder.settings.shape.mapping?.element.idAt ?? StateShape.Element().idAt
        guard let names = JSONPointer(pointer)?.tokens, !names.isEmpty, !idAt.isEmpty else { return nil }
        for length in stride(from: names.count - 1, through: 1, by: -1) {
            let element = PointerSet([JSONPointer(tokens: Array(names[..<length]))])
            guard let start = element.value(in: document, entersArrays: true),
                let id = PointerSet([idAt[0]]).value(in: start, entersArrays: false)
            else { continue }
            var cursor = JSONCursor(id)
            switch cursor.byte {
            case UInt8(ascii: "\""): return Violations.shown(Array(cursor.takeString().text))
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                return String(decoding: cursor.takeToken(), as: UTF8.self)
            default: continue
            }
        }
        return nil
    }

    /// Checks the number of sections, which groups may have raised.
    private func checkSections(of columns: Columns) throws(StateError) {
        let count = columns.sections.count
        if count > limits.maxSections {
            let excess = Excess(what: "sections", limit: limits.maxSections, actual: count, place: DocumentPlace(root))
            throw Self.error(excess, columns.text)
        }
    }

    private static func error(_ excess: Excess, _ text: TextRope) -> StateError {
        let pointer = text.withView { DocumentPointers.pointer(to: excess.place, in: $0.first) }
        return .limitExceeded(what: excess.what, limit: excess.limit, actual: excess.actual, pointer: pointer)
    }

    private func arrange(
        _ builder: inout ColumnsBuilder, by groups: RowGroups, with taken: TakenRows, _ runs: [SharedRuns.Run],
        in text: TextRope, upon known: Columns?
    ) -> (runs: [SharedRuns.Run], order: [UInt32]) {
        text.withView { builder.beginSections(of: groups, in: $0, keepingExpandedOf: mentioned == nil ? nil : known) }
        return (known ?? Snapshot.empty.columns).withView { builder.arrange(by: groups, with: taken, of: $0, runs) }
    }

    /// Notes both records of each duplicate, but each record once. O(items).
    private mutating func note(_ duplicates: [ColumnsBuilder.Duplicate], in columns: Columns, _ shape: StateShape) {
        columns.withView { view in
            var noted: Set<RecordIndex> = []
            for duplicate in duplicates {
                let advice =
                    switch shape.mapping?.element {
                    case nil: "give each an id of its own"
                    case let element? where element.continuesHead: "name another member by sectionIdAt"
                    case let element? where duplicate.isSection || element.idAt.count != 1:
                        "duplicates=first keeps the first"
                    default:
                        "duplicates=first keeps the first, a second idAt makes ids of two parts, idBy=match needs none"
                    }
                for record in duplicate.records where noted.insert(record).inserted {
                    note(
                        "duplicate-id", "duplicate id \"\(Violations.shown(Array(view.id(of: record).text)))\"",
                        advice: advice, at: place(of: record, view))
                }
            }
        }
    }

    private func place(of record: RecordIndex, _ view: ColumnsView) -> DocumentPlace {
        switch record {
        case .section(let section): DocumentPlace(idOffsets[Int(view.sections[section].idStart)])
        case .item(let item): DocumentPlace(idOffsets[Int(view.nodes[item].idStart)])
        }
    }

    /// The state without the elements whose ids are unusable or came earlier, and those as warnings. It has no reused
    /// runs, since it lacks some of the items that were read. O(items).
    ///
    /// - Parameters:
    ///   - columns: what was read, in the order of the document.
    ///   - groups: those of all its rows, if they have groups.
    private mutating func distinct(
        _ columns: Columns, _ kept: DistinctRecords, _ groups: RowGroups?, _ text: TextRope, upon known: Columns?
    ) -> StateReading {
        columns.withView { view in
            let left = kept.left.prefix(StateWarning.maxCount - skipped.places.count)
            let pointers = DocumentPointers.pointers(
                to: skipped.places + left.map { place(of: $0, view) }, in: view.text.first)
            let ids = skipped.places.map { _ in nil } + left.map { view.id(of: $0) }
            let warnings = zip(pointers, ids).map { pointer, id in
                StateWarning(code: id == nil ? "skipped" : "duplicate-id", pointer ?? "", id)
            }
            var builder = ColumnsBuilder(of: view, kept.items, in: kept.sections)
            if let groups = groups?.keeping(kept.items, of: view) {
                _ = arrange(&builder, by: groups, with: TakenRows(), [], in: text, upon: known)
            }
            // Not before: documents must not be read against rows that lack some.
            builder.settings.shape = self.builder.settings.shape
            let whole = addHeaders(to: &builder, from: kept.sections.count, over: text)
            let room = StateWarning.maxCount - warnings.count
            return StateReading(
                Snapshot(builder.finish(text: whole).columns),
                warnings: warnings + self.warnings(of: unusableGroups.prefix(room), in: whole))
        }
    }

    private func warnings(of unusable: some Collection<DocumentPlace>, in text: TextRope) -> [StateWarning] {
        if unusable.isEmpty { return [] }
        return text.withView { DocumentPointers.pointers(to: Array(unusable), in: $0.first) }
            .map { StateWarning(code: "no-group", $0 ?? "", nil) }
    }
}

extension ElementHead {
    /// A write of a sequence that continues a state with these fingerprints, which leave out the ignored places.
    public init(sequence: UInt64, _ fingerprints: Fingerprints, ignoring ignored: [JSONPointer]) {
        self.init(sequence: sequence, prints: fingerprints.items, hash: fingerprints.hash, ignored: ignored)
    }
}

extension Snapshot {
    /// Whether its elements had no ids, so that these depend on the state before it.
    public var continuesHead: Bool { columns.settings.shape.continuesHead }

    /// The same state as a write of another sequence makes it, if its elements had no ids and continue nothing. O(n).
    public func numbered(_ sequence: UInt64) -> Snapshot {
        columns.withView { view in
            var builder = ColumnsBuilder(of: view, view.nodes.indices.map { UInt32($0) }, in: Array(view.sections))
            builder.settings = columns.settings
            builder.documentOrder = columns.documentOrder
            var store = TokenBuffer(base: columns.text.count)
            Snapshot.empty.columns.withView { builder.setIDs([], of: $0, sequence, in: &store) }
            let text = columns.text.appending(store, garbageBytes: store.count)
            return Snapshot(builder.finish(text: text).columns)
        }
    }
}

/// The first section and item of each id, in the order of a document. Items go with their children, sections with their
/// items; what is in these does not count as the first.
private struct DistinctRecords {
    private(set) var items: [UInt32] = []
    private(set) var sections: [SectionNode] = []
    /// The duplicates that are left out.
    private(set) var left: [RecordIndex] = []
    private var seen: Set<RecordIndex> = []
    /// The first record with the same id, for those that share theirs.
    private var firsts: [RecordIndex: RecordIndex] = [:]
    private let skipped: Set<RecordIndex>

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
    public let shared: SharedRuns?
    /// What was left out of it, at most 20 elements.
    public let warnings: [StateWarning]

    package init(_ snapshot: Snapshot, shared: SharedRuns? = nil, warnings: [StateWarning] = []) {
        (self.snapshot, self.shared, self.warnings) = (snapshot, shared, warnings)
    }
}
